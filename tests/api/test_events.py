"""Live events: everybody hears all that is theirs, once and in order, whatever breaks meanwhile."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path
from random import Random
from typing import Any

import httpx
import pytest

from rushes.api import sse
from rushes.api.routers import events as routes
from rushes.api.run import serving
from rushes.api.sse import Entry, Ring, Wish
from rushes.domain.person import LOCAL
from rushes.engine import operator
from rushes.library import clips, edit, keys
from rushes.store import events
from rushes.store.database import Database
from rushes.store.events import Place
from tests.api.stream import Reader, Stage, opened, parse
from tests.library.studio import Studio
from tests.waiting import until
from tests.world import World, quieten, sql

CUTS, FEWER, WRITERS = 200, 30, 8


@pytest.fixture
def studio(db: Database, tmp_path: Path) -> Studio:
    return Studio(db, tmp_path / "data")


@pytest.fixture
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    """An event loop that runs beside the test, as that of a server does."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    yield loop
    asyncio.run_coroutine_threadsafe(_cancel_all(), loop).result(30)
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


@pytest.fixture
def place(studio: Studio, loop: asyncio.AbstractEventLoop) -> Iterator[Stage]:
    with opened(studio, loop) as place:
        yield place


@pytest.mark.parametrize("in_company", [False, True])
def test_reader_cut_off_again_and_again_misses_nothing_and_gets_nothing_twice(
    world: World, studio: Studio, loop: asyncio.AbstractEventLoop, in_company: bool
):
    """000-126: eight writers; on PostgreSQL two hundred cuts, at any byte.

    Alone, a reader comes back to a new ring and reads from the database; in the company of one who
    stays, it goes on from the ring.
    """
    random, finished, heard = Random(4), threading.Event(), []

    def write(name: int) -> None:
        owner = world.worker(f"worker-{name}")
        while not finished.is_set():
            world.submit(label=str(name))
            world.finish(owner)

    with opened(studio, loop) as place, ThreadPoolExecutor(WRITERS) as pool, ExitStack() as stack:
        company = place.reader().__enter__()
        stack.callback(company.leave)
        start = cursor = company.cursor
        if not in_company:
            company.leave()
        writers = [pool.submit(write, name) for name in range(WRITERS)]
        for _ in range(CUTS if world.db.dialect == "postgres" and not in_company else FEWER):
            enough = random.randrange(1, 3_000)
            with place.reader(last=cursor) as reader:
                until(lambda: len(reader.received) >= enough)  # noqa: B023
            told, reached = parse(reader.received[:enough])
            heard += [one["id"] for one in told if "id" in one]
            cursor = reached or cursor
        finished.set()
        for writer in writers:
            writer.result()
        quieten(world.db)
        expected = _cursors(world.db, start)
        with place.reader(last=cursor) as reader:
            heard += reader.ids(len(expected) - len(heard))

        assert heard == expected
        assert len(expected) > 100
        if in_company:
            until(lambda: company.ids() == expected)


def test_reader_further_back_than_the_ring_gets_all_from_the_database(
    world: World, studio: Studio, loop: asyncio.AbstractEventLoop
):
    """000-126: several pages, while more is written."""
    for number in range(1_200):
        _write(world.db, f"job.{number}")

    with opened(studio, loop, most=200) as place, place.reader(since="0-0") as reader:
        for number in range(100):
            _write(world.db, f"job.more.{number}")
        place.hub._woken.set()
        ids = reader.ids(1_300)

        quieten(world.db)
        assert ids == _cursors(world.db)


def test_reader_of_a_server_that_was_faster_hears_nothing_twice(
    world: World, studio: Studio, loop: asyncio.AbstractEventLoop
):
    """000-126: its cursor lies behind what this server has read so far."""
    with opened(studio, loop, sse_heartbeat=0.2) as place, place.reader():
        place.fault.is_feed_away = True
        world.submit()
        quieten(world.db)
        cursor = _cursors(world.db)[-1]
        with place.reader(last=cursor) as reader:
            reader.wait(lambda: b"keep-alive" in reader.received)
            place.fault.is_feed_away = False
            world.submit()

            [told] = reader.told(1)
            quieten(world.db)
            assert told["id"] == _cursors(world.db)[-1] != cursor


