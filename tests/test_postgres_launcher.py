"""The launcher that every PostgreSQL test stands on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests import postgres as launcher
from tests.postgres import Cluster, PostgresServer, PostgresUnavailable

pytestmark = pytest.mark.postgres


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with PostgresServer() as server:
        yield server


@pytest.fixture(params=["first", "second"])
def scratch_url(request, postgres: Cluster, postgres_namespace: str) -> Iterator[str]:
    name = f"{postgres_namespace}_scratch_{request.param}"
    yield postgres.create_database(name)
    postgres.drop_database(name)


def test_server_of_the_run_answers(postgres: Cluster):
    with psycopg.connect(postgres.url("postgres")) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)


def test_database_of_a_test_is_its_own(scratch_url: str):
    with psycopg.connect(scratch_url) as connection:
        connection.execute("CREATE TABLE mine (id integer)")


def test_database_is_a_copy_of_its_template(server: PostgresServer):
    with psycopg.connect(server.create_database("pattern")) as connection:
        connection.execute("CREATE TABLE kept (id integer)")

    copy = server.create_database("copy", template="pattern")

    with psycopg.connect(copy) as connection:
        assert connection.execute("SELECT count(*) FROM kept").fetchone() == (0,)


def test_database_is_dropped_under_a_connection(server: PostgresServer):
    url = server.create_database("busy")

    with psycopg.connect(url):
        server.drop_database("busy")

    with pytest.raises(psycopg.OperationalError, match="does not exist"):
        psycopg.connect(url)


@pytest.mark.parametrize("mode", ["fast", "immediate"])
def test_restart_keeps_the_address_and_what_was_committed(server: PostgresServer, mode):
    url = server.create_database(f"durable_{mode}")
    with psycopg.connect(url) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 7 AS number")

    server.restart(mode)

    with psycopg.connect(url) as connection:
        assert connection.execute("SELECT number FROM kept").fetchone() == (7,)


def test_stopped_server_refuses_and_starts_again(server: PostgresServer):
    server.stop()
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(server.url("postgres"))

    server.start()

    with psycopg.connect(server.url("postgres")) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)


def test_server_needs_its_password(server: PostgresServer):
    with pytest.raises(psycopg.OperationalError, match="password"):
        psycopg.connect(host="127.0.0.1", port=server.port, user="rushes", dbname="postgres")


def test_server_ends_with_a_killed_owner(tmp_path: Path):
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER], stdout=subprocess.PIPE, text=True, cwd=Path.cwd()
    )
    assert owner.stdout
    folder = Path(owner.stdout.readline().strip())
    assert (folder / "data" / "postmaster.pid").exists()

    owner.send_signal(signal.SIGKILL)
    owner.wait()
    owner.stdout.close()

    deadline = time.monotonic() + 20
    while folder.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not folder.exists()


def test_close_leaves_no_file_and_no_process():
    with PostgresServer() as server:
        folder = server.folder
        postmaster = int((folder / "data" / "postmaster.pid").read_text().split()[0])

    assert not folder.exists()
    assert not is_running(postmaster)


def test_missing_binaries_fail_with_one_line_that_helps(monkeypatch, tmp_path):
    monkeypatch.setattr(launcher, "_wheel", lambda: None)
    monkeypatch.setattr(launcher, "SYSTEM_FOLDER", tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(PostgresUnavailable) as failure:
        PostgresServer().start()

    assert str(failure.value) == launcher.MISSING
    assert "\n" not in launcher.MISSING


OWNER = """
import sys
from tests.postgres import PostgresServer
server = PostgresServer()
server.start()
print(server.folder, flush=True)
sys.stdin.read()
"""


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{pid}/stat")
    return not state.exists() or state.read_text().rpartition(")")[2].split()[0] != "Z"
