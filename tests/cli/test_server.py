"""Commands at a server: who may, what is said when it is not there, what stays on this machine."""

from __future__ import annotations

import io
import re
import shutil
import signal
import stat
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from rushes.domain.person import Scope
from rushes.engine import operator
from rushes.library import layout
from rushes.store.database import open_database
from tests.cli.conftest import Cli, rushes
from tests.client.server import Served, Wire
from tests.library.studio import HEAD, Studio
from tests.waiting import until

NOWHERE = "http://127.0.0.1:9"
AGES = re.compile(r"\d+(\.\d+)? (s|min)\b")
COMMANDS = (
    "jobs list",
    "jobs show @last",
    "jobs why @last",
    "jobs events @last",
    "jobs logs @last",
    "jobs watch OVER",
    "jobs wait OVER",
    "list",
    "list --deleted",
    "show @last",
    "text READY",
    "workers list",
    "queue list",
    "users list",
)
HERE_ONLY = (
    "db upgrade",
    "worker run",
    "doctor",
    "backup create copy",
    "backup restore copy --into other",
    "demo",
    "demo engine",
    "config show",
    "config check",
)


@pytest.fixture
def studio(
    surroundings: None, sqlite_url: str, sqlite_template: Path, tmp_path: Path
) -> Iterator[Studio]:
    shutil.copy(sqlite_template, sqlite_url.removeprefix("sqlite:///"))
    with closing(open_database(sqlite_url)) as database:
        yield Studio(database, tmp_path / "data")


@pytest.fixture
def there(studio: Studio, capsys: pytest.CaptureFixture[str], server: Callable[[], Served]) -> Cli:
    return Cli(capsys, server)


@pytest.fixture
def film(tmp_path: Path) -> Path:
    path = tmp_path / "holiday.mp4"
    path.write_bytes(HEAD + b"a film")
    return path


def type_in(monkeypatch: pytest.MonkeyPatch, *lines: str) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in lines)))


def login_file(tmp_path: Path) -> Path:
    return tmp_path / "config" / "rushes" / "login.json"


@pytest.mark.parametrize("form", [(), ("--json",)], ids=["text", "json"])
@pytest.mark.parametrize("command", COMMANDS)
def test_server_prints_what_this_machine_does(
    cli: Cli, there: Cli, studio: Studio, command: str, form: tuple[str, ...]
):
    """The same bytes, but for ages and for where a film can be watched."""
    done = studio.add(b"ready", title="A day", text=True)
    studio.finish()
    layout.run_once(studio.library)
    studio.add(b"waits", title="A night")
    words = {"OVER": done.job_id, "READY": done.asset_id}
    arguments = [words.get(word, word) for word in command.split()]

    here, far = cli(*arguments, *form), there(*arguments, *form)

    playlist = str(studio.storage.root / "assets" / done.asset_id / "master.m3u8")
    address = f"{there.options[1]}/api/videos/{done.asset_id}/master.m3u8"
    swap = (playlist, address) if command == "jobs watch OVER" else ("", "")
    assert far.code == here.code
    for told, expected in ((far.out, here.out), (far.err, here.err)):
        assert AGES.sub("N", told) == AGES.sub("N", expected.replace(*swap))


def test_refusal_of_a_server_is_told_as_it_came(there: Cli, studio: Studio):
    """With --json also the list of fields is one."""
    refused = there("search", "x", "--source", "radio", "--json")

    assert refused.code == 2
    assert [one["pointer"] for one in refused.problem["errors"]] == ["query/source"]


@pytest.mark.parametrize("command", HERE_ONLY)
def test_command_of_this_machine_says_so(cli: Cli, tmp_path: Path, command: str):
    before = sorted(tmp_path.rglob("*"))

    answer = cli("--server", NOWHERE, *command.split())

    [line] = answer.err.splitlines()
    assert (answer.code, answer.out) == (2, "")
    assert "works on this machine only: leave --server out (INVALID_INPUT)" in line
    assert sorted(tmp_path.rglob("*")) == before