def test_reader_who_has_everything_asks_the_database_once(world: World, place: Stage):
    world.submit()
    quieten(world.db)

    with place.reader(last=_cursors(world.db)[-1]) as reader:
        time.sleep(0.3)
        asked = place.fault.reads
        world.submit()
        reader.told(1)

    assert asked <= 4  # who comes, what they want, what is new


def test_new_reader_hears_only_what_happens_from_now_on(world: World, place: Stage):
    world.submit()
    quieten(world.db)

    with place.reader() as reader:
        job_id = world.submit(label="new")
        [told] = reader.told(1)

    assert (told["event"], told["data"]["job_id"]) == ("job.submitted", job_id)
    assert told["id"].endswith(f"-{told['data']['event_id']}")


def test_each_owner_hears_of_their_own_jobs_only(world: World, place: Stage):
    """000-126, 002-061: nothing of others, nothing of workers; an admin hears of all."""
    ann, bob = place.house.user("ann"), place.house.user("bob")
    with (
        place.reader(place.house.key(ann)) as hers,
        place.reader(place.house.key(bob)) as his,
        place.reader() as all_,
    ):
        jobs = [world.submit(owner=owner) for owner in (ann.id, bob.id, None, ann.id)]
        operator.pause(world.engine, "noop", by="op")
        world.worker("new")
        world.submit(owner=bob.id, label="last")
        heard = [told["data"]["job_id"] for told in all_.told(7)]

        assert heard[:4] == jobs
        assert [told["data"]["job_id"] for told in hers.told(2)] == [jobs[0], jobs[3]]
        assert [told["data"]["job_id"] for told in his.told(2)] == [jobs[1], heard[6]]
        assert {told["event"] for told in all_.told()} == {
            *("job.submitted", "kind.paused", "worker.started")
        }


def test_owner_hears_what_people_do_to_their_films(studio: Studio, place: Stage):
    """000-126: names, deleted films and clips change in every window; nobody else hears of it."""
    ann, bob = place.house.user("ann"), place.house.user("bob")
    film = studio.add(owner=ann.id).asset_id
    studio.finish()
    quieten(studio.db)
    with (
        place.reader(place.house.key(ann), topics="videos", video=film) as hers,
        place.reader(place.house.key(bob), topics="videos") as his,
    ):
        wish = clips.Wish(t_start=5_000, t_end=8_000)
        asked = clips.request(studio.library, studio.asset(film), wish)
        clips.delete(studio.library, asked.clip)
        edit.edit(studio.library, film, title="A night")
        edit.delete(studio.library, film)
        edit.restore(studio.library, film)
        told = hers.told(4)

        assert [one["event"] for one in told] == [
            *("clip.deleted", "video.changed", "video.deleted", "video.restored")
        ]
        assert {one["data"]["asset_id"] for one in told} == {film}
        assert told[0]["data"]["data"]["clip_id"] == asked.clip.id
        assert his.told() == []


def test_job_that_is_not_yours_is_not_there(studio: Studio, place: Stage):
    """B-HTTP-19."""
    ann = place.house.user("ann")
    theirs = studio.add(owner=place.house.user("bob").id)
    visitor = place.house.visitor(place.house.key(ann))

    for query in (f"job={theirs.job_id}", f"video={theirs.asset_id}", "job=ffff", "job="):
        visitor.problem("GET", f"/api/events?{query}", 404)
    visitor.problem("GET", "/api/events?topics=workers", 403)
    place.house.visitor().problem("GET", "/api/events", 401)


@pytest.mark.parametrize(
    "query, headers",
    [
        ("topics=jobs,films", {}),
        ("topics=", {}),
        ("since=x", {}),
        ("since=1-1%0A", {}),
        ("since=" + "9" * 20 + "-1", {}),
        ("", {"Last-Event-ID": "1-2-3"}),
        ("since=0-0", {"Last-Event-ID": "-1"}),
    ],
)
def test_malformed_question_is_refused(place: Stage, query: str, headers: dict[str, str]):
    """B-HTTP-19: forged cursors and topics that do not exist."""
    place.house.admin.problem("GET", f"/api/events?{query}", 422, headers=headers)


