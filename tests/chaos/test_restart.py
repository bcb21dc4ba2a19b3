"""An embedded worker that is killed and started again goes on at once, whatever its lease."""

from __future__ import annotations

import os
import signal

from rushes.domain.graph import Step
from rushes.domain.job import Status
from rushes.store import tasks
from tests.chaos.fleet import Fleet
from tests.chaos.test_chaos import engine_on, status_of, submit_one, wait_for

PATIENT = {"RUSHES_LEASE": "600", "RUSHES_WORKER_HEARTBEAT_INTERVAL": "0.2"}


def test_restart_takes_back_the_tasks_of_dead_processes_at_once(sqlite_url: str) -> None:
    """000-116, 000-156, 001-018: the attempt is given back, the checkpoint is kept."""
    with engine_on(sqlite_url) as engine, Fleet(sqlite_url, 1, seed=7, **PATIENT) as fleet:
        job = submit_one(engine, {"nap": Step(params={"milliseconds": 200, "steps": 15})})
        wait_for(lambda: engine.db.read(lambda tx: tasks.of_job(tx, job))[0].progress > 0)
        os.kill(fleet.pids[0], signal.SIGKILL)
        wait_for(lambda: fleet.refill() or status_of(engine, job) is Status.COMPLETED)
        attempts = engine.db.read(lambda tx: tasks.attempts(tx, job))

    assert [attempt["outcome"] for attempt in attempts] == ["restarted", "done"]
    assert [attempt["attempt"] for attempt in attempts] == [1, 1]


def test_start_of_another_worker_leaves_living_ones_alone(sqlite_url: str) -> None:
    """C3: what is not known to be dead keeps its lease."""
    with engine_on(sqlite_url) as engine, Fleet(sqlite_url, 1, seed=8, **PATIENT):
        job = submit_one(engine, {"oversleep": Step(params={"milliseconds": 1_500})})
        wait_for(lambda: status_of(engine, job) is Status.RUNNING)
        with Fleet(sqlite_url, 1, seed=9, **PATIENT):
            wait_for(lambda: status_of(engine, job) is Status.COMPLETED)
        attempts = engine.db.read(lambda tx: tasks.attempts(tx, job))

    assert [attempt["outcome"] for attempt in attempts] == ["done"]
