"""The schema: one history for both databases, whole steps only, safe for several processes."""

from __future__ import annotations

import itertools
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from threading import Barrier

import psycopg
import pytest

from rushes.errors import Invalid, SchemaMismatch, Unavailable
from rushes.library import indexing, search
from rushes.library.search import Question
from rushes.store.database import Database, open_database
from rushes.store.migrate import (
    Migration,
    check_version,
    latest,
    migrations,
    upgrade_postgres,
    upgrade_sqlite,
)
from tests.library.studio import Studio
from tests.world import NOBODY, World, sql

_numbers = itertools.count(1)

GOOD = (1, "0001_good", "CREATE TABLE good (id integer);")
HALF = (2, "0002_half", "CREATE TABLE half (id integer);\n\nCREATE TABLE good (id integer);")
WHOLE = (2, "0002_whole", "CREATE TABLE half (id integer);\n\nCREATE TABLE more (id integer);")
MIGRATE = (
    "import sys; from rushes.store.database import open_database;"
    "print(len(open_database(sys.argv[1]).migrate()))"
)


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def bare(request: pytest.FixtureRequest) -> Iterator[Database]:
    """A database with nothing in it, not even tables."""
    if request.param == "sqlite":
        with closing(open_database(request.getfixturevalue("sqlite_url"))) as database:
            yield database
        return
    server = request.getfixturevalue("postgres")
    name = f"{request.getfixturevalue('postgres_namespace')}_bare_{next(_numbers)}"
    with closing(open_database(server.create_database(name))) as database:
        yield database
    server.drop_database(name)


def test_migrations_are_numbered_without_a_gap():
    history = migrations()

    assert [number for number, _, _ in history] == list(range(1, latest() + 1))
    assert all(name.startswith(f"{number:04}_") for number, name, _ in history)


def test_empty_database_is_brought_to_the_latest_schema_and_then_left_alone(bare: Database):
    applied = [bare.migrate(), bare.migrate()]

    assert applied == [[name for _, name, _ in migrations()], []]
    assert bare.schema_version() == latest()


def test_migration_that_breaks_half_way_leaves_nothing(bare: Database):
    """003-025: not even of those before it, which somebody else could see meanwhile."""
    with pytest.raises((sqlite3.Error, psycopg.Error), match="good"):
        _upgrade(bare, [GOOD, HALF])

    assert bare.schema_version() == 0
    assert _tables(bare) == set()


def test_migration_that_broke_is_applied_once_it_is_mended(bare: Database):
    _upgrade(bare, [GOOD])
    with pytest.raises((sqlite3.Error, psycopg.Error)):
        _upgrade(bare, [GOOD, HALF])

    applied = _upgrade(bare, [GOOD, WHOLE])

    assert applied == ["0002_whole"]
    assert _tables(bare) == {"schema_migrations", "good", "half", "more"}


def test_processes_that_start_at_once_apply_each_migration_once(bare: Database):
    """000-157."""

    def migrate(_: int) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", MIGRATE, bare.url]
        return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)

    with ThreadPoolExecutor(3) as pool:
        ended = list(pool.map(migrate, range(3)))

    assert [process.stderr for process in ended] == ["", "", ""]
    assert sum(int(process.stdout) for process in ended) == len(migrations())
    assert bare.schema_version() == latest()


def test_new_file_lets_in_all_who_open_it_at_once(tmp_path: Path):
    """000-157: turning it to WAL, SQLite tells a second one that it is busy, without a wait."""
    meet = Barrier(8, timeout=30)

    def open_at_once(path: Path) -> None:
        meet.wait()
        open_database(f"sqlite:///{path}").close()

    with ThreadPoolExecutor(8) as pool:
        for number in range(60):
            opened = [pool.submit(open_at_once, tmp_path / f"{number}.db") for _ in range(8)]

            assert [each.exception() for each in opened] == [None] * 8


