"""How commands end: exit codes, one clear line for every wrong input, and nothing written."""

from __future__ import annotations

import signal
import sqlite3
import time
from pathlib import Path

import pytest

from rushes.domain.graph import Step
from tests.cli.conftest import Cli, rushes
from tests.world import World

UNREACHABLE = "postgresql://rushes@127.0.0.1:1/rushes"
UNKNOWN = "ffffffff"


def dump(world: World) -> list[str]:
    with sqlite3.connect(world.db.url.removeprefix("sqlite:///")) as connection:
        return list(connection.iterdump())


@pytest.mark.parametrize(
    "arguments, code, word",
    [
        (["jobs", "show", UNKNOWN], 3, "NOT_FOUND"),
        (["jobs", "show", "x"], 3, "NOT_FOUND"),
        (["jobs", "show", "%"], 3, "NOT_FOUND"),
        (["jobs", "kill", UNKNOWN], 3, "NOT_FOUND"),
        (["jobs", "wait", UNKNOWN], 3, "NOT_FOUND"),
        (["jobs", "why", "@last", "--task", "999"], 3, "NOT_FOUND"),
        (["jobs", "list", "--before", UNKNOWN], 2, "INVALID_INPUT"),
        (["workers", "drain", "nobody"], 3, "NOT_FOUND"),
        (["queue", "resume", "nothing"], 3, "NOT_FOUND"),
        (["jobs", "show", "-"], 3, "NOT_FOUND"),
        (["jobs", "list", "--status", "done"], 2, "INVALID_INPUT"),
        (["jobs", "priority", "@last", "11"], 2, "INVALID_INPUT"),
        (["jobs", "priority", "@last", "soon"], 2, "INVALID_INPUT"),
        (["jobs", "kill", "@last", "--reason", "x" * 501], 2, "INVALID_INPUT"),
        (["jobs", "retry"], 2, "INVALID_INPUT"),
        (["jobs", "retry", "@last", "--code", "DISK_FULL"], 2, "INVALID_INPUT"),
        (["jobs", "retry", "--code", "%"], 2, "INVALID_INPUT"),
        (["queue", "pause", "nothing"], 2, "INVALID_INPUT"),
        (["--database-url", "mysql://x/y", "jobs", "list"], 2, "INVALID_INPUT"),
        (["--database-url", "postgresql://db", "jobs", "list"], 2, "INVALID_INPUT"),
        (["worker", "run", "--name", "a#b"], 2, "INVALID_INPUT"),
        (["worker", "run", "--lanes", "gpu=many"], 2, "INVALID_INPUT"),
        (["jobs", "list", "--limit", "0"], 2, "USAGE"),
        (["jobs", "lsit"], 2, "USAGE"),
        (["jobs", "show"], 2, "USAGE"),
        (["jobs", "show", "@last", "--nothing"], 2, "USAGE"),
        (["jobs", "retry", "@last"], 5, "CONFLICT"),
        (["jobs", "retry", "@last", "--dry-run"], 5, "CONFLICT"),
        (["workers", "resume", "ann"], 5, "CONFLICT"),
        (["--database-url", UNREACHABLE, "jobs", "list"], 6, "UNAVAILABLE"),
        (["--database-url", UNREACHABLE, "db", "upgrade"], 6, "UNAVAILABLE"),
        (["--database-url", UNREACHABLE, "config", "check"], 6, "UNAVAILABLE"),
        (["--database-url", "sqlite:////proc/no/rushes.db", "jobs", "list"], 6, "UNAVAILABLE"),
        (["jobs", "wait", "@last", "--timeout", "0"], 7, "WAIT_TIMED_OUT"),
    ],
    ids=lambda value: " ".join(value)[:60] if isinstance(value, list) else None,
)
def test_wrong_input_is_one_clear_line(cli: Cli, world: World, arguments, code, word):
    world.worker("ann")
    world.submit()
    before = dump(world)

    text, told = cli(*arguments), cli(*arguments, "--json")

    assert (text.code, told.code) == (code, code)
    assert text.out == told.out == ""
    error, *hint = text.err.splitlines()
    assert error.startswith("error: ")
    assert error.endswith(f" ({word})")
    assert [line[:6] for line in hint] in ([], ["hint: "])
    assert told.problem["code"] == word
    assert told.problem["type"].startswith("urn:rushes:problem:")
    assert told.problem["detail"] in text.err
    assert dump(world) == before


