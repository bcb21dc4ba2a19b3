"""The hall: many wait for work, few ask at once, and nobody who waits is forgotten."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Hashable
from typing import Any

from rushes.api import hall as halls
from rushes.api.hall import Hall

Try = Callable[[], Awaitable[tuple[Hashable, str | None]]]


class Table:
    """Work by the kind that it needs, and who asked for it how often."""

    def __init__(self) -> None:
        self.work: Counter[str] = Counter()
        self.asked: Counter[str] = Counter()

    def for_whom(self, offers: str) -> Try:
        async def attempt() -> tuple[Hashable, str | None]:
            self.asked[offers] += 1
            await asyncio.sleep(0)
            if not self.work[offers]:
                return offers, None
            self.work[offers] -= 1
            return offers, offers

        return attempt


def run(main: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(asyncio.wait_for(main(), 20))


async def seated(hall: Hall[str], n: int) -> None:
    while len(hall._waiting) < n:
        await asyncio.sleep(0.001)


def test_whoever_waits_longest_is_asked_in_first(monkeypatch):
    monkeypatch.setattr(halls, "AT_ONCE", 1)

    async def main() -> None:
        hall, table = Hall[str](), Table()
        waiting = []
        for number in range(3):
            waiting.append(asyncio.create_task(hall.wait(f"{number}", table.for_whom("a"), 10)))
            await seated(hall, number + 1)
        table.work["a"] = 1
        hall.hint()
        assert await waiting[0] == "a"
        assert not waiting[1].done()
        hall.close()
        assert await asyncio.gather(*waiting[1:]) == [None, None]

    run(main)


def test_one_who_finds_nothing_speaks_for_all_who_offer_the_same(monkeypatch):
    """000-045: a hint for one task does not let a thousand ask the database."""
    monkeypatch.setattr(halls, "LOOK_EVERY_S", 100)

    async def main() -> None:
        hall, table = Hall[str](), Table()
        waiting = [
            asyncio.create_task(hall.wait(f"{n}", table.for_whom("b" if n == 999 else "a"), 10))
            for n in range(1000)
        ]
        await seated(hall, 1000)
        table.asked.clear()
        table.work["b"] = 1
        hall.hint()
        assert await waiting[999] == "b"
        assert table.asked["a"] <= halls.AT_ONCE
        hall.close()
        await asyncio.gather(*waiting)

    run(main)


def test_a_hundred_tasks_for_a_thousand_who_wait():
    """Each task goes to one, and each of them gets one."""

    async def main() -> None:
        hall, table = Hall[str](), Table()
        waiting = [
            asyncio.create_task(hall.wait(f"{n}", table.for_whom("a"), 10)) for n in range(1000)
        ]
        await seated(hall, 1000)
        table.asked.clear()
        for _ in range(100):
            table.work["a"] += 1
            hall.hint()
            await asyncio.sleep(0)
        while table.work["a"]:
            await asyncio.sleep(0.01)
        hall.close()
        found = await asyncio.gather(*waiting)
        assert (found.count("a"), found.count(None)) == (100, 900)
        assert table.asked["a"] < 1000

    run(main)


def test_lost_hint_costs_a_moment(monkeypatch):
    monkeypatch.setattr(halls, "LOOK_EVERY_S", 0.05)

    async def main() -> None:
        hall, table = Hall[str](), Table()
        waiting = asyncio.create_task(hall.wait("a", table.for_whom("a"), 10))
        await seated(hall, 1)
        table.work["a"] = 1
        assert await waiting == "a"

    run(main)


def test_wait_ends_in_time_and_when_they_come_again():
    async def main() -> None:
        hall, table = Hall[str](), Table()
        assert await hall.wait("a", table.for_whom("a"), 0.05) is None
        waiting = asyncio.create_task(hall.wait("a", table.for_whom("a"), 10))
        other = asyncio.create_task(hall.wait("b", table.for_whom("a"), 10))
        await seated(hall, 2)
        hall.dismiss("a")
        assert await waiting is None
        assert not other.done()
        hall.close()
        await other

    run(main)


def test_one_whose_try_breaks_does_not_stop_the_others():
    async def main() -> None:
        hall, table = Hall[str](), Table()
        calls = 0

        async def broken() -> tuple[Hashable, str | None]:
            nonlocal calls
            calls += 1
            if calls > 1:
                raise RuntimeError("gone")
            return "a", None

        first = asyncio.create_task(hall.wait("a", broken, 10))
        await seated(hall, 1)
        second = asyncio.create_task(hall.wait("b", table.for_whom("b"), 10))
        await seated(hall, 2)
        table.work["b"] = 1
        hall.hint()
        assert await second == "b"
        assert isinstance((await asyncio.gather(first, return_exceptions=True))[0], RuntimeError)

    run(main)


def test_those_who_go_away_while_they_wait_do_not_stop_the_others():
    async def main() -> None:
        hall, table = Hall[str](), Table()
        leaving = [
            asyncio.create_task(hall.wait(f"{n}", table.for_whom("a"), 10))
            for n in range(2 * halls.AT_ONCE)
        ]
        await seated(hall, len(leaving))
        for one in leaving:
            one.cancel()
        await asyncio.gather(*leaving, return_exceptions=True)
        assert len(hall) == 0
        staying = asyncio.create_task(hall.wait("b", table.for_whom("b"), 10))
        await seated(hall, 1)
        table.work["b"] = 1
        hall.hint()
        assert await staying == "b"

    run(main)
