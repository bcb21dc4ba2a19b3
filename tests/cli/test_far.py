"""A machine joins a server, and leaves it: tokens, keys, and what is said when it goes wrong."""

from __future__ import annotations

import io
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from rushes.worker import joined
from tests.cli.conftest import Cli
from tests.client.server import Served

NOWHERE = "http://127.0.0.1:9"
TOKEN = "rsh_join_" + "a" * 43


def token(cli: Cli, *options: str) -> str:
    made: str = cli("workers", "invite", *options, "--json").json["token"]
    return made


def test_machine_joins_with_the_line_that_was_printed(
    cli: Cli, server: Callable[[], Served], tmp_path: Path
):
    """D12: one line to paste; the key is kept for this person alone, and never shown."""
    said = cli("workers", "invite").out
    given = said.split("--token ")[1].strip()

    answer = cli("worker", "join", server().url, "--token", given, "--name", "far")

    assert (answer.code, answer.err) == (0, "")
    assert answer.out == f"far has joined {server().url}; next: rushes worker run\n"
    file = tmp_path / "data" / joined.FILE
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert joined.load(tmp_path / "data") is not None
    assert "rsh_worker_" not in answer.out
    shown = cli("workers", "show", "far", "--json").json
    assert (shown["type"], shown["metadata"]["cores"] >= 1) == ("remote", True)
    assert "far" in cli("workers", "show", "far").out


def test_invitation_says_how_long_it_is_good(cli: Cli, sqlite_url: str):
    cli("db", "upgrade")

    assert cli("workers", "invite").out.startswith("on the new machine, within 15 min:\n")
    assert "within 2 h:" in cli("workers", "invite", "--minutes", "120").out


def test_machine_leaves_and_forgets_its_key(cli: Cli, server: Callable[[], Served], tmp_path: Path):
    cli("worker", "join", server().url, "--token", token(cli))

    first, again = cli("worker", "leave"), cli("worker", "leave", "--json")

    assert first.out == "left\n"
    assert again.json == {"left": False}
    assert joined.load(tmp_path / "data") is None


def test_keys_of_a_worker_are_listed_added_and_ended(cli: Cli, server: Callable[[], Served]):
    """000-106, 000-107."""
    cli("worker", "join", server().url, "--token", token(cli, "--kinds", "ocr"), "--name", "far")
    [first] = cli("workers", "keys", "far", "--json").json["items"]

    added = cli("workers", "keys", "far", "--add").out
    ended = cli("workers", "keys", "far", "--revoke", first["key_id"])
    rest = cli("workers", "keys", "far").out
    cli("workers", "keys", "far", "--revoke", "all")

    assert first["kinds"] == ["ocr"]
    assert "rsh_worker_" in added
    assert ended.out == f"revoked {first['key_id']}\n"
    assert first["key_id"] not in rest
    assert cli("workers", "keys", "far").out == "no keys\n"


@pytest.mark.parametrize(
    "arguments, code, word",
    [
        (("worker", "join", "films", "--token", TOKEN), 2, "not the address of a server"),
        (("worker", "join", NOWHERE, "--token", TOKEN), 6, "nobody answers"),
        (("worker", "join", "SERVER", "--token", TOKEN), 4, "unknown, too old or was used"),
        (("worker", "join", "SERVER", "--token", "x y"), 2, "not a token to join"),
        (("worker", "join", "SERVER", "--token", "rsh_user_x"), 2, "rushes workers invite"),
        (("worker", "join", "SERVER", "--token", "rsh_join_ä"), 2, "not a key"),
        (("worker", "join", "SERVER", "--token", TOKEN, "--name", "n" * 201), 2, "worker_name: "),
        (("worker", "join", "SERVER"), 2, "no token on standard input"),
        (("workers", "keys", "nobody"), 3, "no worker"),
        (("workers", "show", "nobody"), 3, "no worker"),
        (("workers", "invite", "--kinds", "UPPER!"), 2, "not a kind"),
        (("workers", "invite", "--kinds", "transcod"), 2, "transcode"),
        (("workers", "invite", "--minutes", "0"), 2, ""),
        (("worker", "join", "SERVER/videos", "--token", TOKEN), 2, "no Rushes at"),
    ],
    ids=range(14),
)
def test_wrong_input_is_one_clear_line(
    cli: Cli,
    server: Callable[[], Served],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments,
    code: int,
    word: str,
):
    monkeypatch.setattr("sys.stdin", io.StringIO("\n"))
    given = [one.replace("SERVER", server().url) if "SERVER" in one else one for one in arguments]

    answer = cli(*given)

    assert (answer.code, answer.out) == (code, ""), answer
    assert word in answer.err
    assert TOKEN not in answer.err
    assert not (tmp_path / "data" / joined.FILE).exists()


def test_token_is_read_from_standard_input(
    cli: Cli, server: Callable[[], Served], monkeypatch: pytest.MonkeyPatch
):
    """Where others would see an option, and nobody is at a terminal."""
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{token(cli)}\n"))

    assert cli("worker", "join", server().url, "--name", "far").code == 0


def test_key_that_could_not_be_kept_is_not_made(
    cli: Cli, server: Callable[[], Served], tmp_path: Path
):
    """The token is as good as before, and the server knows of no worker."""
    given = token(cli)
    (tmp_path / "file").touch()

    refused = cli("--data", tmp_path / "file", "worker", "join", server().url, "--token", given)
    before = cli("workers", "list").out
    joins = cli("worker", "join", server().url, "--token", given, "--name", "far")

    assert refused.code == 6
    assert "worker.json cannot be written" in refused.err
    assert (before, joins.code) == ("no workers\n", 0)


def test_name_that_is_taken_is_refused(cli: Cli, server: Callable[[], Served], tmp_path: Path):
    cli("worker", "join", server().url, "--token", token(cli), "--name", "far")
    before = (tmp_path / "data" / joined.FILE).read_text()

    answer = cli("worker", "join", server().url, "--token", token(cli), "--name", "far")

    assert answer.code == 2
    assert "--name" in answer.err
    assert (tmp_path / "data" / joined.FILE).read_text() == before


def test_options_of_a_local_worker_are_refused_for_a_far_one(
    cli: Cli, server: Callable[[], Served]
):
    cli("worker", "join", server().url, "--token", token(cli))

    answer = cli("worker", "run", "--until-idle")

    assert answer.code == 2
    assert "rushes worker leave" in answer.err


def test_damaged_file_is_told(cli: Cli, tmp_path: Path):
    (tmp_path / "data").mkdir(exist_ok=True)
    (tmp_path / "data" / joined.FILE).write_text("{")

    answer = cli("worker", "run")

    assert answer.code == 2
    assert "is damaged" in answer.err
