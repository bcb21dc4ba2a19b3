"""The maintenance loops: only the leader works, and no error ends a loop."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta

import pytest

from rushes.engine.loops import Maintenance
from rushes.errors import Unavailable
from tests.world import World, interrupted, sql

SOON = timedelta(milliseconds=10)
PATIENCE = 30


@contextmanager
def running(world: World, holder: str = "ann") -> Iterator[Maintenance]:
    loops = Maintenance(
        engine=world.engine,
        holder=holder,
        recover_every=SOON,
        advance_every=SOON,
        reconcile_every=SOON,
    )
    loops.start()
    try:
        yield loops
    finally:
        loops.stop()


def until(condition: Callable[[], bool]) -> None:
    give_up = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < give_up


def test_every_loop_runs_and_says_so(world: World):
    """000-091, 003-057."""
    with running(world) as loops:
        until(lambda: all(health.leads for health in loops.health.values()))

    assert set(loops.health) == {"orchestrator", "recovery", "presence", "reconcile"}
    assert [health.error for health in loops.health.values()] == [None] * 4


def test_pass_that_fails_is_told_and_the_next_one_works(
    world: World, caplog: pytest.LogCaptureFixture
):
    """003-058: a database that is away for a moment ends nothing."""
    passes: list[None] = []
    again = threading.Event()

    def fail_once() -> None:
        passes.append(None)
        if len(passes) == 1:
            raise Unavailable("the database is away")
        again.set()

    with (
        caplog.at_level(logging.WARNING),
        interrupted("orchestrator.before_advance", fail_once),
        running(world) as loops,
    ):
        assert again.wait(PATIENCE)

    assert "a pass of orchestrator failed: the database is away" in caplog.text
    assert loops.health["orchestrator"].error is None


def test_trouble_that_lasts_is_told_once(world: World, caplog: pytest.LogCaptureFixture):
    """Loops that pass twice a second would fill the log while a database is away."""
    passes: list[None] = []

    def fail() -> None:
        passes.append(None)
        raise Unavailable("the database is away")

    with (
        caplog.at_level(logging.WARNING),
        interrupted("orchestrator.before_advance", fail),
        running(world),
    ):
        until(lambda: len(passes) > 3)

    assert caplog.text.count("a pass of orchestrator failed") == 1


def test_second_process_does_not_work_while_the_first_leads(world: World):
    """003-057."""
    reached = threading.Event()

    with interrupted("orchestrator.before_advance", reached.set), running(world, "ann"):
        assert reached.wait(PATIENCE)
        with running(world, "bob") as second:
            until(lambda: second.health["orchestrator"].ran_at is not None)

    assert not second.health["orchestrator"].leads


def test_process_that_stops_makes_room_for_the_next(world: World):
    """003-057."""
    with running(world, "ann"):
        pass
    holders = sql(world.db, "SELECT holder FROM loops WHERE holder IS NOT NULL")
    reached = threading.Event()

    with interrupted("orchestrator.before_advance", reached.set), running(world, "bob"):
        assert reached.wait(PATIENCE)

    assert holders == []


def test_wrong_counter_is_told(world: World, caplog: pytest.LogCaptureFixture):
    """The check of the counters cries; it does not repair."""
    world.submit()
    sql(world.db, "UPDATE tasks SET state = 'new', open_parents = 7")
    told = threading.Event()
    caplog.handler.addFilter(lambda record: told.set() or True)

    with caplog.at_level(logging.ERROR), running(world):
        assert told.wait(PATIENCE)

    assert "counters of open parents are wrong" in caplog.text
