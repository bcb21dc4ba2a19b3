"""Trying again: what failed runs anew, what is finished is kept, the history goes on."""

from __future__ import annotations

import json

import pytest

from rushes.domain.graph import Step
from rushes.domain.job import progress, status
from rushes.domain.task import Claim
from rushes.engine import operator, orchestrator
from rushes.errors import ActiveJobExists, Conflict, NotFound
from tests.world import NOBODY, World

STEPS = {
    "split": Step(),
    "part": Step(items=[{}] * 3, after=("split",)),
    "noop": Step(after=("split",)),
    "join": Step(after=("part", "noop")),
}


@pytest.fixture
def failed(world: World) -> str:
    """A job of which two parts and a no-op failed, and one part is done."""
    job_id = world.submit(STEPS)
    owner = world.worker()
    [split] = world.claim(owner)
    world.complete(split)
    for claim in world.claim(owner, 10):
        if (claim.step, claim.item) == ("part", 2):
            world.complete(claim)
        else:
            world.fail(claim, "DISK_FULL", retryable=False)
    return job_id


def test_failed_job_stands_as_the_test_needs_it(world: World, failed: str):
    assert world.states(failed) == {
        "split": ["done"],
        "part": ["error", "error", "done"],
        "noop": ["error"],
        "join": ["skipped"],
    }
    assert world.job(failed).status == "failed"


def test_whole_job_is_finished_by_what_was_missing(world: World, failed: str):
    """002-046, 002-059, 003-074 (C25, C43): failed → tried again; done is kept."""
    count = world.requeue(failed)
    ran = world.finish(world.worker())

    assert count == 4
    assert [(claim.step, claim.item) for claim in ran] == [
        *(("part", 0), ("part", 1), ("noop", 0), ("join", 0)),
    ]
    assert world.job(failed).status == "completed"


def test_requeued_job_is_running_and_has_no_failure(world: World, failed: str):
    world.requeue(failed)

    job = world.job(failed)
    assert (job.status, job.failure, job.finished_at) == ("running", None, None)
    assert (job.open_tasks, job.failed_tasks) == (4, 0)
    assert orchestrator.reconcile(world.engine) == []


def test_attempts_start_again_and_the_old_ones_stay_in_the_history(world: World, failed: str):
    """002-059 (C25)."""
    before = world.attempts(failed)
    world.requeue(failed)

    world.finish(world.worker())

    after = world.attempts(failed)
    assert [row for row in after if row in before] == before
    assert len(after) == len(before) + 4
    assert {row["attempt"] for row in after} == {1}


def test_one_kind_is_tried_again_and_the_others_stay_failed(world: World, failed: str):
    """002-059."""
    count = world.requeue(failed, kind="part")
    between = world.states(failed)
    world.finish(world.worker())

    assert count == 2
    assert between == {
        "split": ["done"],
        "part": ["ready", "ready", "done"],
        "noop": ["error"],
        "join": ["skipped"],
    }
    assert world.job(failed).status == "failed"
    assert json.loads(world.job(failed).failure)["step"] == "noop"


def test_one_task_is_tried_again_with_another_still_failed(world: World, failed: str):
    """002-059."""
    first, second, *_ = [task for task in world.tasks(failed) if task.step == "part"]

    count = world.requeue(failed, task_id=first.id)
    ran = world.finish(world.worker())

    assert count == 1
    assert [claim.id for claim in ran] == [first.id]
    assert world.job(failed).status == "failed"
    assert json.loads(world.job(failed).failure)["task_id"] == second.id


def test_job_is_completed_when_the_last_failed_task_is_tried_again_alone(world: World):
    job_id = world.submit({"noop": Step(items=[{}, {}]), "join": Step(after=("noop",))})
    owner = world.worker()
    claims = world.claim(owner, 2)
    for claim in claims:
        world.fail(claim, retryable=False)

    for claim in claims:
        world.requeue(job_id, task_id=claim.id)
        world.finish(owner)

    assert world.states(job_id) == {"noop": ["done", "done"], "join": ["done"]}
    assert world.job(job_id).status == "completed"


def test_task_may_be_tried_again_while_its_siblings_still_run(world: World):
    job_id = world.submit({"noop": Step(items=[{}, {}])})
    owner = world.worker()
    broken, other = world.claim(owner, 2)
    world.fail(broken, retryable=False)

    world.requeue(job_id)
    world.complete(other)
    between = world.job(job_id).status
    world.finish(owner)

    assert (between, world.job(job_id).status) == ("running", "completed")


