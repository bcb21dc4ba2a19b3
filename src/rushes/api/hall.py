"""Where workers wait for work that a long poll asked for.

A thousand may wait: a place here costs neither a thread nor a connection. When there may be work,
they are asked in a few at a time, whoever waits longest first. One who finds nothing speaks for all
who offer the same: they are left alone until the next hint. Once a second they are asked in any
case, because not every change gives a hint.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Set
from contextlib import suppress
from itertools import count
from typing import Generic, TypeVar

T = TypeVar("T")

AT_ONCE = 4
LOOK_EVERY_S = 1.0


class Place:
    """Somebody who waits, and what they offer."""

    def __init__(self, who: str, likeness: Hashable) -> None:
        loop = asyncio.get_running_loop()
        self.who, self.likeness = who, likeness
        self.is_over = False
        self.called: asyncio.Future[None] = loop.create_future()
        self.was_lucky: asyncio.Future[bool] = loop.create_future()

    def call(self) -> None:
        if not self.called.done():
            self.called.set_result(None)

    def tell(self, was_lucky: bool) -> None:
        if not self.was_lucky.done():
            self.was_lucky.set_result(was_lucky)


class Hall(Generic[T]):
    """All who wait at one server. It lives in one event loop, but for `hint`."""

    def __init__(self) -> None:
        self._waiting: dict[int, Place] = {}
        self._numbers = count()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._hinted: asyncio.Event | None = None
        self._usher: asyncio.Task[None] | None = None
        self._is_closed = False

    def __len__(self) -> int:
        return len(self._waiting)

    def hint(self, _lanes: Set[str] | None = None) -> None:
        """There may be work. Called from any thread."""
        if self._loop is not None and self._hinted is not None:
            with suppress(RuntimeError):  # the loop is closed: nobody waits any more
                self._loop.call_soon_threadsafe(self._hinted.set)

    def close(self) -> None:
        """Let nobody wait any more. Called from any thread."""
        self._is_closed = True
        if self._loop is not None:
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._send_home)

    def dismiss(self, who: str) -> None:
        """Let somebody wait no more: they have come again, or go away."""
        for place in self._waiting.values():
            if place.who == who:
                place.is_over = True
                place.call()

    async def wait(
        self,
        who: str,
        attempt: Callable[[], Awaitable[tuple[Hashable, T | None]]],
        seconds: float,
    ) -> T | None:
        """Try until there is something, or until time is out. A try is never given up.

        It also says what they offer at that moment.
        """
        loop, number = asyncio.get_running_loop(), next(self._numbers)
        end = loop.time() + seconds
        place: Place | None = None
        while True:
            try:
                likeness, found = await attempt()
            except BaseException:
                if place is not None:
                    place.tell(False)
                raise
            if place is not None:
                place.likeness = likeness
                place.tell(found is not None)
            if found is not None or loop.time() >= end or self._is_closed:
                return found
            place = self._waiting[number] = Place(who, likeness)
            self._start(loop)
            try:
                with suppress(TimeoutError):
                    async with asyncio.timeout_at(end):
                        await asyncio.shield(place.called)
            except BaseException:
                place.tell(False)  # whoever has called them waits for a word
                raise
            finally:
                self._waiting.pop(number, None)
            if not place.called.done() or place.is_over or self._is_closed:
                place.tell(False)
                return None

    def _send_home(self) -> None:
        for place in self._waiting.values():
            place.call()

    def _start(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._usher is None or self._usher.done() or self._loop is not loop:
            self._loop, self._hinted = loop, asyncio.Event()
            self._usher = loop.create_task(self._ask_in_for_ever(self._hinted))

    async def _ask_in_for_ever(self, hinted: asyncio.Event) -> None:
        while self._waiting:
            with suppress(TimeoutError):
                async with asyncio.timeout(LOOK_EVERY_S):
                    await hinted.wait()
            hinted.clear()
            await self._ask_in()

    async def _ask_in(self) -> None:
        """Let everybody try who may find something."""
        unlucky: set[Hashable] = set()
        line = iter(sorted(self._waiting))

        async def one_after_the_other() -> None:
            for number in line:
                place = self._waiting.get(number)
                if place is None or place.likeness in unlucky:
                    continue
                del self._waiting[number]
                place.call()
                if not await place.was_lucky:
                    unlucky.add(place.likeness)

        await asyncio.gather(*(one_after_the_other() for _ in range(AT_ONCE)))
