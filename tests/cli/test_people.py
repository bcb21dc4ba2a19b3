"""The commands around people: users and keys."""

from __future__ import annotations

import io
import os
import pty
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from rushes.errors import Unauthenticated
from rushes.library import audit, keys, sessions
from rushes.library.keys import check_key
from tests.cli.conftest import Cli
from tests.client.server import Served
from tests.world import World

PASSWORD = "correct horse battery"


@pytest.fixture(autouse=True)
def typed(monkeypatch: pytest.MonkeyPatch) -> None:
    type_in(monkeypatch, PASSWORD)


def type_in(monkeypatch: pytest.MonkeyPatch, *lines: str) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in lines)))


def test_user_is_added_by_a_line_of_standard_input(cli: Cli, world: World):
    added = cli("users", "add", "Ann")

    [told] = cli("users", "list", "--json").json["items"]
    assert (added.code, added.out) == (0, "Ann is added\n")
    assert (told["name"], told["role"], told["disabled_at"]) == ("Ann", "user", None)
    assert told["has_password"] is True
    assert sessions.log_in(world.db, "ann", PASSWORD).session.principal.owner == told["user_id"]


def test_users_are_listed_as_a_table(cli: Cli, world: World):
    assert cli("users", "list").out == "no users\n"

    cli("users", "add", "bob", "--no-password")
    cli("users", "add", "ann", "--admin", "--json")
    header, ann, bob = cli("users", "list").out.splitlines()

    assert header.split() == ["user", "role", "status", "password", "added"]
    assert ann.split()[:4] == ["ann", "admin", "active", "yes"]
    assert bob.split()[:4] == ["bob", "user", "active", "no"]


def test_user_is_disabled_and_enabled(cli: Cli, world: World):
    cli("users", "add", "ann")

    assert cli("users", "disable", "ANN").out == "ann is disabled\n"
    assert cli("users", "disable", "ann", "--json").json["disabled_at"] is not None
    assert cli("users", "enable", "ann").out == "ann is active\n"


def test_last_admin_stays(cli: Cli, world: World):
    cli("users", "add", "boss", "--admin")

    refused = cli("users", "disable", "boss")

    assert refused.code == 5
    assert refused.err == (
        "error: boss is the last admin (CONFLICT)\nhint: make another admin first\n"
    )


def test_new_password_ends_sessions(cli: Cli, world: World, monkeypatch: pytest.MonkeyPatch):
    cli("users", "add", "ann")
    login = sessions.log_in(world.db, "ann", PASSWORD)
    type_in(monkeypatch, "another long password")

    changed = cli("users", "password", "ann")

    assert changed.out == "ann has a new password\n"
    assert sessions.check_session(world.db, login.token) is None
    with pytest.raises(Unauthenticated):
        sessions.log_in(world.db, "ann", PASSWORD)
    assert sessions.log_in(world.db, "ann", "another long password").token


def test_people_of_a_server_are_let_in_and_kept_out_there(
    cli: Cli, world: World, server: Callable[[], Served], monkeypatch: pytest.MonkeyPatch
):
    """By whoever has the key of its first run; this machine's own library stays as it is."""
    at, first = ("--server", server().url, "--key"), keys.first_admin(world.db)
    monkeypatch.setenv("RUSHES_DATABASE_URL", f"sqlite:///{Path.cwd()}/mine.db")
    cli("db", "upgrade")

    added = cli(*at, first, "users", "add", "ann")
    key = cli(*at, first, "keys", "create", "ci", "--user", "ann", "--days", "2").out.strip()
    type_in(monkeypatch, "another long password")
    changed = cli(*at, first, "users", "password", "ann")
    seen = cli(*at, key, "keys", "list", "--json").json["items"]
    disabled = cli(*at, first, "users", "disable", "ann")
    refused = cli(*at, key, "keys", "list")
    enabled = cli(*at, first, "users", "enable", "ann")
    revoked = cli(*at, first, "keys", "revoke", seen[0]["key_id"])

    told = [one.out for one in (added, changed, disabled, enabled)]
    assert told == [
        *("ann is added\n", "ann has a new password\n"),
        *("ann is disabled\n", "ann is active\n"),
    ]
    assert [(one["name"], one["user"], one["scopes"]) for one in seen] == [("ci", "ann", ["read"])]
    assert (refused.code, revoked.code, check_key(world.db, key)) == (4, 0, None)
    assert cli(*at, first, "users", "list").out.split()[5:8] == ["ann", "user", "active"]
    assert cli("users", "list").out == "no users\n"


@pytest.mark.parametrize(
    "arguments, typed_in, code, line",
    [
        (("add", ""), PASSWORD, 2, "the name is empty (INVALID_INPUT)"),
        (("add", "a\x1bb"), PASSWORD, 2, "the name has a character that cannot be seen"),
        (("add", "x" * 101), PASSWORD, 2, "the name has more than 100 characters"),
        (("add", "ann"), PASSWORD, 5, "there is a user 'ann' already (CONFLICT)"),
        (("add", "bob"), "", 2, "there is no password on standard input (INVALID_INPUT)"),
        (("add", "bob"), "short", 2, "the password is too short; it needs 10 characters or more"),
        (("add", "bob"), "x" * 10_000, 2, "the password has more than 200 characters"),
        (("add", "bob", "--password", "x"), "", 2, "(USAGE)"),
        (("add",), "", 2, "(USAGE)"),
        (("password", "eve"), PASSWORD, 3, "there is no user 'eve' (NOT_FOUND)"),
        (("password", "ann"), "short", 2, "the password is too short"),
        (("disable", "eve"), "", 3, "there is no user 'eve' (NOT_FOUND)"),
        (("enable", "\x1b[2J"), "", 3, "there is no user"),
    ],
    ids=str,
)
def test_mistake_about_a_user_is_one_line(
    cli: Cli,
    world: World,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    typed_in: str,
    code: int,
    line: str,
):
    cli("users", "add", "ann")
    type_in(monkeypatch, typed_in)

    refused = cli("users", *arguments)

    errors = [one for one in refused.err.splitlines() if one.startswith("error: ")]
    assert (refused.code, refused.out, len(errors)) == (code, "", 1)
    assert line in errors[0]
    assert "\x1b" not in refused.err
    assert [one["name"] for one in cli("users", "list", "--json").json["items"]] == ["ann"]