def test_reader_may_choose_topics_a_job_or_a_film(studio: Studio, world: World, place: Stage):
    added = studio.add()
    quieten(studio.db)
    with (
        place.reader(topics="queue,jobs") as some,
        place.reader(job=added.job_id) as of_job,
        place.reader(video=added.asset_id) as of_film,
    ):
        operator.pause(world.engine, "noop", by="op")
        studio.do("probe")
        for job_id in (world.submit(), added.job_id):
            operator.kill(studio.engine, job_id, name="op")
        for reader in (of_job, of_film):
            until(lambda: "job.killed" in [told["event"] for told in reader.told()])  # noqa: B023

        assert {told["data"]["job_id"] for told in of_job.told()} == {added.job_id}
        assert {told["data"]["asset_id"] for told in of_film.told()} == {added.asset_id}
        assert [told["id"] for told in of_film.told()] == of_job.ids()
        kinds = {told["event"].partition(".")[0] for told in some.told(5)}
        assert kinds == {"job", "kind"}


def test_cursor_that_is_older_than_what_is_kept_gets_one_reset(world: World, place: Stage):
    for _ in range(4):
        world.submit()
    quieten(world.db)
    old = _cursors(world.db)[0]
    sql(world.db, "DELETE FROM events WHERE id <= 3")

    with place.reader(last=old) as reader:
        [reset] = reader.told(1)
        again = reader.cursor
        world.submit()
        _, told = reader.told(2)

    assert (reset["event"], reset["id"]) == ("reset", again)
    quieten(world.db)
    assert told["id"] == _cursors(world.db)[-1]
    with place.reader(last=again) as reader:
        assert reader.ids(1) == [told["id"]]


def test_cursor_next_to_what_is_kept_needs_no_reset(world: World, place: Stage):
    for _ in range(4):
        world.submit()
    quieten(world.db)
    cursors = _cursors(world.db)
    sql(world.db, "DELETE FROM events WHERE id <= 2")

    with place.reader(last=cursors[2]) as reader:
        assert reader.ids(2) == cursors[3:]


@pytest.mark.parametrize(
    "cursor", ["9999999999999999999-1", "9999999999999999999-999999999999999999"]
)
def test_cursor_of_another_database_gets_one_reset(world: World, place: Stage, cursor: str):
    with place.reader(last=cursor) as reader:
        [reset] = reader.told(1)
        world.submit()
        _, told = reader.told(2)

    assert (reset["event"], told["event"]) == ("reset", "job.submitted")


def test_progress_is_told_without_an_id_and_with_the_percent_of_the_job(world: World, place: Stage):
    """000-063, 000-125: read from the task rows; it is no event, and cannot be asked for again."""
    ann = place.house.user("ann")
    job_id = world.submit(owner=ann.id)
    [claim] = world.claim(world.worker())
    with (
        place.reader(place.house.key(ann), topics="tasks") as hers,
        place.reader(place.house.key(place.house.user("bob"))) as his,
    ):
        world.beat(claim, progress=40, phase="half", message="going", moved=True)
        told = hers.told(1)[-1]
        world.complete(claim)
        hers.told(2)

        assert told["event"] == "task.progress"
        assert "id" not in told
        assert told["data"]["job_id"] == job_id
        assert told["data"]["data"] == {
            "task_id": claim.id,
            "step": "noop",
            "item": 0,
            "progress": 40,
            "phase": "half",
            "message": "going",
            "percent": 40,
        }
        assert his.told() == []


def test_progress_is_told_at_most_four_times_a_second(world: World, place: Stage):
    world.submit()
    [claim] = world.claim(world.worker())
    with place.reader(topics="tasks") as reader:
        began = time.monotonic()
        for percent in range(1, 100):
            world.beat(claim, progress=percent, moved=True)
            place.hub._woken.set()
            time.sleep(0.01)
        reader.wait(lambda: [t for t in reader.told() if t["data"]["data"].get("progress") == 99])
        lasted = time.monotonic() - began

    told = [told for told in reader.told() if told["event"] == "task.progress"]
    assert 2 <= len(told) <= lasted * 4 + 2


