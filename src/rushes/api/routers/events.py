"""`/api/events`: what happens, as it happens (server-sent events).

A stream begins with the cursor that it starts from, and every sign of life carries the one that it
has reached: whoever comes back with it misses nothing, also if no event so far was for them.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Annotated, TypeVar

import anyio
import anyio.to_thread
from anyio.lowlevel import RunVar
from fastapi import APIRouter, Header, Query, Request
from fastapi.responses import Response
from pydantic import BaseModel, Field
from starlette.types import Receive, Send
from starlette.types import Scope as AsgiScope

from rushes.api.context import Here, Who, principal_of
from rushes.api.sse import Entry, Hub, Page, Topic, Wish, block
from rushes.domain.person import Principal, Scope
from rushes.errors import Forbidden, RushesError, Unauthenticated, Unavailable
from rushes.store import assets, jobs
from rushes.store.database import Transaction
from rushes.store.events import Place

router = APIRouter(tags=["events"])

T = TypeVar("T")

CURSOR = r"^[0-9]{1,19}-[0-9]{1,18}$"
TOPICS = rf"^({'|'.join(Topic)})(,({'|'.join(Topic)}))*$"
FOR_ADMINS = frozenset({Topic.WORKERS, Topic.QUEUE})
BATCH = 200
STUCK = 30.0  # seconds in which a reader takes nothing
PATIENCE = 5.0  # seconds that an answer waits for the database
AGAIN = 1.0  # seconds between two tries to read what the database did not give
READERS = 4  # streams that ask the database at once
RESET = json.dumps({"reason": "what came after this cursor is gone: load everything again"})
RESYNC = json.dumps({"reason": "the reader is too slow: load everything again"})

_readers: RunVar[anyio.CapacityLimiter] = RunVar("readers")


class Stuck(Exception):
    """The reader does not take what it is sent."""


class Stream(Response):
    """One reader's stream. It ends when the reader leaves, falls behind, or may not hear it."""

    media_type = "text/event-stream"

    def __init__(
        self, hub: Hub, wish: Wish, since: Place | None, *, may_stay: Callable[[], bool]
    ) -> None:
        super().__init__(headers={"X-Accel-Buffering": "no"})
        del self.headers["content-length"]
        self._hub, self._wish, self._since, self._may_stay = hub, wish, since, may_stay
        self._retry = f"retry: {hub.retry * 1000:.0f}\n"
        self._spoke_at = self._checked_at = time.monotonic()

    async def __call__(self, _scope: AsgiScope, receive: Receive, send: Send) -> None:
        self._send = send
        with self._hub.listening():
            self._place = await self._start()
            start = {"type": "http.response.start", "status": self.status_code}
            await send({**start, "headers": self.raw_headers})
            async with anyio.create_task_group() as group:

                async def watch() -> None:
                    while (await receive())["type"] != "http.disconnect":
                        pass
                    group.cancel_scope.cancel()

                group.start_soon(watch)
                await self._tell()
                group.cancel_scope.cancel()

    async def _start(self) -> Place:
        """Return where the stream begins: before anything that happens after its first byte."""
        with anyio.move_on_after(PATIENCE):
            while True:
                pulse, head = self._hub.pulse(), self._hub.head
                if head is not None:
                    return self._since or head
                await pulse.wait()
        raise Unavailable("the feed of events cannot be read now")

    async def _tell(self) -> None:
        try:
            await self._say(f"{self._retry}id: {self._place}\n\n".encode())
            await self._follow(await self._catch_up())
            await self._end(f"{self._retry}\n".encode())
        except Stuck:
            with anyio.move_on_after(1):
                await self._end(block("resync", RESYNC))

    async def _catch_up(self) -> int:
        """Tell what the ring does not have. Returns the number in the ring to go on with."""
        known = self._since is None
        while not self._hub.is_closed:
            number = self._hub.find(self._place, known=known)
            if number is not None:
                return number
            page = await self._ask(partial(self._hub.page, self._place, known=known))
            if page is None:
                await self._wait(asyncio.Event(), AGAIN)
            else:
                known = True
                await self._tell_page(page)
        return 0

    async def _tell_page(self, page: Page) -> None:
        if page.reset:
            await self._say(block("reset", RESET, id=page.place))
        await self._tell_entries(page.entries)
        self._place = page.place

    async def _follow(self, number: int) -> None:
        """Tell what the ring has and gets, until there is a reason to stop."""
        joined = self._place
        while not self._hub.is_closed and await self._is_welcome():
            pulse = self._hub.pulse()
            entries = self._hub.take(number, BATCH)
            if entries is None:
                await self._say(block("resync", RESYNC))
                return
            number += len(entries)
            await self._tell_entries([one for one in entries if one.is_after(joined)])
            if not entries:
                await self._wait(pulse, self._hub.heartbeat)

    async def _tell_entries(self, entries: Sequence[Entry]) -> None:
        wanted = b"".join(entry.text for entry in entries if self._wish.wants(entry))
        if wanted:
            await self._say(wanted)
        if entries:
            self._place = max(self._place, entries[-1].place)

    async def _is_welcome(self) -> bool:
        """Look again, now and then, whether this reader may still hear what it hears."""
        if time.monotonic() < self._checked_at + self._hub.heartbeat:
            return True
        self._checked_at = time.monotonic()
        return await self._ask(self._may_stay) is not False

    async def _ask(self, work: Callable[[], T]) -> T | None:
        """Ask the database in a thread, with signs of life. None: it does not answer."""
        asked = asyncio.ensure_future(
            anyio.to_thread.run_sync(work, abandon_on_cancel=True, limiter=_limiter())
        )
        try:
            while not (await asyncio.wait({asked}, timeout=self._silence()))[0]:
                await self._keep_alive()
            return asked.result()
        except RushesError:
            return None
        finally:
            asked.cancel()

    async def _wait(self, pulse: asyncio.Event, seconds: float) -> None:
        with anyio.move_on_after(min(seconds, self._silence())):
            await pulse.wait()
        if self._silence() <= 0:
            await self._keep_alive()

    def _silence(self) -> float:
        """Return how much longer nothing need be said."""
        return max(0.0, self._spoke_at + self._hub.heartbeat - time.monotonic())

    async def _keep_alive(self) -> None:
        await self._say(f": keep-alive\nid: {self._place}\n\n".encode())

    async def _say(self, text: bytes) -> None:
        try:
            with anyio.fail_after(STUCK):
                await self._send({"type": "http.response.body", "body": text, "more_body": True})
        except TimeoutError as error:
            raise Stuck from error
        self._spoke_at = time.monotonic()

    async def _end(self, text: bytes) -> None:
        await self._send({"type": "http.response.body", "body": text, "more_body": False})


