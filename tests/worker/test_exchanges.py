"""Two exchanges at once: one waits for the engine while the other goes on.

A gate stands where the engine answers, so that the tests decide which answer comes when.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta

import pytest

from rushes.domain.graph import Step
from rushes.domain.outcome import Exchange, Outcome
from rushes.engine.presence import Introduction, register
from rushes.errors import Unavailable
from rushes.worker.local import LocalSession
from rushes.worker.loop import Worker
from rushes.worker.timing import Timing
from tests.waiting import until
from tests.worker.conftest import STAGES, TIMING, Shop


@dataclass(frozen=True, slots=True)
class GatedSession(LocalSession):
    gate: threading.Event = field(default_factory=threading.Event)
    losing: threading.Event = field(default_factory=threading.Event)
    asked: list[dict[str, int]] = field(default_factory=list)
    at_gate: list[int] = field(default_factory=list)
    strays: list[int] = field(default_factory=list)

    def exchange(self, outcomes: Sequence[Outcome], want: Mapping[str, int]) -> Exchange:
        self.asked.append(dict(want))
        answer = LocalSession.exchange(self, outcomes, want)
        self.at_gate.append(len(answer.claims))
        assert self.gate.wait(timeout=15)
        if self.losing.is_set():
            raise Unavailable("the answer was lost")
        return answer

    def hand_back_strays(self, held: object) -> None:
        self.strays.append(len(self.at_gate))
        LocalSession.hand_back_strays(self, held)  # type: ignore[arg-type]


@contextmanager
def gated(
    shop: Shop, slots: int, *others: str, timing: Timing = TIMING
) -> Iterator[tuple[Worker, GatedSession]]:
    lanes = dict.fromkeys(("default", *others), slots)
    introduction = Introduction(name="ann", lanes=lanes, kinds=frozenset(STAGES))
    session = GatedSession(shop.engine, register(shop.engine, introduction))
    worker = Worker(session, STAGES, lanes, timing=timing, exchanges=2)
    thread = threading.Thread(target=worker.run)
    thread.start()
    try:
        yield worker, session
    finally:
        session.losing.clear()
        session.gate.set()
        worker.drain()
        thread.join(timeout=30)
        assert not thread.is_alive()


def test_room_is_asked_for_once(shop: Shop) -> None:
    """003-052: two exchanges together never claim more than there are slots."""
    job = shop.submit({"nap": Step(items=[{}] * 6)})

    with gated(shop, slots=2) as (worker, session):
        until(lambda: session.at_gate)
        worker.hint()
        with suppress(AssertionError):
            until(lambda: len(session.asked) > 1, seconds=0.3)
        claimed = sum(session.at_gate)
        session.gate.set()
        until(lambda: shop.job(job).finished_at is not None)

    assert claimed == 2


def test_hint_during_a_claim_is_heard(shop: Shop) -> None:
    """000-045: work that comes too late for the claim in flight does not wait for the poll."""
    seldom = replace(TIMING, poll=timedelta(minutes=10))

    with gated(shop, slots=1, timing=seldom) as (worker, session):
        until(lambda: session.at_gate)
        job = shop.submit({"nap": Step()})
        worker.hint()
        session.gate.set()
        until(lambda: shop.job(job).finished_at is not None)

    assert session.at_gate[0] == 0


def test_hint_asks_for_nothing_but_the_lane_that_has_work(shop: Shop) -> None:
    """000-045: an empty lane is left alone until a hint for it, or the poll."""
    seldom = replace(TIMING, poll=timedelta(minutes=10))

    with gated(shop, 1, "short", timing=seldom) as (worker, session):
        session.gate.set()
        until(lambda: session.asked)
        worker.hint({"short"})
        until(lambda: len(session.asked) > 1)

    assert session.asked == [{"default": 1, "short": 1}, {"short": 1}]


@dataclass(frozen=True, slots=True)
class BrokenBeside(LocalSession):
    """The second exchange meets a defect; the first waits until then."""

    met: threading.Event = field(default_factory=threading.Event)

    def exchange(self, outcomes: Sequence[Outcome], want: Mapping[str, int]) -> Exchange:
        if threading.current_thread().name.startswith("rushes-exchange"):
            self.met.set()
            raise RuntimeError("a defect")
        self.met.wait(timeout=15)
        return LocalSession.exchange(self, outcomes, want)


def test_defect_in_the_second_exchange_ends_the_worker(shop: Shop) -> None:
    """A thread that died without a word would leave slots that nobody fills."""
    introduction = Introduction(name="ann", lanes={"default": 1}, kinds=frozenset(STAGES))
    session = BrokenBeside(shop.engine, register(shop.engine, introduction))
    worker = Worker(session, STAGES, {"default": 1}, timing=TIMING, exchanges=2)

    with ThreadPoolExecutor(1) as pool:
        run = pool.submit(worker.run)
        until(lambda: worker.hint() or run.done())

    with pytest.raises(RuntimeError, match="a defect"):
        run.result()


def test_claims_of_a_lost_answer_are_handed_back_before_anything_else(shop: Shop) -> None:
    """The claims that nobody heard of are free again, and run once."""
    job = shop.submit({"nap": Step(items=[{}] * 3)})

    with gated(shop, slots=3) as (_, session):
        session.losing.set()
        until(lambda: session.at_gate)
        session.gate.set()
        until(lambda: session.strays)
        session.losing.clear()
        until(lambda: shop.job(job).finished_at is not None)

    outcomes = [attempt["outcome"] for attempt in shop.attempts(job)]
    assert outcomes.count("done") == 3
    assert "expired" not in outcomes
