"""Hints that there is work: at once in this process, soon in others, never the truth."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Set
from contextlib import closing

import pytest

from rushes.engine.notify import open_notifier
from rushes.errors import Unavailable
from rushes.store.database import Database, ignore, open_database
from rushes.store.sqlite import SqliteDatabase
from tests.kinds import KINDS
from tests.world import World

PATIENCE = 30


@pytest.fixture
def other(db: Database) -> Iterator[World]:
    """Another process's view of the same database."""
    with closing(open_database(db.url)) as database:
        yield World(database, KINDS)


def test_worker_of_this_process_is_woken_in_the_commit(world: World):
    """000-045."""
    woken: list[tuple[str, Set[str] | None]] = []

    with closing(open_notifier(world.db)) as notifier:
        notifier.listen(lambda lanes: woken.append((threading.current_thread().name, lanes)))
        woken.clear()
        world.submit()
    world.db.on_commit = ignore

    assert (threading.current_thread().name, {"default"}) in woken


def test_worker_of_another_process_is_woken(world: World, other: World):
    """000-045, 000-044."""
    woken = threading.Event()
    told: list[Set[str] | None] = []

    def wake(lanes: Set[str] | None) -> None:
        told.append(lanes)
        woken.set()

    with closing(open_notifier(world.db)), closing(open_notifier(other.db)) as listening:
        listening.listen(wake)
        if world.db.dialect == "postgres":
            assert woken.wait(PATIENCE)  # it listens now, and wakes for what it may have missed
            woken.clear()
        world.submit()
        while not woken.wait(0.5):
            world.submit()  # the watcher of SQLite may have started to look only after the first
    world.db.on_commit = ignore

    assert len(other.claim(other.worker(), 10)) > 0
    assert told[-1] == ({"default"} if world.db.dialect == "postgres" else None)


class Away(SqliteDatabase):
    """A database that cannot be read at the first look."""

    looks = 0

    def data_version(self) -> int:
        self.looks += 1
        if self.looks == 1:
            raise Unavailable("the database cannot be read")
        return super().data_version()


def test_watcher_outlives_a_database_that_is_away(sqlite_url: str):
    woken = threading.Event()

    with closing(Away(sqlite_url)) as database, closing(open_notifier(database)) as notifier:
        notifier.listen(lambda _lanes: woken.set())

        assert woken.wait(PATIENCE)
        assert database.looks > 1


def test_what_nobody_hears_is_still_there(world: World, other: World):
    """002-001, 003-046: the database is the queue; a hint that is lost costs a poll."""
    world.submit()

    assert len(other.claim(world.worker())) == 1
