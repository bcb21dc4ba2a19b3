"""Live events: one thread reads the feed for everybody who listens in this process.

    feed --one reader--> ring of the newest --> streams, each at its own pace
      `--pages, for a stream that begins further back--^

A listener is a number in the ring, so a slow one costs nothing; one that the ring has passed has
to load again. The ring holds all events after its `floor` and up to its `head`, both places in the
feed, before which nothing will ever appear. Whoever has all up to a place between the two can go
on from the ring: without a gap, and without an event twice.

Progress is no event: it is read from the running tasks, at most four times a second, and stands in
the ring without a cursor of its own.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from bisect import bisect_right
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

from rushes.api import models
from rushes.engine.notify import Notifier
from rushes.errors import Unavailable
from rushes.library.library import Library
from rushes.settings import Settings
from rushes.store import events
from rushes.store.database import Transaction
from rushes.store.events import Live, Moving, Place

log = logging.getLogger(__name__)

MOST_EVENTS, MOST_BYTES = 10_000, 64_000_000
MOST_STREAMS = 2_000
PAGE = 500
COALESCE = 0.01  # seconds between two reads at least
BUSY_POLL, POLL, BUSY_FOR = 0.1, 1.0, 5.0
PROGRESS_EVERY = 0.25
IDLE = (0, None, None)  # the progress of a task that has not moved yet

Moved = dict[int, tuple[int, str | None, str | None]]
"""How far tasks were at the last look: progress, phase and message by id."""


class Topic(StrEnum):
    JOBS = "jobs"
    TASKS = "tasks"
    WORKERS = "workers"
    QUEUE = "queue"
    VIDEOS = "videos"


TOPIC_OF = {
    "job": Topic.JOBS,
    "task": Topic.TASKS,
    "worker": Topic.WORKERS,
    "kind": Topic.QUEUE,
    "video": Topic.VIDEOS,
    "clip": Topic.VIDEOS,
}


class LiveEvent(models.Model):
    """What a stream tells. Progress has no number: it cannot be asked for again."""

    event_id: int | None
    at: models.Time
    type: str
    job_id: str | None
    asset_id: str | None
    data: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One event as it is sent, and what decides who gets it. Progress has the place before it."""

    place: Place
    has_id: bool
    topic: Topic | None
    owner: str | None
    job_id: str | None
    asset_id: str | None
    text: bytes

    def is_after(self, place: Place) -> bool:
        """Whether it is news for somebody who has all up to `place`."""
        return self.place > place or not self.has_id


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What a listener wants to hear and may; an `owner` of None hears of everybody's."""

    owner: str | None
    topics: frozenset[Topic] = frozenset(Topic)
    job_id: str | None = None
    asset_id: str | None = None

    def wants(self, entry: Entry) -> bool:
        return (
            entry.topic in self.topics
            and self.owner in (None, entry.owner)
            and self.job_id in (None, entry.job_id)
            and self.asset_id in (None, entry.asset_id)
        )


class Page(NamedTuple):
    """What the database has after a place; all up to `place` is in it. A `reset` says: load anew,
    and go on from there."""

    entries: Sequence[Entry]
    place: Place
    reset: bool = False


class Ring:
    """The newest entries. Numbers grow for ever; `first` is that of the oldest kept."""

    def __init__(self, start: Place, *, most: int, most_bytes: int = MOST_BYTES) -> None:
        self.floor = self.head = start
        self.first = 0
        self._most, self._most_bytes = most, most_bytes
        self._bytes = 0
        self._entries: deque[Entry] = deque()

    @property
    def next(self) -> int:
        return self.first + len(self._entries)

    def add(self, entries: Iterable[Entry]) -> None:
        for entry in entries:
            self._entries.append(entry)
            self._bytes += len(entry.text)
            self.head = entry.place
        while len(self._entries) > self._most or self._bytes > self._most_bytes:
            oldest = self._entries.popleft()
            self._bytes -= len(oldest.text)
            self.floor = oldest.place
            self.first += 1

    def find(self, place: Place) -> int:
        """Return the number of the first entry after `place`."""
        return self.first + bisect_right(self._entries, place, key=lambda entry: entry.place)

    def take(self, number: int, n: int) -> list[Entry] | None:
        """Return up to `n` entries from `number` on. None: it is not here any more."""
        if number < self.first:
            return None
        return [self._entries[at - self.first] for at in range(number, min(number + n, self.next))]


