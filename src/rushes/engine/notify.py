"""Wakes workers when there is work. A hint only: a lost one costs a poll, nothing else.

Hints go to this process at once. Others hear by NOTIFY, sent after commit by a thread with
a connection of its own and at most once per 2 ms (inside the transaction it would take a
lock that all commits share); on SQLite they see a number that changes with every commit.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Set
from typing import TYPE_CHECKING, Protocol, TypeAlias, cast

from rushes.errors import Unavailable
from rushes.store.database import Database

if TYPE_CHECKING:
    from rushes.store.postgres import PostgresDatabase
    from rushes.store.sqlite import SqliteDatabase

log = logging.getLogger(__name__)

Wake: TypeAlias = Callable[[Set[str] | None], None]
"""What a listener is: it is told the lanes that may have work, None for any."""

COALESCE = 0.002
BUSY_POLL, IDLE_POLL, BUSY_FOR = 0.005, 0.02, 60.0
RECONNECT = 1.0


class Notifier(Protocol):
    """Tells this process and others that lanes have work."""

    def hint(self, lanes: set[str]) -> None: ...

    def listen(self, wake: Wake) -> None:
        """Call `wake`, from any thread, whenever there may be work."""

    def close(self) -> None: ...


def open_notifier(db: Database) -> Notifier:
    """Return the notifier that fits the database, wired to its commits."""
    notifier: Notifier = (
        PostgresNotifier(cast("PostgresDatabase", db))
        if db.dialect == "postgres"
        else SqliteNotifier(cast("SqliteDatabase", db))
    )
    db.on_commit = notifier.hint
    return notifier


class _Local:
    """The part within the process: whoever listens here is called at once."""

    def __init__(self) -> None:
        self._listeners: list[Wake] = []
        self._closed = threading.Event()
        self._threads: list[threading.Thread] = []

    def wake(self, lanes: Set[str] | None = None) -> None:
        for listener in self._listeners:
            listener(lanes)

    def close(self) -> None:
        self._closed.set()
        for thread in self._threads:
            thread.join(timeout=5)

    def _start(self, target: Callable[[], None], name: str) -> None:
        thread = threading.Thread(target=target, name=name, daemon=True)
        self._threads.append(thread)
        thread.start()


class SqliteNotifier(_Local):
    def __init__(self, db: SqliteDatabase) -> None:
        super().__init__()
        self._db = db

    def hint(self, lanes: set[str]) -> None:
        self.wake(lanes)

    def listen(self, wake: Wake) -> None:
        self._listeners.append(wake)
        if not self._threads:
            self._start(self._watch, "rushes-watch")

    def _watch(self) -> None:
        """Look often while something happened in the last minute, seldom otherwise."""
        seen, changed, pause = -1, time.monotonic(), BUSY_POLL
        while not self._closed.wait(pause):
            try:
                version = self._db.data_version()
            except Unavailable as error:
                log.info("cannot see what others do: %s", error)
                pause = RECONNECT
                continue
            if version != seen:
                seen, changed = version, time.monotonic()
                self.wake()
            pause = BUSY_POLL if time.monotonic() - changed < BUSY_FOR else IDLE_POLL


class PostgresNotifier(_Local):
    def __init__(self, db: PostgresDatabase) -> None:
        super().__init__()
        self._db = db
        self._pending = threading.Event()
        self._lanes: set[str] = set()
        self._lock = threading.Lock()

    def hint(self, lanes: set[str]) -> None:
        self.wake(lanes)
        if not any(thread.name == "rushes-notify" for thread in self._threads):
            self._start(self._send, "rushes-notify")
        with self._lock:
            self._lanes |= lanes
        self._pending.set()

    def listen(self, wake: Wake) -> None:
        self._listeners.append(wake)
        self._start(self._receive, "rushes-listen")

    def close(self) -> None:
        self._closed.set()
        self._pending.set()
        super().close()

    def _send(self) -> None:
        while not self._closed.is_set():
            try:
                with self._db.connect() as connection:
                    while not self._closed.is_set():
                        self._pending.wait()
                        self._pending.clear()
                        with self._lock:
                            lanes, self._lanes = self._lanes, set()
                        if lanes:
                            self._db.announce(connection, lanes)
                        self._closed.wait(COALESCE)
            except Exception as error:  # hints are never worth a crash; polling goes on
                log.info("notifier reconnects: %s", error)
                self._closed.wait(RECONNECT)

    def _receive(self) -> None:
        while not self._closed.is_set():
            try:
                with self._db.connect() as connection:
                    self._db.subscribe(connection)
                    self.wake()  # what was announced while nobody listened
                    while not self._closed.is_set():
                        for told in connection.notifies(timeout=0.5, stop_after=1):
                            self.wake(set(told.payload.split(",")) if told.payload else None)
            except Exception as error:
                log.info("listener reconnects: %s", error)
                self._closed.wait(RECONNECT)