def test_reader_that_falls_behind_is_told_and_dropped(
    world: World, studio: Studio, loop: asyncio.AbstractEventLoop
):
    """F-LD-5: the ring does not wait for anybody, and keeps no more than it may."""
    with opened(studio, loop, most=100) as place:
        with place.reader() as slow, place.reader() as quick:
            slow.stop_reading()
            _write(world.db, "job.first")
            quick.told(1)
            for number in range(500):
                _write(world.db, f"job.{number}")
            quick.wait(lambda: quick.told()[-1]["event"] in ("job.499", "resync"))
            ring = place.hub._ring
            assert ring is not None
            assert ring.next - ring.first == 100

            slow.go_on_reading()
            slow.wait(slow.ended.done)

        assert slow.told()[-1]["event"] == "resync"
        assert "id" not in slow.told()[-1]
        assert slow.is_whole


def test_reader_that_takes_no_bytes_is_dropped(
    world: World, place: Stage, monkeypatch: pytest.MonkeyPatch
):
    """F-LD-5."""
    monkeypatch.setattr(routes, "STUCK", 0.2)
    stream = routes.Stream(place.hub, Wish(owner=None), None, may_stay=lambda: True)
    with Reader(stream, place.loop, place.admin) as stuck:
        stuck.stop_reading()
        world.submit()

        stuck.wait(stuck.ended.done)
        assert not stuck.is_whole


def test_ring_is_bounded_by_entries_and_by_bytes():
    ring = Ring(Place(0, 0), most=10, most_bytes=1_000)

    ring.add(_entries(range(1, 26), 1))
    many = (ring.first, ring.next, ring.floor, ring.head)
    ring.add(_entries([26], 995))

    assert many == (15, 25, Place(0, 15), Place(0, 25))
    assert (ring.first, ring.next) == (20, 26)
    assert ring.take(19, 5) is None
    assert [entry.place.id for entry in ring.take(24, 5) or ()] == [25, 26]
    assert ring.find(Place(0, 25)) == 25


def test_silent_stream_gives_signs_of_life_and_says_how_to_come_back(
    world: World, studio: Studio, loop: asyncio.AbstractEventLoop
):
    """000-127: both are settings. The cursor moves on also where nothing is told."""
    with opened(studio, loop, sse_heartbeat=0.2, sse_retry=7) as place:
        ann = place.house.user("ann")
        with place.reader(place.house.key(ann)) as reader:
            assert reader.received.startswith(b"retry: 7000\nid: ")
            world.submit()
            quieten(world.db)
            cursor = _cursors(world.db)[-1]
            reader.wait(lambda: reader.cursor == cursor)

        assert reader.told() == []
        assert b": keep-alive\nid: " in reader.received


def test_stream_outlives_a_database_that_is_away(
    world: World, studio: Studio, loop: asyncio.AbstractEventLoop
):
    """Streams stay open, keep-alives go on, and nothing is lost afterwards."""
    with opened(studio, loop, sse_heartbeat=0.2) as place:
        world.submit()
        quieten(world.db)
        with place.reader() as reader, place.reader(since="0-0") as behind:
            behind.told(1)
            place.fault.is_away = True
            for _ in range(3):
                world.submit()
            before = reader.received.count(b"keep-alive")
            reader.wait(lambda: reader.received.count(b"keep-alive") > before + 2)
            assert reader.told() == []
            place.fault.is_away = False

            ids, all_ids = reader.ids(3), behind.ids(5)
            quieten(world.db)
            assert all_ids == _cursors(world.db)
            assert ids == all_ids[2:]