def test_password_that_is_no_text_is_one_line(
    cli: Cli, world: World, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"\xff" * 12), encoding="utf-8"))

    refused = cli("users", "add", "ann", "--json")

    assert refused.code == 2
    assert refused.problem["detail"] == "the password on standard input is not text"


def test_password_is_asked_for_on_a_terminal_and_not_shown(world: World):
    outer, inner = pty.openpty()
    command = [sys.executable, "-m", "rushes", "users", "add", "ann"]
    process = subprocess.Popen(
        command, stdin=inner, stdout=subprocess.PIPE, stderr=inner, start_new_session=True
    )
    os.close(inner)
    seen = b""

    for _ in range(2):
        while not seen.endswith(b": "):
            seen += os.read(outer, 1000)
        os.write(outer, PASSWORD.encode() + b"\n")
        seen += os.read(outer, 1000)
    out, _ = process.communicate(timeout=60)
    os.close(outer)

    assert out == b"ann is added\n"
    assert PASSWORD.encode() not in seen
    assert sessions.log_in(world.db, "ann", PASSWORD).token


def test_key_is_printed_once_and_nothing_else_on_stdout(cli: Cli, world: World):
    """000-106."""
    made = cli("keys", "create", "ci", "--scopes", "read, upload", "--days", "30")

    listed = cli("keys", "list")
    principal = check_key(world.db, made.out.strip())
    assert made.code == 0
    assert made.err == "keep it in a safe place: it is not shown again\n"
    assert principal is not None
    assert sorted(principal.scopes) == ["read", "upload"]
    assert made.out.strip()[20:] not in listed.out


def test_keys_are_listed_with_their_use(cli: Cli, world: World, sqlite_url: str):
    assert cli("keys", "list").out == "no keys\n"
    cli("users", "add", "ann")

    cli("keys", "create", "old", "--days", "1")
    with sqlite3.connect(sqlite_url.removeprefix("sqlite:///")) as connection:
        connection.execute("UPDATE keys SET expires_at = 1")
    made = cli("keys", "create", "ci", "--user", "ann", "--json").json
    check_key(world.db, made["key"])
    header, *lines = cli("keys", "list").out.splitlines()
    rows = {line.split()[2]: line.split() for line in lines}

    assert header.split() == ["id", "kind", "name", "user", "scopes", "used", "ends"]
    assert rows["ci"] == [made["key_id"], "user", "ci", "ann", "read", "0", "s", "ago", "never"]
    assert rows["old"][3:] == ["read", "never", "ended"]
    assert made["key"].startswith(f"rsh_user_{made['key_id']}_")


def test_key_is_revoked(cli: Cli, world: World):
    made = cli("keys", "create", "ci", "--json").json

    revoked = cli("keys", "revoke", made["key_id"])

    assert revoked.out == f"key {made['key_id']} (ci) is revoked\n"
    assert cli("keys", "list", "--json").json == {"items": [], "next_cursor": None}
    assert check_key(world.db, made["key"]) is None
    assert cli("keys", "revoke", made["key_id"], "--json").json["revoked_at"] is not None


@pytest.mark.parametrize(
    "arguments, code, line",
    [
        (("create", ""), 2, "the name of the key is empty (INVALID_INPUT)"),
        (("create", "ci", "--scopes", "fly"), 2, "'fly' is not a scope (INVALID_INPUT)"),
        (("create", "ci", "--scopes", ","), 2, "a key needs a scope (INVALID_INPUT)"),
        (("create", "ci", "--days", "0"), 2, "(USAGE)"),
        (("create", "ci", "--user", "eve"), 3, "there is no user 'eve' (NOT_FOUND)"),
        (("create", "ci", "--user", "ann", "--scopes", "admin"), 4, "more than its owner: admin"),
        (("revoke", "nosuchkeyx"), 3, "there is no key 'nosuchkeyx' (NOT_FOUND)"),
        (("revoke", "\x00"), 3, "there is no key"),
    ],
    ids=str,
)
def test_mistake_about_a_key_is_one_line(
    cli: Cli, world: World, arguments: tuple[str, ...], code: int, line: str
):
    cli("users", "add", "ann")

    refused = cli("keys", *arguments)

    errors = [one for one in refused.err.splitlines() if one.startswith("error: ")]
    assert (refused.code, refused.out, len(errors)) == (code, "", 1)
    assert line in errors[0]
    assert cli("keys", "list").out == "no keys\n"


def test_deeds_at_this_machine_are_written_down_under_a_name(
    cli: Cli, world: World, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("LOGNAME", "operator")

    cli("users", "add", "ann")

    [entry] = audit.page(world.db)
    assert (entry.actor, entry.action) == ("operator", "user.create")