class Asked(BaseModel):
    """Which events: `topics` are separated by commas; those of workers and queues need an admin."""

    topics: Annotated[str | None, Field(pattern=TOPICS, max_length=100)] = None
    job: Annotated[str | None, Field(max_length=64)] = None
    video: Annotated[str | None, Field(max_length=64)] = None
    since: Annotated[str | None, Field(pattern=CURSOR)] = None


@router.get("/events", response_class=Stream, status_code=200)
def follow_events(
    request: Request,
    here: Here,
    who: Who,
    asked: Annotated[Asked, Query()],
    last_event_id: Annotated[str | None, Header(pattern=CURSOR)] = None,
) -> Response:
    """Follow what happens to one's jobs. `Last-Event-ID`, or else `since`, resumes a stream."""
    who.need(Scope.READ)
    wish = here.library.db.read(lambda tx: _wish(tx, who, asked))
    cursor = last_event_id or asked.since
    since = Place.of(cursor) if cursor else None
    return Stream(here.hub, wish, since, may_stay=lambda: _is_still(request, who))


def _wish(tx: Transaction, who: Principal, asked: Asked) -> Wish:
    topics = frozenset(Topic(word) for word in (asked.topics or ",".join(Topic)).split(","))
    if asked.topics and topics & FOR_ADMINS:
        who.need(Scope.ADMIN)
    return Wish(
        owner=who.sees,
        topics=topics,
        job_id=jobs.find(tx, asked.job, owner=who.sees) if asked.job is not None else None,
        asset_id=assets.find(tx, asked.video, owner=who.sees) if asked.video is not None else None,
    )


def _is_still(request: Request, who: Principal) -> bool:
    """Whether what came with a request still stands for the same person with the same rights."""
    try:
        return principal_of(request) == who
    except (Unauthenticated, Forbidden):
        return False


def _limiter() -> anyio.CapacityLimiter:
    try:
        return _readers.get()
    except LookupError:
        _readers.set(anyio.CapacityLimiter(READERS))
        return _readers.get()