def test_killed_job_is_tried_again(world: World):
    """004-042 (C25)."""
    job_id = world.submit(STEPS)
    owner = world.worker()
    [split] = world.claim(owner)
    world.complete(split)
    world.kill(job_id, name="ana")

    world.requeue(job_id)
    job = world.job(job_id)
    ran = world.finish(owner)

    assert (job.status, job.killed_by, job.killed_at) == ("running", None, None)
    assert len(ran) == 5
    assert world.job(job_id).status == "completed"


def test_killed_job_that_never_started_is_queued_again(world: World):
    job_id = world.submit()
    world.kill(job_id)

    world.requeue(job_id)

    assert world.job(job_id).status == status(world.tasks(job_id)) == "queued"


def test_optional_task_that_failed_is_tried_again(world: World):
    job_id = world.submit({"noop": Step(), "part": Step(optional=True)})
    owner = world.worker()
    claims = {claim.step: claim for claim in world.claim(owner, 2)}
    world.complete(claims["noop"])
    world.fail(claims["part"], retryable=False)
    warned = world.job(job_id).warnings

    world.requeue(job_id)
    world.finish(owner)

    assert (warned, world.job(job_id).warnings) == (1, 0)
    assert world.job(job_id).status == "completed"


def test_progress_starts_again(world: World):
    job_id = world.submit()
    [claim] = world.claim(world.worker())
    world.beat(claim, progress=60)
    world.fail(claim, retryable=False)

    world.requeue(job_id)

    assert progress(world.tasks(job_id), {"noop": 1}) == 0


@pytest.mark.parametrize("choice", [{}, {"kind": "split"}, {"kind": "gpu"}, {"task_id": 9_999}])
def test_nothing_to_try_again_is_a_conflict_and_changes_nothing(
    world: World, failed: str, choice: dict[str, object]
):
    """002-047: what is done stays done."""
    job_id = failed if choice else world.submit()
    before = world.states(job_id)

    with pytest.raises(Conflict, match="there is nothing to try again"):
        world.requeue(job_id, **choice)

    assert world.states(job_id) == before


def test_task_of_another_job_is_not_taken(world: World, failed: str):
    task, *_ = [task for task in world.tasks(failed) if task.state == "error"]

    with pytest.raises(Conflict, match="there is nothing to try again"):
        world.requeue(world.submit(), task_id=task.id)


@pytest.mark.parametrize("job_id", [NOBODY, "nonsense"])
def test_job_that_does_not_exist_cannot_be_tried_again(world: World, job_id: str):
    with pytest.raises(NotFound, match="there is no job"):
        world.requeue(job_id)


def test_job_cannot_take_the_place_of_an_active_one(world: World):
    """002-052."""
    old = world.submit(dedupe_key="asset")
    world.kill(old)
    new = world.submit(dedupe_key="asset")

    with pytest.raises(ActiveJobExists) as refused:
        world.requeue(old)

    assert refused.value.detail["job_id"] == new
    assert world.job(old).status == "killed"


def test_everything_of_one_error_code_is_tried_again(world: World, failed: str):
    """002-059."""
    owner = world.worker()
    other = world.submit()
    [claim] = world.claim(owner)
    world.fail(claim, "GPU_OOM", retryable=False)

    tried = operator.requeue_failed(world.engine, "DISK_FULL")

    assert tried == {failed: 4}
    assert world.job(other).status == "failed"


def test_job_with_a_newer_one_in_its_place_does_not_hold_up_the_others(world: World):
    """002-059."""
    owner = world.worker()
    blocked, free = _broken(world, owner, dedupe_key="asset"), _broken(world, owner)
    world.submit(dedupe_key="asset")

    tried = operator.requeue_failed(world.engine, "DISK_FULL")

    assert tried == {free.job_id: 1}
    assert world.job(blocked.job_id).status == "failed"


@pytest.mark.parametrize("code", ["%", "DISK%", "DISK_FUL_", "", "disk_full", 'X"'])
def test_code_is_no_pattern(world: World, code: str):
    """002-059: a wildcard must not try everything again."""
    _broken(world, world.worker())

    assert operator.requeue_failed(world.engine, code) == {}


def test_requeue_is_told_in_the_feed(world: World, failed: str):
    """002-001."""
    operator.requeue(world.engine, failed, by="ana", now=world.now)

    told = {event.type: event.data for event in world.events(failed)}
    assert told["job.requeued"] == {"by": "ana"}
    assert len(told["task.requeued"]["tasks"]) == 4


def _broken(world: World, owner: str, **options: str) -> Claim:
    world.submit(**options)
    [claim] = world.claim(owner)
    world.fail(claim, "DISK_FULL", retryable=False)
    return claim
