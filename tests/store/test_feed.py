"""The feed: a reader that resumes by its cursor misses nothing, whoever writes meanwhile."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from rushes.domain.event import Event
from rushes.errors import Invalid
from rushes.store import events
from rushes.store.database import Database
from tests.world import World, quieten, sql

on_postgres = pytest.mark.parametrize(
    "db", [pytest.param("postgres", marks=pytest.mark.postgres)], indirect=True
)
WRITE = "INSERT INTO events (type, at, data) VALUES ('{type}', 0, '{{}}')"


@on_postgres
def test_no_reader_passes_a_writer_that_has_not_committed(world: World):
    """000-126: its row has a smaller number, and becomes visible after the others."""
    with world.db.connect() as writer:
        writer.execute("BEGIN")
        writer.execute(WRITE.format(type="early"))
        sql(world.db, WRITE.format(type="late"))
        before = _types(_read(world.db))
        writer.execute("COMMIT")
    quieten(world.db)

    assert before == []
    assert _types(_read(world.db)) == ["early", "late"]


@on_postgres
def test_reader_at_the_end_of_the_feed_does_not_miss_a_writer_that_was_there_first(world: World):
    """000-126."""
    with world.db.connect() as writer:
        writer.execute("BEGIN")
        writer.execute(WRITE.format(type="early"))
        cursor = world.db.read(events.end)
        sql(world.db, WRITE.format(type="late"))
        writer.execute("COMMIT")
    quieten(world.db)

    assert _types(_read(world.db, cursor)) == ["early", "late"]


def test_reader_that_follows_its_cursor_sees_every_event_once(world: World):
    """000-063, 000-126: four writers at once, one reader that never waits for them."""
    finished = threading.Event()

    def write(name: int) -> None:
        for _ in range(25):
            world.submit(label=str(name))

    def follow() -> list[Event]:
        seen: list[Event] = []
        while True:
            is_last = finished.is_set()
            seen += _read(world.db, seen[-1].cursor if seen else events.BEGINNING)
            if is_last:
                return seen

    with ThreadPoolExecutor(5) as pool:
        reader = pool.submit(follow)
        for writer in [pool.submit(write, name) for name in range(4)]:
            writer.result()
        quieten(world.db)
        finished.set()
        followed = reader.result()

    assert len(followed) == 100
    assert [event.cursor for event in followed] == [event.cursor for event in _read(world.db)]


def test_reader_may_start_now_and_see_only_what_comes(world: World):
    world.submit()
    quieten(world.db)
    cursor = world.db.read(events.end)

    job_id = world.submit()
    quieten(world.db)

    assert [event.job_id for event in _read(world.db, cursor)] == [job_id]


def test_reader_may_follow_one_job(world: World):
    world.submit()
    job_id = world.submit()

    followed = world.events(job_id)

    assert [(event.job_id, event.type) for event in followed] == [(job_id, "job.submitted")]


def test_page_of_the_feed_ends_where_the_next_begins(world: World):
    for _ in range(5):
        world.submit()
    quieten(world.db)

    first = world.db.read(lambda tx: events.after(tx, limit=3))
    second = _read(world.db, first[-1].cursor)

    assert [len(first), len(second)] == [3, 2]
    assert [*first, *second] == _read(world.db)


@pytest.mark.parametrize(
    "cursor",
    [
        *("", "0", "0-", "-0", "0-0-0", "1-1 ", "a-b", "0x1-1", "-1--1", "1.5-1", "٣-٣", "1-1\n"),
        *("9" * 20 + "-1", "1-" + "9" * 19, "0-0; DROP TABLE events"),
    ],
)
def test_forged_cursor_is_refused_in_one_line(db: Database, cursor: str):
    with pytest.raises(Invalid, match="not a cursor") as refused:
        _read(db, cursor)

    assert "\n" not in refused.value.message


@pytest.mark.parametrize("cursor", ["0-0", "9999999999999999999-999999999999999999"])
def test_largest_and_smallest_cursor_are_read(db: Database, cursor: str):
    assert _read(db, cursor) == []


def _read(db: Database, cursor: str = events.BEGINNING) -> list[Event]:
    return db.read(lambda tx: events.after(tx, cursor))


def _types(found: list[Event]) -> list[str]:
    return [event.type for event in found]
