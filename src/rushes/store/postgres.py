"""PostgreSQL: READ COMMITTED, a small pool, prepared statements.

The planner is told to walk indexes: every statement here is meant to, and a plan that was
cached while a table was tiny would otherwise scan it when it has grown. With that, one plan
serves all parameters; left alone it plans a claim anew each time, which takes longer than
the claim. Of a tiny table it may still walk a whole index, and go on to do so while a hundred
thousand tasks come in: a connection forgets its plans after a transaction that took long. Only
reads, whose filters are optional, are planned for what they are given.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any, TypeVar

import psycopg
from psycopg import errors as pg
from psycopg.rows import DictRow, dict_row
from psycopg.types.string import TextLoader
from psycopg_pool import ConnectionPool, PoolClosed, PoolTimeout

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
Connection = psycopg.Connection[DictRow]

CONNECT_SECONDS = 10
CHANNEL = "rushes"
ANNOUNCE = "SELECT set_config('synchronous_commit', 'off', TRUE), pg_notify(%s, %s)"
SLOW = 0.1  # seconds; to plan anew what a transaction needs takes a twentieth of it
ONE_ACTIVE = "jobs_one_active"  # the index in 0001_engine.sql
OPTIONS = " ".join(
    f"-c {setting}"
    for setting in (
        "enable_seqscan=off",
        "enable_bitmapscan=off",
        "enable_hashjoin=off",
        "enable_mergejoin=off",
        "plan_cache_mode=force_generic_plan",
        "jit=off",
        "idle_in_transaction_session_timeout=30s",
        "timezone=UTC",
    )
)
TRANSIENT = (
    pg.SerializationFailure,
    pg.DeadlockDetected,
    pg.LockNotAvailable,
    pg.OperationalError,
    pg.InterfaceError,
    PoolTimeout,
)


class PostgresTransaction:
    def __init__(self, connection: Connection, now: int | None, *, prepare: bool) -> None:
        self._connection = connection
        self._now = now
        self._prepare = prepare
        self._statements = load("postgres")
        self.woken: set[str] = set()

    def rows(self, statement: str, **params: object) -> Sequence[Row]:
        cursor = self._execute(statement, params)
        return cursor.fetchall() if cursor is not None else []

    def run(self, statement: str, **params: object) -> None:
        self._execute(statement, params)

    def _execute(self, statement: str, params: dict[str, object]) -> psycopg.Cursor[DictRow] | None:
        sql = self._statements[statement]
        if not sql:
            return None
        try:
            return self._connection.execute(
                sql, encode({"now": self._now, **params}), prepare=self._prepare
            )
        except (pg.DataError, pg.CheckViolation, pg.NotNullViolation) as error:
            raise Unstorable(first_line(error)) from error


class PostgresDatabase:
    dialect: Dialect = "postgres"

    def __init__(self, url: str, *, pool_size: int = 10, wait_s: float | None = None) -> None:
        self.url = url
        self._is_patient = wait_s is None
        self.on_commit: Callable[[set[str]], None] = ignore
        self._pool: ConnectionPool[Connection] = ConnectionPool(
            url,
            min_size=1,
            max_size=pool_size,
            open=False,
            timeout=CONNECT_SECONDS if wait_s is None else wait_s,
            reconnect_timeout=0,
            configure=_configure,
            kwargs=connection_settings(),
        )
        self._check()
        self._pool.open()

    def transact(self, work: Callable[[Transaction], T], *, now: int | None = None) -> T:
        result, woken = retrying(lambda: self._attempt(work, now, prepare=True), self._is_transient)
        if woken:
            self.on_commit(woken)
        return result

    def read(self, work: Callable[[Transaction], T], *, now: int | None = None) -> T:
        return retrying(lambda: self._attempt(work, now, prepare=False), self._is_transient)[0]

    def migrate(self) -> list[str]:
        with self.connect() as connection:
            return migrate.upgrade_postgres(connection)

    def schema_version(self) -> int:
        with self.connect() as connection:
            return migrate.postgres_version(connection)

    def connect(self) -> Connection:
        """Return a connection outside the pool, for LISTEN and for migrations."""
        connection = psycopg.connect(self.url, **connection_settings())
        _configure(connection)
        return connection

    def announce(self, connection: Connection, lanes: Iterable[str]) -> None:
        """Tell every process that listens which lanes may have work.

        One that is lost in a crash costs a poll, so the disk is not waited for.
        """
        connection.execute(ANNOUNCE, (CHANNEL, ",".join(lanes)))

    def subscribe(self, connection: Connection) -> None:
        """Let `connection` hear of announcements."""
        connection.execute(f"LISTEN {CHANNEL}")

    def close(self) -> None:
        self._pool.close()

    def _attempt(
        self, work: Callable[[Transaction], T], now: int | None, *, prepare: bool
    ) -> tuple[T, set[str]]:
        with self._pool.connection() as connection:
            started = time.monotonic()
            with connection.transaction():
                transaction = PostgresTransaction(connection, now, prepare=prepare)
                result = work(transaction)
            if prepare and time.monotonic() - started > SLOW:
                with suppress(psycopg.Error):  # it is committed
                    connection.execute("DISCARD PLANS")
        return result, transaction.woken

    def _is_transient(self, error: Exception) -> bool:
        if isinstance(error, PoolTimeout) and not self._is_patient:
            raise Unavailable("the database is busy", retry_after=2) from error
        if isinstance(error, pg.QueryCanceled):
            raise Unavailable("the database took too long for this") from error
        if isinstance(error, pg.ReadOnlySqlTransaction):
            raise Unavailable(
                "the database can only be read",
                hint="a standby? RUSHES_DATABASE_URL has to name the primary",
            ) from error
        return _is_transient(error)

    def _check(self) -> None:
        """Fail at once, in one line, when the server is not there."""
        try:
            self.connect().close()
        except psycopg.Error as error:
            raise Unavailable(
                f"cannot connect to PostgreSQL: {first_line(error)}",
                hint="start the server, or correct RUSHES_DATABASE_URL",
            ) from error


def connection_settings() -> dict[str, Any]:
    return {
        "autocommit": True,
        "prepare_threshold": 1,
        "row_factory": dict_row,
        "options": OPTIONS,
        "connect_timeout": CONNECT_SECONDS,
        "application_name": "rushes",
    }


def _configure(connection: psycopg.Connection[Any]) -> None:
    connection.adapters.register_loader("uuid", TextLoader)  # ids are text everywhere in Python


def _is_transient(error: Exception) -> bool:
    if isinstance(error, PoolClosed):
        return False
    return isinstance(error, TRANSIENT) or _is_rival(error)


def _is_rival(error: Exception) -> bool:
    """Whether another job took the place by a moment; the next try sees it and says so."""
    return isinstance(error, pg.UniqueViolation) and error.diag.constraint_name == ONE_ACTIVE
