"""What both databases offer: named statements inside a transaction that retries itself.

A transaction is a function: it may run more than once when the connection breaks or two
of them deadlock, so it must not do anything but talk to the database. Whether the commit
of a broken connection took effect is unknown; every caller is written to be repeated.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeVar
from urllib.parse import urlsplit

from rushes.errors import Invalid, Unavailable
from rushes.store.queries import Dialect

Row = Mapping[str, Any]
T = TypeVar("T")

TRIES = 5
_to_json = json.JSONEncoder(separators=(",", ":")).encode


class Unstorable(ValueError):
    """A value that its column does not take: too large, or against a rule of the table."""


class Transaction(Protocol):
    """One open transaction. Lanes put in `woken` have new work once it is committed.

    A list among the parameters is a batch and is sent as JSON. Every statement sees the
    time `now` that the transaction was given; without one the database's clock decides.
    """

    woken: set[str]

    def rows(self, statement: str, **params: object) -> Sequence[Row]:
        """Run a named statement and return its rows. Raises Unstorable."""

    def run(self, statement: str, **params: object) -> None:
        """Run a named statement whose rows nobody needs."""


class Database(Protocol):
    dialect: Dialect
    url: str
    on_commit: Callable[[set[str]], None]

    def transact(self, work: Callable[[Transaction], T], *, now: int | None = None) -> T:
        """Run `work` in one transaction and return what it returns."""

    def read(self, work: Callable[[Transaction], T], *, now: int | None = None) -> T:
        """The same for work that only reads; never waits for a writer."""

    def migrate(self) -> list[str]:
        """Bring the schema up to date and return the names of the migrations applied."""

    def schema_version(self) -> int:
        """Return the number of the last migration applied; 0 for an empty database."""

    def close(self) -> None: ...


def open_database(url: str, *, pool_size: int = 10, wait_s: float | None = None) -> Database:
    """Open the database that `url` names. Raises Invalid for a URL that names none.

    With `wait_s`, a caller waits only so long for a connection of the pool.
    """
    scheme, _, rest = url.partition("://")
    if scheme == "sqlite" and rest.startswith("/") and len(rest) > 1:
        from rushes.store.sqlite import SqliteDatabase

        return SqliteDatabase(url)
    if scheme in ("postgresql", "postgres") and _is_url(url):
        from rushes.store.postgres import PostgresDatabase

        return PostgresDatabase(url, pool_size=pool_size, wait_s=wait_s)
    raise Invalid(
        "the database URL is neither sqlite:///path nor postgresql://host/name",
        hint="set RUSHES_DATABASE_URL, for example sqlite:////srv/rushes/rushes.db",
    )


def retrying(attempt: Callable[[], T], is_transient: Callable[[Exception], bool]) -> T:
    """Call `attempt` until it does not fail for a passing reason; at most TRIES times."""
    for tries in range(1, TRIES + 1):
        try:
            return attempt()
        except Exception as error:
            if not is_transient(error):
                raise
            if tries == TRIES:
                raise Unavailable(f"the database cannot be reached: {first_line(error)}") from error
            time.sleep(random.uniform(0.5, 1) * 0.02 * 2**tries)
    raise AssertionError("unreachable")


def encode(params: dict[str, object]) -> dict[str, object]:
    """Return the parameters as a driver takes them.

    Raises Invalid for a text that PostgreSQL cannot hold; SQLite says the same.
    """
    if any(isinstance(value, str) and "\0" in value for value in params.values()):
        raise Invalid("a text has the character NUL in it, which cannot be stored or looked for")
    return {
        name: _to_json(value) if isinstance(value, list) else value
        for name, value in params.items()
    }


def first_line(error: BaseException) -> str:
    return (str(error) or type(error).__name__).splitlines()[0]


def ignore(_lanes: set[str]) -> None:
    """Nobody listens in this process."""


def _is_url(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return bool(parts.path.strip("/")) and (parts.port is None or parts.port > 0)
    except ValueError:
        return False
