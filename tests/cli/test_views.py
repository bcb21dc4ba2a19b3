"""What every door tells of a job, by its status. Shows 004-036."""

from __future__ import annotations

import doctest
from dataclasses import replace

import pytest

from rushes.api import models, views
from rushes.cli import config, output
from rushes.domain.graph import Step
from rushes.domain.job import Job
from tests.world import World

ANSWER = {
    *("job_id", "status", "job_type", "created_at", "updated_at", "progress", "result"),
    *("error", "error_code", "error_type", "failed_at", "failed_phase", "failed_batch"),
    *("progress_at_failure", "killed_by", "killed_at", "killed_reason", "progress_at_kill"),
    *("warnings", "raw_state"),
}
KILL = ("killed_by", "killed_by_name", "killed_at", "killed_reason", "progress_at_kill")
PAIR = {"split": Step(items=[{}, {}]), "join": Step(after=("split",))}


def answer(world: World, job_id: str, percent: int = 0) -> dict[str, object]:
    told = views.job(world.job(job_id), percent=percent, tasks=world.tasks(job_id))
    return told.model_dump(mode="json")


def test_answer_has_every_field_whatever_the_status(world: World):
    job_id = world.submit()

    assert answer(world, job_id).keys() >= ANSWER


def test_list_tells_the_same_fields_as_the_single_job(world: World):
    job_id = world.submit()

    listed = views.job(world.job(job_id), percent=0).model_dump()

    assert listed.keys() == answer(world, job_id).keys()


def test_running_job_tells_how_far_it_is(world: World):
    """Shows 004-022 and 004-026."""
    job_id = world.submit(PAIR)
    first, second = world.claim(world.worker(), 2)
    world.beat(second, progress=40, phase="processing", message="half way", moved=True)
    world.complete(first)

    progress = answer(world, job_id, percent=35)["progress"]

    assert progress == {
        "current": 1,
        "total": 3,
        "percent": 35,
        "message": "half way",
        "phase": "processing",
        "batches_completed": 1,
        "batches_total": 2,
    }


def test_completed_job_tells_what_its_last_step_returned(world: World):
    """Shows 004-022 and 004-025."""
    job_id = world.submit(PAIR)
    owner = world.worker()
    for claim in world.claim(owner, 2):
        world.complete(claim, {"part": claim.item})
    [last] = world.claim(owner)
    world.complete(last, {"parts": 2})

    told = answer(world, job_id, percent=100)

    assert told["result"] == {"parts": 2}
    assert told["raw_state"] == {"done": 3}


def test_completed_job_of_several_last_steps_tells_each(world: World):
    job_id = world.submit({"split": Step(items=[{}, {}]), "join": Step()})
    for claim in world.claim(world.worker(), 3):
        world.complete(claim, claim.item)

    assert answer(world, job_id)["result"] == {"split": [0, 1], "join": 0}


def test_failed_job_tells_the_whole_failure(world: World):
    """Shows 004-016, 004-017, 004-019, 004-023."""
    job_id = world.submit(PAIR)
    first, second = world.claim(world.worker(), 2)
    world.complete(first)
    world.fail(second, "DISK_FULL", retryable=False)

    told = answer(world, job_id)

    assert told["status"] == "failed"
    assert told["error"] == "it broke"
    assert told["error_code"] == "DISK_FULL"
    assert told["error_type"] == "Broken"
    assert told["failed_phase"] == "processing"
    assert told["failed_batch"] == second.item
    assert told["failed_step"] == "split"
    assert str(told["failed_at"]).endswith("Z")
    assert told["progress_at_failure"] == {
        "processed": 1,
        "total": 3,
        "batches_completed": 1,
        "batches_total": 3,
    }


def test_job_that_did_not_fail_has_the_same_fields_empty(world: World):
    told = views.failure(world.job(world.submit()))

    assert set(told.values()) == {None}


@pytest.mark.parametrize("by", ["user", "system", "timeout", "worker_crash", "oom"])
def test_killed_job_tells_by_whom_when_why_and_how_far_it_was(world: World, by: str):
    """Shows 004-013, 004-014, 004-020, 004-024."""
    job = killed(world.job(world.submit()), by)

    told = views.job(job, percent=0).model_dump(mode="json")

    assert {name: told[name] for name in KILL} == {
        "killed_by": by,
        "killed_by_name": "ann",
        "killed_at": "2026-01-01T12:00:00.000Z",
        "killed_reason": "wrong file",
        "progress_at_kill": {"processed": 3, "total": 9},
    }


@pytest.mark.parametrize("module", [views, models, output, config], ids=lambda m: m.__name__)
def test_examples_hold(module):
    assert doctest.testmod(module).failed == 0


def killed(job: Job, by: str) -> Job:
    return replace(
        job,
        killed_by=by,
        killed_by_name="ann",
        killed_at=1_767_268_800_000,
        killed_reason="wrong file",
        progress_at_kill='{"processed": 3, "total": 9}',
    )
