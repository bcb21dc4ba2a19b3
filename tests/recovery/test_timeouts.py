"""A worker that is there while its work is not moving, or never ends."""

from __future__ import annotations

import json
from datetime import timedelta

from rushes.domain.graph import Step
from rushes.domain.kind import Kind
from rushes.domain.task import Claim
from rushes.engine.recovery import Recovered
from rushes.store.database import Database
from tests.world import World

KINDS = {
    "noop": Kind(name="noop", stall=timedelta(minutes=3), hard_limit=timedelta(minutes=10)),
    "heavy": Kind(name="heavy", stall=timedelta(minutes=30), hard_limit=timedelta(hours=4)),
}


def test_work_that_stands_still_is_taken_from_a_worker_that_beats(db: Database):
    """000-037, 000-055, 000-064, 000-136, 000-140 (C5, C6)."""
    world, claim = _started(db)
    early = _beat_for(world, claim, timedelta(minutes=2, seconds=50))

    late = _beat_for(world, claim, timedelta(seconds=10))

    assert (early, late) == (Recovered(), Recovered(expired=1))
    assert world.task(claim.id).state == "ready"
    assert world.beat(claim) == "lost"


def test_work_that_moves_is_left(db: Database):
    """000-036, 000-061."""
    world, claim = _started(db)

    recovered = _beat_for(world, claim, timedelta(minutes=9), moved=True)

    assert recovered == Recovered()
    assert world.complete(claim)


def test_work_that_never_ends_is_taken_at_its_hard_limit(db: Database):
    """000-055 (C5, C6)."""
    world, claim = _started(db)
    _beat_for(world, claim, timedelta(minutes=9, seconds=50), moved=True)

    recovered = _beat_for(world, claim, timedelta(seconds=10), moved=True)

    assert recovered == Recovered(expired=1)


def test_time_out_says_so(db: Database):
    """004-014, 004-018 (C61): attribution is on the attempt, the job goes on."""
    world, claim = _started(db)
    _beat_for(world, claim, timedelta(minutes=3))

    [attempt] = world.attempts(claim.job_id)
    [event] = [event for event in world.events() if event.type == "task.timed_out"]

    assert (attempt["outcome"], attempt["killed_by"]) == ("timed_out", "timeout")
    assert attempt["failure"]["error_code"] == "WORKER_TIMEOUT"
    assert event.data["cause"] == "stalled"
    assert world.job(claim.job_id).status == "running"


def test_time_out_of_the_last_attempt_fails_the_job_with_its_code(db: Database):
    """004-018 (C61)."""
    world, claim = _started(db, max_attempts=1)

    recovered = _beat_for(world, claim, timedelta(minutes=3))

    failure = json.loads(world.job(claim.job_id).failure)
    assert recovered == Recovered(exhausted=1)
    assert (failure["error_code"], failure["killed_by"]) == ("WORKER_TIMEOUT", "timeout")
    assert world.job(claim.job_id).status == "failed"


def test_stall_time_starts_anew_with_each_attempt(db: Database):
    world, claim = _started(db)
    _beat_for(world, claim, timedelta(minutes=3))
    [again] = world.claim(claim.owner)

    recovered = _beat_for(world, again, timedelta(minutes=2))

    assert recovered == Recovered()


def test_limits_are_those_of_the_kind(db: Database):
    """000-064, 000-136."""
    world, claim = _started(db, kind="heavy")

    recovered = _beat_for(world, claim, timedelta(minutes=29))

    assert recovered == Recovered()


def _started(
    db: Database, *, kind: str = "noop", max_attempts: int | None = None
) -> tuple[World, Claim]:
    world = World(db, KINDS)
    world.submit({kind: Step(max_attempts=max_attempts)})
    [claim] = world.claim(world.worker())
    world.recover()
    return world, claim


def _beat_for(world: World, claim: Claim, duration: timedelta, *, moved: bool = False) -> Recovered:
    """Let a worker beat every ten seconds or so, with recovery running. Returns its last pass."""
    end = world.now + duration // timedelta(milliseconds=1)
    while world.now < end:
        world.tick(min(timedelta(seconds=50), timedelta(milliseconds=end - world.now)))
        world.beat(claim, moved=moved)
        recovered = world.recover()
    return recovered
