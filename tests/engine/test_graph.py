"""What follows when a task ends: children, optional branches, the end of the job."""

from __future__ import annotations

import json

import pytest

from rushes.domain.graph import Step
from rushes.domain.job import status
from rushes.domain.outcome import Done
from rushes.engine import complete, orchestrator
from rushes.engine.complete import parent_results
from tests.world import World

CHAIN = {"split": Step(), "part": Step(after=("split",)), "join": Step(after=("part",))}
OPTIONAL = {
    "split": Step(),
    "part": Step(after=("split",), optional=True),
    "noop": Step(after=("part",), optional=True),
    "join": Step(after=("split",)),
}
MANY = {"part": Step(items=[{}] * 1_000), "join": Step(after=("part",))}


def test_child_is_ready_in_the_moment_its_parent_is_done(world: World):
    """001-003, 002-012, 002-071 (C24: no loop in between)."""
    job_id = world.submit(CHAIN)
    [claim] = world.claim(world.worker())

    world.complete(claim)

    assert world.states(job_id) == {"split": ["done"], "part": ["ready"], "join": ["new"]}


def test_child_waits_for_all_its_parents(world: World):
    """002-071."""
    job_id = world.submit({"split": Step(), "part": Step(), "join": Step(after=("split", "part"))})
    first, second = world.claim(world.worker(), 2)

    world.complete(first)
    between = world.states(job_id)["join"]
    world.complete(second)

    assert (between, world.states(job_id)["join"]) == (["new"], ["ready"])


def test_parent_named_twice_is_one_parent(world: World):
    job_id = world.submit({"split": Step(), "join": Step(after=("split", "split"))})
    [claim] = world.claim(world.worker())

    world.complete(claim)

    assert world.states(job_id)["join"] == ["ready"]


def test_job_is_completed_with_its_last_task(world: World):
    """000-008, 000-067, 004-009, 003-075."""
    job_id = world.submit(CHAIN)
    owner = world.worker()
    world.finish(owner)

    job = world.job(job_id)

    assert (job.status, job.open_tasks, job.finished_at) == ("completed", 0, world.now)


def test_result_of_a_parent_is_there_for_its_child(world: World):
    """002-019, 002-043."""
    world.submit(CHAIN)
    owner = world.worker()
    [split] = world.claim(owner)
    world.complete(split, {"frames": [1, 2]})
    [part] = world.claim(owner)

    results = parent_results(world.engine, part)

    assert [(row["step"], row["result"]) for row in results] == [("split", {"frames": [1, 2]})]


def test_result_of_a_parent_is_not_for_a_claim_that_was_lost(world: World):
    """000-059."""
    world.submit(CHAIN)
    owner = world.worker()
    [split] = world.claim(owner)
    world.complete(split, {"frames": [1, 2]})
    [part] = world.claim(owner)
    world.hand_back(part)

    assert parent_results(world.engine, part) == []


def test_siblings_of_a_failed_task_run_to_their_end(world: World):
    """000-120, 001-025, 004-005: then the job is failed and the finalizer skipped."""
    job_id = world.submit({"part": Step(items=[{}] * 3), "join": Step(after=("part",))})
    owner = world.worker()
    broken, *others = world.claim(owner, 3)
    world.fail(broken, retryable=False)
    between = world.job(job_id).status

    for claim in others:
        world.complete(claim)

    assert between == "running"
    assert world.states(job_id) == {"part": ["error", "done", "done"], "join": ["skipped"]}
    assert world.job(job_id).status == "failed"


def test_failure_is_passed_on_to_every_child(world: World):
    """004-005: skipped as upstream_failed, all the way down."""
    job_id = world.submit(CHAIN)
    [claim] = world.claim(world.worker())

    world.fail(claim, retryable=False)

    reasons = [task.skip_reason for task in world.tasks(job_id)]
    assert reasons == [None, "upstream_failed", "upstream_failed"]
    assert world.job(job_id).status == "failed"


def test_failed_job_says_what_failed_where_and_when(world: World):
    """000-011, 003-009, 004-016, 004-023, 004-035, 004-037 (C48, C64)."""
    job_id = world.submit({"noop": Step(items=[{}, {}, {}])})
    done, broken, _ = world.claim(world.worker(), 3)
    world.complete(done)
    world.tick(1)

    world.fail(broken, "DISK_FULL", retryable=False)
    world.complete(_)

    failure = json.loads(world.job(job_id).failure)
    assert failure["error"] == "it broke"
    assert failure["error_type"] == "Broken"
    assert failure["error_code"] == "DISK_FULL"
    assert failure["failed_at"] == world.now
    assert failure["failed_phase"] == "processing"
    assert failure["failed_batch"] == 1
    assert failure["progress_at_failure"] == {"processed": 1, "total": 3}
    assert failure["task_id"] == broken.id
    assert "hint" in failure


def test_third_failure_within_a_day_is_told_once_a_day_for_what_it_is_about(world: World):
    """000-090, 000-128, C79: one film's jobs fail, anew or tried again; another's do not count."""
    owner, day = world.worker(), 24 * 3600
    told: list[int] = []

    def fail(job_id: str) -> None:
        [claim] = world.claim(owner)
        world.fail(claim, retryable=False)
        events = world.events(job_id)
        told.append(sum(event.type == "job.failed_pattern" for event in events))

    first = world.submit(dedupe_key="film")
    fail(first)
    fail(world.submit(dedupe_key="another film"))
    fail(world.submit(dedupe_key="film"))
    assert told == [0, 0, 0]
    world.requeue(first)
    fail(first)
    world.requeue(first)
    fail(first)
    assert told[3:] == [1, 1]
    world.tick(day)
    for _ in range(3):
        world.requeue(first)
        fail(first)

    assert told[5:] == [1, 1, 2]
    [last] = [event for event in world.events(first) if event.type == "job.failed_pattern"][1:]
    assert last.data == {"failures": 3}