class Hub:
    """The one reader of the feed, and what its listeners need. Made once per process."""

    def __init__(
        self, library: Library, notifier: Notifier, settings: Settings, *, most: int = MOST_EVENTS
    ) -> None:
        self.heartbeat, self.retry = settings.sse_heartbeat, settings.sse_retry
        self._db, self._notifier, self._most = library.db, notifier, most
        self._lock = threading.Lock()
        self._listeners = 0
        self._ring: Ring | None = None
        self._thread: threading.Thread | None = None
        self._woken = threading.Event()
        self._closed = threading.Event()
        self._pulses: dict[asyncio.AbstractEventLoop, asyncio.Event] = {}
        self._moved: Moved = {}
        self._progress_at = 0.0

    @property
    def is_closed(self) -> bool:
        return self._closed.is_set()

    @property
    def head(self) -> Place | None:
        """The place up to which the ring has everything; None while nothing was read."""
        with self._lock:
            return self._ring.head if self._ring else None

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Have the feed read meanwhile. Raises Unavailable when too many listen, or at the end."""
        with self._lock:
            if self.is_closed or self._listeners >= MOST_STREAMS:
                raise Unavailable("no more streams of events can be opened now", retry_after=5)
            self._listeners += 1
            self._start()
        self._woken.set()
        try:
            yield
        finally:
            with self._lock:
                self._listeners -= 1
            self._woken.set()

    def pulse(self) -> asyncio.Event:
        """Return what is set, in the loop that asks, when there is more. Ask before you look."""
        return self._pulses.setdefault(asyncio.get_running_loop(), asyncio.Event())

    def find(self, place: Place, *, known: bool) -> int | None:
        """Return the number from which a listener at `place` goes on; None: it has to read first.

        A place behind the head is one of another server, which was faster, if it is `known`.
        """
        with self._lock:
            if self._ring is None or place < self._ring.floor:
                return None
            return self._ring.find(place) if known or place <= self._ring.head else None

    def take(self, number: int, n: int) -> list[Entry] | None:
        """Return entries from `number` on. None: the ring has passed it."""
        with self._lock:
            return self._ring.take(number, n) if self._ring else None

    def page(self, place: Place, *, known: bool) -> Page:
        """Read from the database what comes after `place`. Blocks."""
        head = self.head or place  # before the read: what the ring has by now is in the page

        def work(tx: Transaction) -> Page:
            if not known:
                end, gone, ahead = events.standing(tx, place)
                if gone or ahead:
                    return Page([], end, reset=True)
            entries = [_entry(found) for found in events.live(tx, place, limit=PAGE)]
            last = entries[-1].place if entries else place
            return Page(entries, last if len(entries) == PAGE else max(last, head))

        return self._db.read(work)

    def close(self) -> None:
        """Let every stream end at once."""
        self._closed.set()
        self._woken.set()
        self._beat()
        if self._thread is not None:
            self._thread.join(timeout=5)

    def _start(self) -> None:
        if self._thread is None:
            self._notifier.listen(lambda _: self._woken.set())
            self._thread = threading.Thread(target=self._run, name="rushes-feed", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        heard, is_away = 0.0, False
        while not self.is_closed:
            self._woken.wait(self._patience(heard))
            self._woken.clear()
            try:
                if self._is_wanted() and self._read():
                    heard = time.monotonic()
                is_away = False
            except Exception as error:  # noqa: BLE001  (listeners wait for the database to return)
                if not is_away:
                    log.warning("the feed cannot be read: %s", error)
                is_away = True
            self._closed.wait(COALESCE)

    def _patience(self, heard: float) -> float | None:
        """Return how long to wait for a hint: not all that happens gives one."""
        if not self._listeners:
            return None
        return BUSY_POLL if time.monotonic() - heard < BUSY_FOR else POLL

    def _is_wanted(self) -> bool:
        """Whether anybody listens. If nobody does, whoever comes next begins with a new ring."""
        with self._lock:
            if not self._listeners:
                self._ring = None
                self._moved = {}
            return self._listeners > 0

    def _read(self) -> bool:
        """Read once. Returns whether there was something."""
        head = self.head
        if head is None:
            start = Place.of(self._db.read(events.end))
            with self._lock:
                self._ring = Ring(start, most=self._most)
            self._beat()
            return True
        is_due = time.monotonic() >= self._progress_at
        entries, moved = self._db.read(lambda tx: self._news(tx, head, progress=is_due))
        if is_due:
            self._progress_at, self._moved = time.monotonic() + PROGRESS_EVERY, moved
        if len(entries) >= PAGE:
            self._woken.set()  # there is more
        if entries:
            with self._lock:
                if self._ring is not None:
                    self._ring.add(entries)
            self._beat()
        return bool(entries)

    def _news(self, tx: Transaction, head: Place, *, progress: bool) -> tuple[list[Entry], Moved]:
        """Return what is new, and how far everything is. Changes nothing: it may be repeated."""
        entries = [_entry(found) for found in events.live(tx, head, limit=PAGE)]
        if not progress:
            return entries, {}
        running = {task: (task.progress, task.phase, task.message) for task in events.moving(tx)}
        moved = [task for task in running if running[task] != self._moved.get(task.id, IDLE)]
        percents = events.percents(tx, {task.job_id for task in moved}) if moved else {}
        place = entries[-1].place if entries else head
        entries += [_progress(task, place, percents.get(task.job_id, 0)) for task in moved]
        return entries, {task.id: state for task, state in running.items()}

    def _beat(self) -> None:
        """Wake every stream: one call per loop, however many there are."""
        for loop in list(self._pulses):
            try:
                loop.call_soon_threadsafe(self._set, loop)
            except RuntimeError:  # a loop that is closed has no streams
                self._pulses.pop(loop, None)

    def _set(self, loop: asyncio.AbstractEventLoop) -> None:
        pulse = self._pulses.pop(loop, None)
        if pulse is not None:
            pulse.set()


def block(type: str, data: str, *, id: Place | None = None) -> bytes:
    """Return an event as it goes over the wire."""
    cursor = f"id: {id}\n" if id is not None else ""
    return f"{cursor}event: {type}\ndata: {data}\n\n".encode()


def _entry(found: Live) -> Entry:
    event = found.event
    return _told(
        found.place,
        found.owner,
        event_id=found.place.id,
        at=event.at,
        type=event.type,
        job_id=event.job_id,
        asset_id=found.asset_id,
        data=event.data,
    )


def _progress(task: Moving, place: Place, percent: int) -> Entry:
    return _told(
        place,
        task.owner,
        event_id=None,
        at=task.at,
        type="task.progress",
        job_id=task.job_id,
        asset_id=task.asset_id,
        data={
            "task_id": task.id,
            "step": task.step,
            "item": task.item,
            "progress": task.progress,
            "phase": task.phase,
            "message": task.message,
            "percent": percent,
        },
    )


def _told(place: Place, owner: str | None, **fields: Any) -> Entry:
    told = LiveEvent(**fields)
    has_id = told.event_id is not None
    return Entry(
        place=place,
        has_id=has_id,
        topic=TOPIC_OF.get(told.type.partition(".")[0]),
        owner=owner,
        job_id=told.job_id,
        asset_id=told.asset_id,
        text=block(told.type, told.model_dump_json(), id=place if has_id else None),
    )