@pytest.mark.parametrize("version, hint", [(0, "rushes db upgrade"), (10_000, "upgrade Rushes")])
def test_other_schema_is_refused_in_one_line(version: int, hint: str):
    with pytest.raises(SchemaMismatch) as refused:
        check_version(version)

    assert f"the database has schema {version}, " in refused.value.message
    assert "\n" not in refused.value.message
    assert hint in str(refused.value.hint)


def test_schema_of_this_program_is_accepted(db: Database):
    check_version(db.schema_version())


def test_database_without_a_schema_is_version_0(bare: Database):
    assert bare.schema_version() == 0


@pytest.mark.parametrize(
    "url",
    [
        *("", "rushes.db", "sqlite://", "sqlite:///", "sqlite:rushes.db", "mysql://localhost/x"),
        *("postgresql://", "postgresql://localhost", "postgresql://localhost:x/rushes"),
    ],
)
def test_url_that_names_no_database_is_refused_in_one_line(url: str):
    with pytest.raises(
        Invalid, match="neither sqlite:///path nor postgresql://host/name"
    ) as refused:
        open_database(url)

    assert "\n" not in refused.value.message


def test_server_that_is_not_there_is_one_line():
    with pytest.raises(Unavailable, match="cannot connect to PostgreSQL") as refused:
        open_database("postgresql://127.0.0.1:1/rushes")

    assert "\n" not in refused.value.message


def test_folder_that_cannot_be_made_is_one_line():
    with pytest.raises(Unavailable, match=r"cannot open /dev/null/rushes\.db"):
        open_database("sqlite:////dev/null/rushes.db")


@pytest.mark.parametrize("table", ["jobs", "tasks", "edges", "attempts", "events", "executions"])
def test_table_exists_and_a_new_job_writes_only_what_it_needs(world: World, table: str):
    """003-004, 003-020: one row each for job and task, history from the first event."""
    world.submit()

    [row] = sql(world.db, f"SELECT count(*) AS n FROM {table}")

    assert row["n"] == (table in {"jobs", "tasks", "events"})


def test_texts_from_before_the_search_are_kept_and_then_found(bare: Database, tmp_path: Path):
    """004-045: a library that has films and texts when 0008 comes."""
    _upgrade(bare, [one for one in migrations() if one[0] < 8])
    sql(
        bare,
        "INSERT INTO assets (id, owner, title, tags, filename, source_key, bytes, sha256, source,"
        f" created_at, updated_at) VALUES ('{NOBODY}', '', 'Old film', '[\"old\"]', 'old.mp4',"
        f" 'x', 1, '{'0' * 64}', '{{\"chapters\":[]}}', 1, 1)",
    )
    sql(
        bare,
        "INSERT INTO spans (asset_id, start_ms, end_ms, text, normalized, hash, confidence, x, y,"
        f" width, height, language) VALUES ('{NOBODY}', 0, 1, 'Platypus', 'platypus', '', 0.9,"
        " 1, 2, 3, 4, 'en')",
    )
    bare.migrate()
    studio = Studio(bare, tmp_path)

    done = indexing.run_once(studio.library)

    assert done == 2  # the text, and what is said about the film
    for word, kind in (("platypus", "screen"), ("film", "title"), ("old.mp4", "file")):
        [hit] = bare.read(
            lambda tx, word=word: search.search(tx, Question(text=word, owner=None)).hits
        )
        assert hit.row["kind"] == kind


def _upgrade(database: Database, history: list[Migration]) -> list[str]:
    if database.dialect == "sqlite":
        return upgrade_sqlite(database._writer, history)
    with database.connect() as connection:
        return upgrade_postgres(connection, history)


def _tables(database: Database) -> set[str]:
    if database.dialect == "sqlite":
        rows = sql(database, "SELECT name FROM sqlite_master WHERE type = 'table'")
    else:
        rows = sql(database, "SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public'")
    return {row["name"] for row in rows}