def test_first_failure_is_the_one_that_the_job_tells(world: World):
    job_id = world.submit({"noop": Step(items=[{}, {}])})
    first, second = world.claim(world.worker(), 2)
    world.fail(second, "GPU_OOM", retryable=False)

    world.fail(first, "DISK_FULL", retryable=False)

    assert json.loads(world.job(job_id).failure)["error_code"] == "GPU_OOM"
    assert world.job(job_id).failed_tasks == 2


def test_optional_task_that_fails_leaves_the_job_completed_with_a_warning(world: World):
    """000-120, 004-009, 004-034 (C34, C63, C73)."""
    job_id = world.submit(OPTIONAL)
    owner = world.worker()
    [split] = world.claim(owner)
    world.complete(split)
    part, join = world.claim(owner, 2)

    world.fail(part, retryable=False)
    world.complete(join)
    world.finish(owner)

    job = world.job(job_id)
    assert (job.status, job.warnings, job.failed_tasks) == ("completed", 1, 0)


def test_child_of_an_optional_task_that_failed_goes_on(world: World):
    """000-120 (C63)."""
    job_id = world.submit(OPTIONAL)
    owner = world.worker()
    [split] = world.claim(owner)
    world.complete(split)
    part, _ = world.claim(owner, 2)

    world.fail(part, retryable=False)

    assert world.states(job_id)["noop"] == ["ready"]


def test_optional_task_does_not_hold_up_what_does_not_need_it(world: World):
    """002-035 (C34: playable before searchable)."""
    job_id = world.submit(OPTIONAL)
    owner = world.worker()
    [split] = world.claim(owner)

    world.complete(split)

    assert world.states(job_id) == {
        "split": ["done"],
        "part": ["ready"],
        "noop": ["new"],
        "join": ["ready"],
    }


def test_optional_child_of_a_required_task_that_failed_is_skipped(world: World):
    job_id = world.submit(OPTIONAL)
    [split] = world.claim(world.worker())

    world.fail(split, retryable=False)

    assert world.states(job_id) == {
        "split": ["error"],
        "part": ["skipped"],
        "noop": ["skipped"],
        "join": ["skipped"],
    }


def test_finalizer_of_a_thousand_tasks_runs_once_after_the_last(world: World):
    """004-001, 004-033, 004-043."""
    job_id = world.submit(MANY)
    owner = world.worker()
    claims = world.claim(owner, 1_000)
    *most, last = [Done(claim.id, claim.epoch, "null") for claim in claims]

    complete.report(world.engine, owner, most, now=world.now)
    between = world.claim(owner, 10)
    complete.report(world.engine, owner, [last], now=world.now)

    assert between == []
    assert [claim.step for claim in world.finish(owner)] == ["join"]
    assert world.job(job_id).status == "completed"


def test_thousand_tasks_with_one_that_fails_are_retried_by_that_one_and_the_finalizer(world: World):
    """002-059, 001-025."""
    job_id = world.submit(MANY)
    owner = world.worker()
    broken, *others = world.claim(owner, 1_000)
    world.fail(broken, retryable=False)
    outcomes = [Done(claim.id, claim.epoch, "null") for claim in others]
    complete.report(world.engine, owner, outcomes, now=world.now)
    failed = world.job(job_id).status

    world.requeue(job_id)
    ran = world.finish(owner)

    assert failed == "failed"
    assert [claim.step for claim in ran] == ["part", "join"]
    assert ran[0].id == broken.id
    assert world.job(job_id).status == "completed"


def test_thousand_tasks_that_are_killed_half_way_stay_killed(world: World):
    """004-011, 004-015: nothing of it becomes done afterwards."""
    job_id = world.submit(MANY)
    owner = world.worker()
    claims = world.claim(owner, 1_000)
    outcomes = [Done(claim.id, claim.epoch, "null") for claim in claims]
    complete.report(world.engine, owner, outcomes[:500], now=world.now)

    world.kill(job_id)
    refused = complete.report(world.engine, owner, outcomes[500:], now=world.now)

    states = world.states(job_id)
    assert len(refused) == 500
    assert (states["part"].count("done"), states["part"].count("killed")) == (500, 500)
    assert (states["join"], world.job(job_id).status) == (["killed"], "killed")


@pytest.mark.parametrize("steps", [CHAIN, OPTIONAL], ids=["chain", "optional"])
def test_stored_status_is_that_of_the_tasks_at_every_step(world: World, steps):
    """004-003, 004-036 (D15)."""
    job_id = world.submit(steps)
    owner = world.worker()
    seen = []

    def look() -> None:
        seen.append((world.job(job_id).status, status(world.tasks(job_id))))

    look()
    while claims := world.claim(owner):
        look()
        world.complete(claims[0])
        look()

    assert all(stored is computed for stored, computed in seen)
    assert seen[-1][0] == "completed"


def test_counters_of_open_parents_agree_with_the_graph(world: World):
    owner = world.worker()
    world.submit(OPTIONAL)
    world.submit(CHAIN)
    for claim in world.claim(owner, 2):
        world.complete(claim)

    assert orchestrator.reconcile(world.engine) == []
