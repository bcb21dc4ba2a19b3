"""Brings a database up to the schema of this program.

Migrations are numbered .sql files in the tagged SQL of queries.py, one history for both
databases. All that are missing are one transaction with their rows in `schema_migrations`, so one
that breaks leaves nothing, and whoever starts meanwhile sees the schema from before or the new one,
never a part of it. A lock lets several processes start at once.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from importlib import resources
from typing import TYPE_CHECKING, Any

from rushes.errors import SchemaMismatch
from rushes.store.queries import Dialect, script

if TYPE_CHECKING:
    import psycopg

LOCK = 7_276_837  # any number, the same in every process
TABLE = (
    "CREATE TABLE IF NOT EXISTS schema_migrations (version integer PRIMARY KEY, name text NOT NULL)"
)


Migration = tuple[int, str, str]


def migrations() -> list[Migration]:
    """Return (number, name, text) of every migration, in order."""
    folder = resources.files("rushes.store").joinpath("migrations")
    files = sorted(
        (file for file in folder.iterdir() if file.name.endswith(".sql")),
        key=lambda file: file.name,
    )
    return [(int(file.name[:4]), file.name[:-4], file.read_text("utf-8")) for file in files]


def latest() -> int:
    return migrations()[-1][0]


def check_version(version: int) -> None:
    """Raise SchemaMismatch, with the next step, unless the schema is the one we know."""
    if version < latest():
        raise SchemaMismatch(
            f"the database has schema {version}, this program needs {latest()}",
            hint="run: rushes db upgrade",
        )
    if version > latest():
        raise SchemaMismatch(
            f"the database has schema {version}, this program knows only {latest()}",
            hint="upgrade Rushes on this machine",
        )


def upgrade_sqlite(
    connection: sqlite3.Connection, history: Sequence[Migration] | None = None
) -> list[str]:
    applied = []
    connection.execute("BEGIN IMMEDIATE")  # the driver does not begin one for DDL by itself
    try:
        connection.execute(TABLE)
        known = sqlite_version(connection)
        for number, name, text in history or migrations():
            if known < number:
                for statement in _statements(number, name, text, "sqlite"):
                    connection.execute(statement)
                applied.append(name)
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    return applied


def upgrade_postgres(
    connection: psycopg.Connection[Any], history: Sequence[Migration] | None = None
) -> list[str]:
    applied = []
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (LOCK,))
        connection.execute(TABLE)
        known = postgres_version(connection)
        for number, name, text in history or migrations():
            if known < number:
                for statement in _statements(number, name, text, "postgres"):
                    connection.execute(statement)
                applied.append(name)
    return applied


def sqlite_version(connection: sqlite3.Connection) -> int:
    known = "SELECT count(*) FROM sqlite_master WHERE name = 'schema_migrations'"
    if not connection.execute(known).fetchone()[0]:
        return 0
    return int(
        connection.execute("SELECT coalesce(max(version), 0) FROM schema_migrations").fetchone()[0]
    )


def postgres_version(connection: psycopg.Connection[Any]) -> int:
    known = connection.execute("SELECT to_regclass('schema_migrations') AS known").fetchone()
    if known is None or known["known"] is None:
        return 0
    row = connection.execute(
        "SELECT coalesce(max(version), 0) AS version FROM schema_migrations"
    ).fetchone()
    return int(row["version"]) if row else 0


def _statements(number: int, name: str, text: str, dialect: Dialect) -> list[str]:
    entry = f"INSERT INTO schema_migrations (version, name) VALUES ({number}, '{name}')"
    return [*script(text, dialect), entry]
