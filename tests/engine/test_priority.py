"""Moving a job within the queue, and the version that guards a person's edit."""

from __future__ import annotations

import pytest

from rushes.domain.graph import Boost, Step
from rushes.engine.operator import set_priority
from rushes.errors import Conflict, Invalid, NotFound
from tests.world import NOBODY, World, sql


def test_raised_job_is_claimed_first(world: World):
    """003-044."""
    world.submit()
    raised = world.submit()

    job = set_priority(world.engine, raised, 8, now=world.now)

    [claim] = world.claim(world.worker())
    assert (job.priority, job.version) == (8, 2)
    assert claim.job_id == raised


def test_due_times_are_those_of_a_job_that_had_the_priority_from_the_start(world: World):
    """003-044 (C68)."""
    steps = {
        "noop": Step(priority=9, boost=Boost.ALL),
        "part": Step(items=[{}] * 2, boost=Boost.FIRST),
    }
    low, high = world.submit(steps, priority=2), world.submit(steps, priority=7)
    world.tick(3)

    set_priority(world.engine, low, 7, now=world.now)

    assert _orders(world, low) == _orders(world, high)


def test_task_that_waits_for_its_parents_takes_the_new_priority_with_it(world: World):
    job_id = world.submit({"split": Step(), "join": Step(after=("split",))})
    [claim] = world.claim(world.worker())

    set_priority(world.engine, job_id, 10, now=world.now)
    world.complete(claim)

    [_, join] = _orders(world, job_id)
    assert join == (world.now, 10)


def test_version_that_is_current_lets_the_edit_through(world: World):
    """003-061."""
    job_id = world.submit()

    assert set_priority(world.engine, job_id, 8, version=1, now=world.now).version == 2


def test_version_of_before_refuses_the_edit_and_changes_nothing(world: World):
    """003-061."""
    job_id = world.submit()
    set_priority(world.engine, job_id, 8, version=1, now=world.now)
    before = _orders(world, job_id)

    with pytest.raises(Conflict, match="was changed meanwhile"):
        set_priority(world.engine, job_id, 2, version=1, now=world.now)

    assert world.job(job_id).priority == 8
    assert _orders(world, job_id) == before


def test_priority_of_a_finished_job_cannot_be_changed(world: World):
    """003-034."""
    job_id = world.submit()
    world.finish(world.worker())

    with pytest.raises(Conflict, match="is completed"):
        set_priority(world.engine, job_id, 8, now=world.now)


def test_priority_beyond_the_scale_is_refused(world: World):
    """003-045."""
    with pytest.raises(Invalid, match="priority 11 is not between 0 and 10"):
        set_priority(world.engine, world.submit(), 11, now=world.now)


@pytest.mark.parametrize("job_id", [NOBODY, "nonsense"])
def test_job_that_does_not_exist_has_no_priority(world: World, job_id: str):
    with pytest.raises(NotFound, match="there is no job"):
        set_priority(world.engine, job_id, 8, now=world.now)


def _orders(world: World, job_id: str) -> list[tuple[int, int]]:
    rows = sql(
        world.db,
        f"SELECT due_at, priority FROM tasks WHERE job_id = '{job_id}' ORDER BY step, item",
    )
    return sorted((row["due_at"] or 0, row["priority"]) for row in rows)