def test_id_that_fits_more_than_one_job_is_refused(cli: Cli, world: World):
    first, _ = world.submit(), world.submit()

    answer = cli("jobs", "kill", first[:6])

    assert answer.code == 2
    assert answer.err.startswith(f"error: {first[:6]!r} fits more than one job")
    assert world.job(first).status == "queued"


def test_older_schema_is_refused_with_the_next_step(cli: Cli, world: World):
    with sqlite3.connect(world.db.url.removeprefix("sqlite:///")) as connection:
        connection.execute("UPDATE schema_migrations SET version = -version")

    answer = cli("jobs", "list")

    assert answer.code == 6
    assert "(SCHEMA_MISMATCH)" in answer.err
    assert "hint: run: rushes db upgrade" in answer.err


def test_newer_schema_is_refused(cli: Cli, world: World):
    with sqlite3.connect(world.db.url.removeprefix("sqlite:///")) as connection:
        connection.execute("INSERT INTO schema_migrations VALUES (9999, 'from the future')")

    for command in (("jobs", "list"), ("db", "upgrade")):
        answer = cli(*command)
        assert answer.code == 6
        assert "upgrade Rushes on this machine" in answer.err


def test_heartbeat_that_is_too_slow_for_the_lease_is_refused(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("RUSHES_LEASE", "10")
    monkeypatch.setenv("RUSHES_WORKER_HEARTBEAT_INTERVAL", "10")

    for command in (("worker", "run"), ("config", "check"), ("jobs", "list")):
        answer = cli(*command)
        [line] = answer.err.splitlines()
        assert answer.code == 2
        assert "worker_heartbeat_interval (10 s) is more than a third of lease (10 s)" in line
    assert list(tmp_path.iterdir()) == []


def test_each_wrong_setting_has_its_own_line(cli: Cli, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("RUSHES_LEASE", "soon")
    monkeypatch.setenv("RUSHES_WORKER_SLOTS", "0")

    lines = cli("config", "check").err.splitlines()

    assert [line.split()[1] for line in lines] == ["RUSHES_LEASE:", "RUSHES_WORKER_SLOTS:"]


def test_file_that_is_no_database_is_refused_and_left_alone(cli: Cli, tmp_path: Path):
    film = tmp_path / "film.mp4"
    film.write_bytes(b"not a database, but large enough to look like a page" * 100)

    answer = cli("--database-url", f"sqlite:///{film}", "jobs", "list")

    assert answer.code == 6
    assert "file is not a database (UNAVAILABLE)" in answer.err
    assert film.read_bytes().startswith(b"not a database")


def test_exit_code_of_wait_is_that_of_the_job(cli: Cli, world: World):
    owner = world.worker()
    for end, code in (("completed", 0), ("failed", 1), ("killed", 8)):
        job_id = world.submit({"noop": Step()})
        if end == "killed":
            world.kill(job_id)
        else:
            [claim] = world.claim(owner)
            world.complete(claim) if end == "completed" else world.fail(claim, retryable=False)

        answer = cli("jobs", "wait", job_id, "--json")

        assert (answer.code, answer.json["status"]) == (code, end)


def test_killing_a_finished_job_is_a_conflict(cli: Cli, world: World):
    world.submit()
    world.finish(world.worker())

    for arguments in (("jobs", "kill", "@last"), ("jobs", "kill", "@last", "--dry-run")):
        answer = cli(*arguments)
        assert answer.code == 5
        assert "is already completed" in answer.err


def test_interrupted_command_ends_with_130_and_without_a_trace(world: World):
    world.submit()
    process = rushes("jobs", "wait", "@last", "--timeout", "60")
    deadline = time.monotonic() + 20
    while not opened(process.pid, world) and time.monotonic() < deadline:
        time.sleep(0.05)

    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)

    assert (process.returncode, out, err) == (130, "", "")


def test_reader_that_goes_away_is_no_error(world: World):
    for _ in range(200):
        world.submit(label="x" * 60)
    process = rushes("jobs", "list", "--limit", "1000", "--json")

    assert process.stdout is not None
    process.stdout.close()
    process.wait(timeout=20)

    assert process.stderr is not None
    assert process.stderr.read() == ""
    process.stderr.close()


def opened(pid: int, world: World) -> bool:
    """Whether a process has the database open: it is past its start."""
    path = world.db.url.removeprefix("sqlite:///")
    try:
        return any(str(link.readlink()) == path for link in Path(f"/proc/{pid}/fd").iterdir())
    except OSError:
        return False
