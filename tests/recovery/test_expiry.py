"""A lease that ran out: the task goes to somebody else, and the loss is counted."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

from rushes.domain.graph import Step
from rushes.domain.task import Claim
from rushes.engine import operator
from rushes.engine.recovery import Recovered
from rushes.store import workers
from tests.world import World, sql


@pytest.fixture
def claim(world: World) -> Claim:
    """The claim of the only task there is."""
    world.submit()
    [claim] = world.claim(world.worker())
    return claim


def test_task_is_ready_again_when_its_lease_has_run_out(world: World, claim: Claim):
    """000-055, 000-096, 000-099, 000-112, 000-147, 001-015, 001-016, 003-056, 003-076."""
    world.tick(world.lease)

    recovered = world.recover()

    task = world.task(claim.id)
    assert recovered == Recovered(expired=1)
    assert (task.state, task.lease_owner, task.lease_expires_at) == ("ready", None, None)
    assert world.job(claim.job_id).status == "running"


def test_task_is_left_while_its_lease_holds(world: World, claim: Claim):
    """000-098, 000-113."""
    world.tick(world.lease - timedelta(milliseconds=1))

    assert world.recover() == Recovered()
    assert world.complete(claim)


def test_crash_uses_up_an_attempt(world: World, claim: Claim):
    """000-082, 003-056 (C2, D3): attempts count claims."""
    world.tick(world.lease)
    world.recover()

    [again] = world.claim(claim.owner)

    assert (again.attempt, again.epoch) == (2, 2)


def test_last_attempt_that_is_lost_ends_the_task(world: World):
    """000-022, 000-034, 000-084, 003-060 (C2, C48): a reason is always given."""
    job_id = world.submit({"noop": Step(max_attempts=1), "join": Step(after=("noop",))})
    world.claim(world.worker())
    world.tick(world.lease)

    recovered = world.recover()

    failure = json.loads(world.job(job_id).failure)
    assert recovered == Recovered(exhausted=1)
    assert world.states(job_id) == {"noop": ["error"], "join": ["skipped"]}
    assert (world.job(job_id).status, failure["error_code"]) == ("failed", "WORKER_CRASHED")
    assert failure["killed_by"] == "worker_crash"
    assert failure["failed_at"] == world.now


def test_loss_of_an_optional_task_leaves_the_job_completed(world: World):
    """000-120."""
    job_id = world.submit(
        {"noop": Step(max_attempts=1, optional=True), "join": Step(after=("noop",))}
    )
    owner = world.worker()
    world.claim(owner)
    world.tick(world.lease)

    world.recover()
    world.finish(owner)

    assert (world.job(job_id).status, world.job(job_id).warnings) == ("completed", 1)


def test_operator_is_told_what_happened(world: World, claim: Claim):
    """001-017, 000-016, 000-128, 004-014."""
    world.tick(world.lease)
    world.recover()

    [expired] = [event for event in world.events() if event.type == "task.expired"]
    [attempt] = world.attempts(claim.job_id)

    assert expired.data == {"cause": "expired", "tasks": [[claim.id, 1]]}
    assert (attempt["outcome"], attempt["killed_by"]) == ("expired", "worker_crash")
    assert claim.owner in attempt["failure"]["error"]


def test_recovery_looks_at_tasks_and_not_at_workers(world: World, claim: Claim):
    """000-095, 000-098 (C3, C4, Procrastinate #1518): the worker's row is gone."""
    sql(world.db, "DELETE FROM workers")
    world.tick(world.lease)

    assert world.recover().expired == 1


def test_worker_that_beats_on_as_another_process_does_not_keep_the_task(world: World, claim: Claim):
    """000-098 (D2, Oban #862): a restart under the same name."""
    world.tick(world.lease)
    world.worker("ann")

    assert world.recover().expired == 1


@pytest.mark.parametrize("ask", [operator.drain, operator.disable])
def test_task_of_a_worker_that_was_draining_is_recovered(world: World, claim: Claim, ask):
    """003-054, 003-056 (C44, C45)."""
    ask(world.engine, world.db.read(lambda tx: workers.find(tx, "ann")).id)
    world.tick(world.lease)

    assert world.recover().expired == 1


def test_recovered_task_keeps_its_place_in_the_queue(world: World, claim: Claim):
    """003-044."""
    world.tick(world.lease)
    world.submit()
    world.recover()

    [again] = world.claim(claim.owner)

    assert again.id == claim.id


def test_recovery_takes_all_that_is_abandoned_in_one_pass(world: World):
    """001-015: more than one batch."""
    job_id = world.submit({"noop": Step(items=[{}] * 501)})
    world.claim(world.worker(), 501)
    world.tick(world.lease)

    recovered = world.recover()

    assert recovered.expired == 501
    assert set(world.states(job_id)["noop"]) == {"ready"}


def test_recovery_with_nothing_to_do_changes_nothing(world: World):
    world.submit()

    assert world.recover() == Recovered()


def test_only_the_lost_part_is_done_again(world: World):
    """001-025, 000-088, 000-089, 000-112."""
    job_id = world.submit({"part": Step(items=[{}] * 3), "join": Step(after=("part",))})
    owner = world.worker()
    done, lost, other = world.claim(owner, 3)
    world.complete(done)
    world.complete(other)
    world.tick(world.lease)
    world.recover()

    ran = world.finish(owner)

    assert [(claim.step, claim.item) for claim in ran] == [("part", lost.item), ("join", 0)]
    assert world.job(job_id).status == "completed"


def test_waking_names_the_lane_of_what_was_recovered(
    world: World, claim: Claim, monkeypatch: pytest.MonkeyPatch
):
    woken: list[set[str]] = []
    monkeypatch.setattr(world.db, "on_commit", woken.append)
    world.tick(world.lease)

    world.recover()

    assert woken == [{"default"}]
