"""Making ready what waits for its time, and the check of the counters."""

from __future__ import annotations

import pytest

from rushes.domain.graph import Step
from rushes.engine import orchestrator
from tests.world import World, sql


def test_task_is_ready_when_its_time_has_come_and_not_before(world: World):
    """001-003, 002-048 (C27)."""
    job_id = world.submit(run_at=world.now + 1_000)
    world.tick(0.999)
    early = (world.advance(), world.states(job_id))
    world.tick(0.001)
    world.advance()

    assert early == (0, {"noop": ["new"]})
    assert world.states(job_id) == {"noop": ["ready"]}


def test_task_with_open_parents_is_not_ready_when_its_time_has_come(world: World):
    """001-003."""
    steps = {"split": Step(), "join": Step(after=("split",))}
    job_id = world.submit(steps, run_at=world.now + 1_000)
    world.tick(2)

    world.advance()

    assert world.states(job_id) == {"split": ["ready"], "join": ["new"]}


def test_more_tasks_than_one_batch_are_made_ready_in_one_pass(world: World):
    job_id = world.submit({"noop": Step(items=[{}] * 1_001)}, run_at=world.now + 1_000)
    world.tick(1)

    count = world.advance()

    assert count == 1_001
    assert set(world.states(job_id)["noop"]) == {"ready"}


def test_killed_job_is_not_made_ready(world: World):
    job_id = world.submit(run_at=world.now + 1_000)
    world.kill(job_id)
    world.tick(2)

    assert world.advance() == 0


def test_next_due_time_is_known(world: World):
    before = orchestrator.next_due(world.engine)
    world.submit(run_at=world.now + 5_000)
    world.submit(run_at=world.now + 3_000)

    assert (before, orchestrator.next_due(world.engine)) == (None, world.now + 3_000)


def test_two_orchestrators_at_once_are_harmless(world: World):
    """001-007."""
    job_id = world.submit(run_at=world.now + 1_000)
    world.tick(1)

    world.advance()
    world.advance()

    ready = [event.type for event in world.events(job_id)].count("task.ready")
    assert ready == 1


def test_wrong_counter_is_found(world: World):
    job_id = world.submit({"split": Step(), "join": Step(after=("split",))})
    [_, join] = world.tasks(job_id)

    right = orchestrator.reconcile(world.engine)
    sql(world.db, f"UPDATE tasks SET open_parents = 2 WHERE id = {join.id}")

    assert right == []
    assert orchestrator.reconcile(world.engine) == [join.id]


def test_waking_names_the_lanes_that_became_ready(world: World, monkeypatch: pytest.MonkeyPatch):
    """000-045."""
    world.submit({"noop": Step(), "gpu": Step()}, run_at=world.now + 1_000)
    world.tick(1)
    woken: list[set[str]] = []
    monkeypatch.setattr(world.db, "on_commit", woken.append)

    world.advance()

    assert woken == [{"default", "gpu"}]