def test_command_of_this_machine_does_not_mind_a_login(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, studio: Studio
):
    monkeypatch.setenv("RUSHES_SERVER", NOWHERE)
    monkeypatch.setenv("RUSHES_KEY", "rsh_user_x")

    assert cli("config", "check").code == 0
    assert cli("jobs", "list").code == 6


def test_server_that_is_not_there_is_exit_code_6(cli: Cli, studio: Studio):
    answer = cli("--server", NOWHERE, "jobs", "list")

    assert answer.code == 6
    assert answer.err.startswith(f"error: nobody answers at {NOWHERE}")


@pytest.mark.parametrize("command", ["jobs list", "jobs kill @last", "workers list"])
@pytest.mark.parametrize("key", [None, "rsh_user_nobodynobo_x", "reader"])
def test_whoever_may_not_gets_exit_code_4(
    cli: Cli, there: Cli, studio: Studio, server: Callable[[], Served], command: str, key
):
    """403 and 401: the key, or what it may."""
    studio.add()
    given = server().key_for(Scope.READ) if key == "reader" else key
    options = ("--server", server().url, *(("--key", given) if given else ()))

    answer = cli(*options, *command.split(), "--json")

    if (key, command) == ("reader", "jobs list"):
        assert answer.code == 0
    else:
        assert answer.code == 4
        assert answer.problem["code"] == ("FORBIDDEN" if key == "reader" else "UNAUTHENTICATED")


@pytest.mark.parametrize(
    "options",
    [("--server", "films"), ("--server", "ftp://films"), ("--server", NOWHERE, "--key", "ä")],
)
def test_address_or_key_that_is_none_is_one_clear_line(cli: Cli, options: tuple[str, ...]):
    answer = cli(*options, "jobs", "list")

    assert answer.code == 2
    assert answer.err.startswith("error: ")
    assert "(INVALID_INPUT)" in answer.err


def test_server_and_data_folder_exclude_each_other(cli: Cli, tmp_path: Path):
    answer = cli("--server", NOWHERE, "--data", tmp_path, "jobs", "list")

    assert answer.code == 2
    assert "leave --data and --database-url out" in answer.err


