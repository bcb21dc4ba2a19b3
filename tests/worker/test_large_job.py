"""A job of a thousand tasks with a finalizer: stopped half way, and broken in one place."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from rushes.cli.commands import app
from rushes.domain.graph import Step
from rushes.domain.job import Status
from rushes.domain.task import State
from rushes.engine.operator import kill
from tests.waiting import until
from tests.worker.conftest import Shop

SIZE = 1_000
COUNT = Step(kind="count", after=("part",))


def test_job_killed_half_way_ends_at_once_and_nothing_of_it_is_done_later(shop: Shop) -> None:
    """004-005, 004-013, 004-015: the worker is in the middle of it."""
    job = shop.submit({"part": Step(kind="slowish", items=[{}] * SIZE), "join": COUNT})

    with shop.working(slots=4):
        until(lambda: len(shop.attempts(job)) > 50)
        killed = kill(shop.engine, job, name="ann")
        done = [task.id for task in shop.tasks(job) if task.state is State.DONE]
        after = shop.submit({"nap": Step()})
        until(lambda: shop.job(after).status is Status.COMPLETED)

    states = {task.id: task.state for task in shop.tasks(job)}
    assert (killed.status, killed.open_tasks) == (Status.KILLED, 0)
    assert [id for id, state in states.items() if state is State.DONE] == done
    assert set(states.values()) == {State.DONE, State.KILLED}
    assert json.loads(killed.progress_at_kill or "") == {"processed": len(done), "total": SIZE + 1}


def test_retry_runs_only_the_broken_task_and_the_finalizer(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """004-034, 002-059, 000-089: siblings ran to their end, what is finished is kept."""
    parts = [{"fails_on_attempts": 1 if n == 500 else 0} for n in range(SIZE)]
    job = shop.submit({"part": Step(kind="brittle", items=parts), "join": COUNT})
    with shop.working(slots=4):
        until(lambda: shop.job(job).finished_at is not None)
        broken = {task.step: task.state for task in shop.tasks(job) if task.state is not State.DONE}
        claims = sum(task.lease_epoch for task in shop.tasks(job))
        failed = shop.job(job).status

        monkeypatch.setenv("RUSHES_STAGES", "tests.stages")
        answer = CliRunner().invoke(
            app, ["--database-url", shop.db.url, "jobs", "retry", job, "--json"]
        )
        assert answer.exit_code == 0, answer.output
        until(lambda: shop.job(job).status is Status.COMPLETED)

    assert (failed, broken) == (
        Status.FAILED,
        {"part": State.ERROR, "join": State.SKIPPED},
    )
    assert sum(task.lease_epoch for task in shop.tasks(job)) == claims + 2
    assert json.loads(shop.tasks(job)[-1].result or "")["results"] == SIZE
