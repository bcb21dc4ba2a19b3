"""A database that does not do what it should is out of reach: one error, whatever the driver says.

Workers and loops wait for such a database; they would end of an error that they do not know.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing

import psycopg
import pytest

from rushes.errors import Unavailable
from rushes.store.database import Database, Transaction, Unstorable, open_database
from tests.world import sql


def write(tx: Transaction) -> None:
    tx.run("set_loop", name="x", ran_at=1, grace_until=None)


@pytest.fixture
def sqlite(sqlite_url: str):
    with closing(open_database(sqlite_url)) as database:
        database.migrate()
        yield database


def test_sqlite_that_can_only_be_read_is_out_of_reach_until_it_can_be_written(sqlite: Database):
    """F-DK-2."""
    sql(sqlite, "PRAGMA query_only = ON")
    with pytest.raises(Unavailable, match="cannot be written: attempt to write a readonly"):
        sqlite.transact(write)

    sql(sqlite, "PRAGMA query_only = OFF")

    sqlite.transact(write)


def test_disk_that_cannot_be_read_is_out_of_reach_and_leaves_no_transaction(sqlite: Database):
    """F-SQ-2."""

    def read(_tx: Transaction) -> None:
        raise sqlite3.OperationalError("disk I/O error")

    with pytest.raises(Unavailable, match="cannot be read: disk I/O error"):
        sqlite.read(read)

    assert sqlite.read(lambda tx: len(tx.rows("loops"))) == 0


@pytest.mark.postgres
def test_standby_is_out_of_reach_and_named(postgres_url: str):
    """F-PG-9."""
    with closing(open_database(postgres_url)) as database:
        name = _name(database)
        sql(database, f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    with closing(open_database(postgres_url)) as database:
        with pytest.raises(Unavailable, match="can only be read") as caught:
            database.transact(write)

        assert "primary" in str(caught.value.hint)
        assert len(database.read(lambda tx: tx.rows("loops"))) == 0


def test_defect_of_ours_is_no_trouble_of_the_database(db: Database):
    def forget(tx: Transaction) -> None:
        tx.run("set_loop", name="x")

    with pytest.raises((sqlite3.ProgrammingError, psycopg.ProgrammingError)):
        db.transact(forget)


@pytest.mark.parametrize("values", [{"name": None, "ran_at": 1}, {"name": "x", "ran_at": 1 << 70}])
def test_value_that_a_column_does_not_take_is_at_fault_itself(db: Database, values):
    with pytest.raises(Unstorable):
        db.transact(lambda tx: tx.run("set_loop", grace_until=None, **values))

    assert len(db.read(lambda tx: tx.rows("loops"))) == 0


def _name(database: Database) -> str:
    [row] = sql(database, "SELECT current_database() AS name")
    return str(row["name"])
