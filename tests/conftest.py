"""Fixtures that hand a test its database: a fresh one each time, on SQLite and on PostgreSQL.

One PostgreSQL server serves a whole run. Whichever process needs it first starts it, the process
that was started as `pytest` owns it, and each xdist worker keeps to names of its own.
"""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import hypothesis
import pytest

from rushes.store.database import Database, open_database
from tests.kinds import KINDS
from tests.postgres import Cluster, PostgresUnavailable, shared_server, stop_shared_server
from tests.system import last_line
from tests.world import World

TABLES = (
    "SELECT tablename AS name FROM pg_tables"
    " WHERE schemaname = 'public' AND tablename <> 'schema_migrations'"
)
RESTART = "SELECT setval(oid, 1, FALSE) FROM pg_class WHERE relkind = 'S'"
hypothesis.settings.register_profile("rushes", deadline=None)  # a busy machine is no defect
hypothesis.settings.load_profile("rushes")

RUN = pytest.StashKey[tuple[Path, int]]()
_numbers = itertools.count(1)


def prepare_template(url: str) -> None:
    """Bring an empty database to the current schema; every test gets a copy of it."""
    with closing(open_database(url)) as database:
        database.migrate()


def pytest_configure(config: pytest.Config) -> None:
    """Agree on a folder that all processes of this run share, and on who owns the server.

    Who starts the run in the background lets it ignore SIGINT, and so all that it starts.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    given = getattr(config, "workerinput", None)
    if given is None:
        config.stash[RUN] = (Path(tempfile.mkdtemp(prefix="rushes-tests-")), os.getpid())
    else:
        config.stash[RUN] = (Path(given["run_folder"]), given["run_owner"])


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell an xdist worker what `pytest_configure` agreed on."""
    folder, owner = node.config.stash[RUN]
    node.workerinput |= {"run_folder": str(folder), "run_owner": owner}


def pytest_unconfigure(config: pytest.Config) -> None:
    """Stop the server when the run ends, however it ends."""
    folder, owner = config.stash[RUN]
    if owner == os.getpid():
        stop_shared_server(folder)
        shutil.rmtree(folder, ignore_errors=True)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    line = last_line(terminalreporter)
    if line:
        terminalreporter.write_line(line)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that ask for PostgreSQL by name, so that `-m 'not postgres'` is complete."""
    for item in items:
        if {"postgres", "postgres_url"} & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.postgres)


@pytest.fixture(scope="session")
def postgres(request: pytest.FixtureRequest) -> Cluster:
    """The server of this run."""
    folder, owner = request.config.stash[RUN]
    try:
        return shared_server(folder, owner=owner)
    except PostgresUnavailable as error:
        pytest.fail(str(error), pytrace=False)


@pytest.fixture(scope="session")
def postgres_namespace(request: pytest.FixtureRequest) -> str:
    """How the names of this process's databases begin."""
    worker = os.environ.get("PYTEST_XDIST_WORKER", "main")
    return f"rushes_{request.config.stash[RUN][1]}_{worker}"


@pytest.fixture(scope="session")
def postgres_template(postgres: Cluster, postgres_namespace: str) -> Iterator[str]:
    """A database with the current schema and nothing in it."""
    name = f"{postgres_namespace}_template"
    prepare_template(postgres.create_database(name))
    yield name
    postgres.drop_database(name)


@pytest.fixture
def postgres_url(
    postgres: Cluster, postgres_namespace: str, postgres_template: str
) -> Iterator[str]:
    """A PostgreSQL database of the test's own, with the current schema."""
    name = f"{postgres_namespace}_{next(_numbers)}"
    yield postgres.create_database(name, template=postgres_template)
    postgres.drop_database(name)


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An SQLite file with the current schema and nothing in it."""
    path = tmp_path_factory.mktemp("template") / "rushes.db"
    prepare_template(f"sqlite:///{path}")
    return path


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    """An SQLite file of the test's own; it does not exist yet."""
    return f"sqlite:///{tmp_path / 'rushes.db'}"


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def database_url(request: pytest.FixtureRequest) -> str:
    """A database of the test's own, on SQLite and then on PostgreSQL."""
    url: str = request.getfixturevalue(f"{request.param}_url")
    return url


@pytest.fixture(scope="session")
def postgres_database(
    postgres: Cluster, postgres_namespace: str, postgres_template: str
) -> Iterator[Database]:
    """One open PostgreSQL database for all tests of a process that only want its tables."""
    name = f"{postgres_namespace}_shared"
    with closing(
        open_database(postgres.create_database(name, template=postgres_template))
    ) as database:
        yield database
    postgres.drop_database(name)


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def db(request: pytest.FixtureRequest) -> Iterator[Database]:
    """An open database with the current schema and nothing in it, on SQLite and on PostgreSQL.

    The PostgreSQL one is emptied, not made anew: that takes 2 ms instead of 500. The SQLite one is
    a copy of a file: 4 ms instead of 40.
    """
    if request.param == "postgres":
        database: Database = request.getfixturevalue("postgres_database")
        empty(database)
        yield database
        return
    url: str = request.getfixturevalue("sqlite_url")
    shutil.copy(request.getfixturevalue("sqlite_template"), url.removeprefix("sqlite:///"))
    with closing(open_database(url)) as database:
        yield database


def empty(database: Database) -> None:
    """Remove every row of a PostgreSQL database and start its numbers at 1.

    Deleting a few rows takes 1 ms, TRUNCATE 60; after many rows it is worth it.
    """
    with database._pool.connection() as connection:  # type: ignore[attr-defined]
        tables = [row["name"] for row in connection.execute(TABLES).fetchall()]
        many = connection.execute("SELECT count(*) > 1000 AS many FROM tasks").fetchone()["many"]
        if many:
            connection.execute(f"TRUNCATE {', '.join(tables)} RESTART IDENTITY")
        else:
            connection.execute("; ".join(f"DELETE FROM {table}" for table in tables), prepare=False)
            connection.execute(RESTART)


@pytest.fixture
def world(db: Database) -> World:
    """An engine on the test's database, with a clock that only the test moves."""
    return World(db, KINDS)