def test_stream_that_cannot_begin_is_refused(place: Stage, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(routes, "PATIENCE", 0.2)
    place.fault.is_feed_away = True

    place.house.admin.problem("GET", "/api/events", 503)


def test_catching_up_waits_for_a_database_that_is_away(world: World, place: Stage):
    world.submit()
    quieten(world.db)
    with place.reader():
        reader = place.reader(since="0-0")
        place.fault.is_away = True
        until(lambda: reader.status)
        place.fault.is_away = False

        assert reader.status in (200, 503)
        if reader.status == 200:
            quieten(world.db)
            assert reader.ids(2) == _cursors(world.db)
        reader.leave()


def test_streams_end_at_once_when_the_server_does(place: Stage):
    """F-API-4: with a hint when to come back."""
    readers = [place.reader() for _ in range(20)]
    for reader in readers:
        reader.__enter__()

    began = time.monotonic()
    place.hub.close()
    for reader in readers:
        reader.ended.result(10)

    assert time.monotonic() - began < 5
    assert all(reader.is_whole for reader in readers)
    assert all(reader.received.endswith(b"retry: 3000\n\n") for reader in readers)
    place.house.admin.problem("GET", "/api/events", 503)


def test_streams_are_not_without_number(place: Stage, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sse, "MOST_STREAMS", 1)

    with place.reader():
        place.house.admin.problem("GET", "/api/events", 503)
    with place.reader() as reader:
        assert reader.status == 200


def test_stream_ends_when_its_key_does(studio: Studio, loop: asyncio.AbstractEventLoop):
    with opened(studio, loop, sse_heartbeat=0.2) as place:
        key = place.house.key(place.house.user("ann"))
        with place.reader(key) as reader, place.reader() as other:
            found = keys.check_key(studio.db, key)
            assert found is not None
            assert found.key_id is not None
            keys.revoke_key(studio.db, LOCAL, found.key_id)

            reader.wait(reader.ended.done)
            assert reader.is_whole
            assert not other.ended.done()


def test_hundreds_of_readers_hear_the_same_of_one_thread(world: World, place: Stage):
    """F-LD-5: one reader of the feed, however many listen."""
    many = 500 if world.db.dialect == "sqlite" else 50
    readers = [place.reader() for _ in range(many)]
    for reader in readers:
        reader.__enter__()

    world.submit()
    heard = [reader.ids(1) for reader in readers]
    for reader in readers:
        reader.leave()

    quieten(world.db)
    assert heard == [_cursors(world.db)[-1:]] * many
    threads = [thread.name for thread in threading.enumerate()]
    assert threads.count("rushes-feed") == 1


def test_nobody_listens_and_nothing_is_read(place: Stage):
    with place.reader():
        assert place.hub.head is not None

    until(lambda: place.hub.head is None)


def test_stream_over_a_real_connection(world: World, place: Stage):
    """000-126: what a proxy needs, and an end that the reader notices."""
    headers = {"Authorization": f"Bearer {place.admin}"}
    with (
        serving(place.house.application, "127.0.0.1", 0) as address,
        httpx.stream("GET", f"{address}/api/events", headers=headers, timeout=30) as answer,
    ):
        lines = answer.iter_lines()
        assert next(lines).startswith("retry: ")
        job_id = world.submit()
        event = next(line for line in lines if line.startswith("data: "))
        place.hub.close()
        rest = list(lines)

    assert answer.headers["content-type"].startswith("text/event-stream")
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["x-accel-buffering"] == "no"
    assert job_id in event
    assert "retry: 3000" in rest


def test_hundreds_of_streams_leave_the_door_open(place: Stage):
    """F-LD-5: whoever listens does not keep others out."""
    headers = f"Host: x\r\nAuthorization: Bearer {place.admin}\r\n\r\n"
    with serving(place.house.application, "127.0.0.1", 0) as address, ExitStack() as stack:
        door = ("127.0.0.1", int(address.rpartition(":")[2]))
        for _ in range(150):
            line = stack.enter_context(closing(socket.create_connection(door, timeout=30)))
            line.sendall(f"GET /api/events HTTP/1.1\r\n{headers}".encode())
            assert line.recv(20).startswith(b"HTTP/1.1 200")

        assert httpx.get(f"{address}/livez", timeout=30).status_code == 200
        place.hub.close()


async def _cancel_all() -> None:
    """Leave no stream behind, also after a test that failed."""
    streams = asyncio.all_tasks() - {asyncio.current_task()}
    for stream in streams:
        stream.cancel()
    await asyncio.gather(*streams, return_exceptions=True)


def _write(db: Database, type: str) -> None:
    db.transact(
        lambda tx: tx.run("add_events", events=[{"job_id": None, "type": type, "data": "{}"}])
    )


def _cursors(db: Database, after: str = events.BEGINNING) -> list[str]:
    found = db.read(lambda tx: events.after(tx, after, limit=1_000_000))
    return [event.cursor for event in found]


def _entries(ids: Any, size: int) -> list[Entry]:
    return [
        Entry(
            place=Place(0, id),
            has_id=True,
            topic=None,
            owner=None,
            job_id=None,
            asset_id=None,
            text=b"x" * size,
        )
        for id in ids
    ]
