"""SQLite: the embedded default. One writer connection per process, readers beside it.

Every write transaction begins IMMEDIATE: one that starts as a reader and upgrades fails
at once when another process writes. WAL with synchronous=NORMAL: a power cut may lose the
last commits, never corrupt; a lost completion is a lease that runs out and work done again.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import TypeVar

from rushes.errors import Unavailable
from rushes.store import migrate
from rushes.store.database import (
    Row,
    Transaction,
    Unstorable,
    encode,
    first_line,
    ignore,
    retrying,
)
from rushes.store.queries import Dialect, load

T = TypeVar("T")

OLDEST = (3, 38, 0)  # the first with ->> and with STRICT tables
PRAGMAS = ("journal_mode=WAL", "synchronous=NORMAL", "busy_timeout=30000", "foreign_keys=ON")
OUT_OF_REACH = (
    *("database or disk is full", "disk I/O error", "unable to open database file"),
    "attempt to write a readonly database",
)
BUSY = ("database is locked", "database table is locked")


class SqliteTransaction:
    def __init__(self, connection: sqlite3.Connection, now: int | None) -> None:
        self._connection = connection
        self._now = now
        self._statements = load("sqlite")
        self.woken: set[str] = set()

    def rows(self, statement: str, **params: object) -> Sequence[Row]:
        sql = self._statements[statement]
        if not sql:
            return []
        try:
            return self._connection.execute(sql, encode({"now": self._now, **params})).fetchall()
        except (sqlite3.IntegrityError, sqlite3.DataError, OverflowError) as error:
            raise Unstorable(first_line(error)) from error

    def run(self, statement: str, **params: object) -> None:
        self.rows(statement, **params)


class SqliteDatabase:
    dialect: Dialect = "sqlite"

    def __init__(self, url: str) -> None:
        self.url = url
        self.path = Path(url.removeprefix("sqlite:///"))
        self.on_commit: Callable[[set[str]], None] = ignore
        self._writing = threading.RLock()
        self._reading = threading.RLock()
        self._writer = self._connect()
        self._reader = self._connect()

    def transact(self, work: Callable[[Transaction], T], *, now: int | None = None) -> T:
        with _told("written"):
            result, woken = retrying(lambda: self._write(work, now), _is_busy)
        if woken:
            self.on_commit(woken)
        return result

    def read(self, work: Callable[[Transaction], T], *, now: int | None = None) -> T:
        with _told("read"), self._reading:
            self._reader.execute("BEGIN")
            try:
                return work(SqliteTransaction(self._reader, now))
            finally:
                if self._reader.in_transaction:  # an error may have ended it
                    self._reader.execute("ROLLBACK")

    def migrate(self) -> list[str]:
        with self._writing:
            return migrate.upgrade_sqlite(self._writer)

    def schema_version(self) -> int:
        with self._reading:
            return migrate.sqlite_version(self._reader)

    def data_version(self) -> int:
        """Return a number that changes when another process has committed."""
        with _told("read"), self._reading:
            row = self._reader.execute("PRAGMA data_version").fetchone()
        return int(row[0])

    def close(self) -> None:
        with self._writing, self._reading:
            self._writer.close()
            self._reader.close()

    def _write(self, work: Callable[[Transaction], T], now: int | None) -> tuple[T, set[str]]:
        with self._writing:
            self._writer.execute("BEGIN IMMEDIATE")
            try:
                transaction = SqliteTransaction(self._writer, now)
                result = work(transaction)
                self._writer.execute("COMMIT")
            except BaseException:
                if self._writer.in_transaction:
                    self._writer.execute("ROLLBACK")
                raise
        return result, transaction.woken

    def _connect(self) -> sqlite3.Connection:
        if sqlite3.sqlite_version_info < OLDEST:
            raise Unavailable(f"SQLite {sqlite3.sqlite_version} is too old; 3.38 is needed")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            connection = sqlite3.connect(
                self.path, isolation_level=None, check_same_thread=False, timeout=30
            )
            connection.row_factory = sqlite3.Row
            connection.create_function("lower", 1, _lower, deterministic=True)
            # two that turn a new file to WAL at once: one is told that it is busy, without a wait
            for pragma in PRAGMAS:
                retrying(partial(connection.execute, f"PRAGMA {pragma}"), _is_busy)
        except (OSError, sqlite3.Error) as error:
            raise Unavailable(f"cannot open {self.path}: {first_line(error)}") from error
        return connection


def copy(source: Path, target: Path) -> None:
    """Copy a database as it is at one moment, while others go on writing. One file, no log."""
    with closing(sqlite3.connect(source)) as original, closing(sqlite3.connect(target)) as made:
        original.backup(made)
        made.execute("PRAGMA journal_mode=DELETE")


@contextmanager
def reading(path: Path) -> Iterator[Transaction]:
    """Read a database file that nobody writes, and leave it as it is."""
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
        connection.row_factory = sqlite3.Row
        yield SqliteTransaction(connection, now=None)


@contextmanager
def _told(done: str) -> Iterator[None]:
    """Tell apart a disk that does not do what it should from a defect of ours."""
    try:
        yield
    except sqlite3.OperationalError as error:
        if str(error) not in OUT_OF_REACH:
            raise
        raise Unavailable(f"the database cannot be {done}: {first_line(error)}") from error


def _lower(text: str | None) -> str | None:
    """SQLite's own knows the letters of ASCII only."""
    return None if text is None else text.lower()


def _is_busy(error: Exception) -> bool:
    return isinstance(error, sqlite3.OperationalError) and str(error) in BUSY
