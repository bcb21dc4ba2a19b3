"""Stopping a job: at once, with attribution, for good."""

from __future__ import annotations

import json

import pytest

from rushes.domain.failure import KilledBy
from rushes.domain.graph import Step
from rushes.engine import operator
from rushes.errors import Conflict, Invalid, NotFound
from tests.world import NOBODY, World

STEPS = {
    "split": Step(),
    "part": Step(items=[{}] * 3, after=("split",)),
    "join": Step(after=("part",)),
}


def test_killed_job_says_who_when_why_and_how_far(world: World):
    """004-013, 004-015, 004-024, 004-042."""
    job_id = world.submit(STEPS)
    [claim] = world.claim(world.worker())
    world.complete(claim)
    world.tick(5)

    job = world.kill(job_id, name="ana", reason="wrong film")

    assert (job.status, job.killed_by, job.killed_by_name) == ("killed", "user", "ana")
    assert (job.killed_at, job.finished_at) == (world.now, world.now)
    assert job.killed_reason == "wrong film"
    assert json.loads(job.progress_at_kill) == {"processed": 1, "total": 5}


def test_reason_is_optional(world: World):
    """004-013."""
    assert world.kill(world.submit(), name="ana").killed_reason == "stopped by ana"


@pytest.mark.parametrize("by", KilledBy)
def test_killer_is_one_of_five(world: World, by: KilledBy):
    """004-014."""
    assert world.kill(world.submit(), by=by).killed_by == by


def test_kill_ends_every_task_that_is_not_final(world: World):
    """004-005, 004-006, 004-011 (C60)."""
    job_id = world.submit(STEPS)
    owner = world.worker()
    [claim] = world.claim(owner)
    world.complete(claim)
    world.claim(owner)

    world.kill(job_id)

    states = {"split": ["done"], "part": ["killed"] * 3, "join": ["killed"]}
    assert world.states(job_id) == states
    assert world.job(job_id).open_tasks == 0


def test_job_that_never_started_can_be_killed(world: World):
    """003-043, 004-006 (C60)."""
    job_id = world.submit()

    world.kill(job_id)

    assert world.job(job_id).status == "killed"
    assert world.claim(world.worker()) == []


def test_kill_fences_at_once(world: World):
    """004-028: whatever the worker sends afterwards is refused."""
    job_id = world.submit({"noop": Step(items=[{}] * 4)})
    done, failed, back, beating = world.claim(world.worker(), 4)

    world.kill(job_id)

    assert not world.complete(done)
    assert not world.fail(failed)
    assert not world.hand_back(back)
    assert world.beat(beating) == "killed"
    assert world.states(job_id) == {"noop": ["killed"] * 4}


def test_kill_is_in_the_history_of_the_attempt(world: World):
    """004-014 (C61)."""
    job_id = world.submit()
    [claim] = world.claim(world.worker())

    world.kill(job_id, by=KilledBy.SYSTEM)

    [attempt] = world.attempts(job_id)
    assert (attempt["outcome"], attempt["killed_by"]) == ("killed", "system")
    assert attempt["owner"] == claim.owner


def test_kill_of_a_killed_job_changes_nothing(world: World):
    """004-028 (C57)."""
    job_id = world.submit()
    first = world.kill(job_id, name="ana")
    world.tick(5)

    again = world.kill(job_id, name="bob")

    assert again == first


@pytest.mark.parametrize("end", ["completed", "failed"])
def test_finished_job_cannot_be_killed(world: World, end: str):
    """002-047, 003-034 (C57)."""
    job_id = world.submit()
    [claim] = world.claim(world.worker())
    if end == "completed":
        world.complete(claim)
    else:
        world.fail(claim, retryable=False)

    with pytest.raises(Conflict, match=f"is already {end}"):
        world.kill(job_id)

    assert world.job(job_id).status == end


@pytest.mark.parametrize("job_id", [NOBODY, "nonsense", ""])
def test_job_that_does_not_exist_cannot_be_killed(world: World, job_id: str):
    """004-028."""
    with pytest.raises(NotFound, match="there is no job"):
        world.kill(job_id)


def test_reason_that_cannot_be_stored_is_refused_and_kills_nothing(world: World):
    job_id = world.submit()

    with pytest.raises(Invalid, match="the reason contains a NUL"):
        world.kill(job_id, reason="a\x00b")

    assert world.job(job_id).status == "queued"


def test_kill_leaves_other_jobs_alone(world: World):
    owner = world.worker()
    other = world.submit()
    [claim] = world.claim(owner)

    world.kill(world.submit())

    assert world.complete(claim)
    assert world.job(other).status == "completed"


def test_kill_tells_the_feed_once(world: World):
    job_id = world.submit()
    operator.kill(world.engine, job_id, name="ana", now=world.now)
    operator.kill(world.engine, job_id, name="ana", now=world.now)

    types = [event.type for event in world.events(job_id)]

    assert types == ["job.submitted", "task.killed", "job.killed"]