def test_login_is_kept_for_the_next_commands_and_for_nobody_else(
    cli: Cli, there: Cli, studio: Studio, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    _, url, _, key = there.options
    type_in(monkeypatch, key)
    film = studio.add().job_id

    entered = cli("login", url + "/")
    listed = cli("jobs", "list", "--json").json["items"]
    local = cli("--database-url", f"sqlite:///{tmp_path}/other.db", "jobs", "list")
    left, again = cli("logout"), cli("logout")

    assert entered.out == f"logged in to {url} as admin (admin, read, upload, write)\n"
    assert key not in entered.out + entered.err
    assert [job["job_id"] for job in listed] == [film]
    assert local.out == "no jobs\n"
    assert (left.out, again.out) == (f"logged out of {url}\n", "nobody is logged in\n")
    assert not login_file(tmp_path).exists()


def test_file_of_a_login_is_readable_by_its_owner_only(
    cli: Cli, there: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    _, url, _, key = there.options
    login_file(tmp_path).parent.mkdir(parents=True)
    login_file(tmp_path).write_text("{}")
    login_file(tmp_path).chmod(0o644)

    assert cli("--key", key, "login", url).code == 0

    assert stat.S_IMODE(login_file(tmp_path).stat().st_mode) == 0o600
    assert [path.name for path in login_file(tmp_path).parent.iterdir()] == ["login.json"]
    assert cli("--server", url, "jobs", "list").code == 0


@pytest.mark.parametrize("typed, code", [("rsh_user_nobodynobo_x", 4), ("", 2), ("a b", 2)])
def test_login_with_a_wrong_key_keeps_nothing(
    cli: Cli, there: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, typed: str, code: int
):
    type_in(monkeypatch, typed)

    answer = cli("login", there.options[1])

    assert (answer.code, answer.out) == (code, "")
    assert not login_file(tmp_path).exists()


def test_login_at_a_page_of_the_server_says_what_the_address_is(
    cli: Cli, there: Cli, tmp_path: Path
):
    """As it stands in a browser."""
    _, url, _, key = there.options

    answer = cli("--key", key, "login", f"{url}/videos")

    assert (answer.code, answer.out) == (2, "")
    assert f"there is no Rushes at {url}/videos" in answer.err
    assert "give its address alone" in answer.err
    assert not login_file(tmp_path).exists()


def test_damaged_login_is_one_clear_line(cli: Cli, tmp_path: Path):
    login_file(tmp_path).parent.mkdir(parents=True)
    login_file(tmp_path).write_text("{not json")

    answer = cli("jobs", "list")

    assert answer.code == 2
    assert "is damaged" in answer.err
    assert "rushes login URL" in answer.err


def test_key_is_not_sent_to_another_server(
    cli: Cli, there: Cli, studio: Studio, server: Callable[[], Served]
):
    """What was kept for one address is for that one only."""
    cli("--key", server().key, "login", server().url)

    with Wire(server().url, []) as wire:
        answer = cli("--server", wire.url, "jobs", "list", "--json")

    assert (answer.code, answer.problem["code"]) == (4, "UNAUTHENTICATED")


@pytest.mark.timeout(120)
def test_film_is_sent_and_watched_until_it_is_ready(there: Cli, studio: Studio, film: Path):
    """000-159 over HTTP: a file in, a film out, by a server's workers."""

    def work() -> None:
        until(lambda: there_are_jobs(studio), 60)
        studio.finish()

    worker = threading.Thread(target=work)
    worker.start()
    answer = there("add", film, "missing.mp4", "--no-text", "--tag", "home")
    worker.join()

    [asset] = studio.db.read(lambda tx: tx.rows("list_assets", **ALL))
    address = f"{there.options[1]}/api/videos/{asset['id']}/master.m3u8"
    assert answer.code == 10
    assert "error: missing.mp4: there is no such file (SOURCE_MISSING)" in answer.err
    assert answer.out.startswith("✅ holiday.mp4  ready in ")
    assert answer.out.endswith(f" · 480p 360p · {asset['id'][-8:]} · {address}\n")


ALL = {"deleted": False, "after": None, "owner": None, "n": 9}


def there_are_jobs(studio: Studio) -> bool:
    return bool(studio.db.read(lambda tx: tx.rows("list_assets", **ALL)))


def test_film_that_is_killed_there_ends_the_command_with_its_own_code(
    there: Cli, studio: Studio, film: Path
):
    def kill() -> None:
        until(lambda: there_are_jobs(studio), 60)
        [asset] = studio.db.read(lambda tx: tx.rows("list_assets", **ALL))
        operator.kill(studio.engine, asset["job_id"], name="ann", reason="wrong file")

    killer = threading.Thread(target=kill)
    killer.start()
    answer = there("add", film, "--no-text", "--json")
    killer.join()

    added, *_, last = answer.lines
    assert answer.code == 8
    assert (added["event"], last["event"], last["status"]) == ("added", "finished", "killed")
    assert (last["killed_by_name"], last["killed_reason"]) == ("ann", "wrong file")


def test_film_can_be_left_to_the_server(there: Cli, studio: Studio, film: Path):
    answer = there("add", film, "--no-wait")
    again = there("add", film, "--no-wait")

    assert (answer.code, answer.out) == (0, "1 film in the queue of the server\n")
    assert again.code == 5
    assert "(DUPLICATE_OF)" in again.err


def test_interrupted_watch_leaves_the_work_to_the_server(there: Cli, studio: Studio, film: Path):
    process = rushes(*there.options, "add", str(film), "--no-text", "--json")
    assert process.stdout is not None
    process.stdout.readline()
    process.stdout.readline()

    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)

    [asset] = studio.db.read(lambda tx: tx.rows("list_assets", **ALL))
    assert (process.returncode, err) == (130, "")
    assert f"rushes jobs watch {asset['job_id'][-8:]}" in out.splitlines()[-1]
    assert asset["job_status"] == "queued"
