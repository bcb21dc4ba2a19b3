"""Workers are killed, frozen and stopped; the database breaks off. Nothing is lost.

The same code runs 100 kills in `make test` and 5,000 in `make soak`.
"""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from datetime import timedelta
from random import Random

import psycopg
import pytest

import tests.stages  # noqa: F401  (registers the stages)
from rushes.domain.graph import JobRequest, Step
from rushes.domain.job import Status
from rushes.engine import doctor
from rushes.engine.engine import Engine, Limits
from rushes.engine.loops import Maintenance
from rushes.engine.submit import submit, submit_many
from rushes.errors import Unavailable
from rushes.stages.registry import STAGES, kinds
from rushes.store import jobs, tasks
from rushes.store.database import Database, open_database
from tests.chaos.fleet import ENDLESS, Fleet
from tests.freezing import freeze
from tests.postgres import PostgresServer

SOAK = os.environ.get("RUSHES_SOAK") == "1"
KILLS = 2_500 if SOAK else 50
TASKS = 20  # per job
ENDS_WITHIN = 120
LONG = pytest.mark.soak if SOAK else pytest.mark.timeout(300)


@contextmanager
def engine_on(url: str, *, max_losses: int = 1_000_000) -> Iterator[Engine]:
    with closing(open_database(url)) as database:
        database.migrate()
        limits = Limits(lease=timedelta(seconds=1), max_losses=max_losses)
        engine = Engine(db=database, kinds=kinds(STAGES), limits=limits)
        maintenance = Maintenance(
            engine,
            "the test",
            recover_every=timedelta(seconds=0.2),
            advance_every=timedelta(seconds=0.2),
        )
        maintenance.start()
        try:
            yield engine
        finally:
            maintenance.stop()


def feed(engine: Engine, n: int) -> list[str]:
    """Submit `n` jobs of naps with a finalizer that counts them."""
    steps = {
        "nap": Step(
            items=[{"milliseconds": 15, "steps": 1 + n % 3} for n in range(TASKS)],
            max_attempts=1_000,
        ),
        "count": Step(after=("nap",), max_attempts=1_000),
    }
    submitted = submit_many(engine, [JobRequest(kind="chaos", steps=steps) for _ in range(n)])
    return [job.job_id for job in submitted]


def endure(engine: Engine, fleet: Fleet, meanwhile: Callable[[], None] = lambda: None) -> list[str]:
    """Keep the queue filled while workers die; then let the last ones finish."""
    submitted: list[str] = []

    def keep_busy() -> None:
        meanwhile()
        with suppress(Unavailable):
            if open_jobs(engine.db) < 10:
                submitted.extend(feed(engine, 10))

    fleet.run(KILLS, pause=0.12, meanwhile=keep_busy)
    deadline = time.monotonic() + ENDS_WITHIN
    while open_jobs(engine.db):
        assert time.monotonic() < deadline, "some jobs do not end"
        fleet.refill()
        time.sleep(0.05)
    return submitted


def open_jobs(db: Database) -> int:
    counts = db.read(jobs.counts)
    return counts[Status.QUEUED] + counts[Status.RUNNING]


def check(engine: Engine, submitted: list[str]) -> None:
    """Every job completed; every task accepted exactly once; every finalizer saw them all."""
    assert doctor.examine(engine, strict=True).violations == []
    db = engine.db
    for job_id in submitted:
        job = db.read(lambda tx, job_id=job_id: jobs.get(tx, job_id))  # type: ignore[misc]
        rows = db.read(lambda tx, job_id=job_id: tasks.of_job(tx, job_id))  # type: ignore[misc]
        attempts = db.read(lambda tx, job_id=job_id: tasks.attempts(tx, job_id))  # type: ignore[misc]
        done = [attempt["task_id"] for attempt in attempts if attempt["outcome"] == "done"]
        assert job.status is Status.COMPLETED
        assert sorted(done) == [task.id for task in rows]
        assert json.loads(rows[-1].result or "") == {"results": TASKS, "distinct": TASKS}


@LONG
def test_killed_workers_lose_nothing_on_sqlite(sqlite_url: str) -> None:
    """000-112, 000-155, 000-160, 001-018, 003-076."""
    with engine_on(sqlite_url) as engine, Fleet(sqlite_url, 4, seed=1, **ENDLESS) as fleet:
        submitted = endure(engine, fleet)

        assert submitted
        check(engine, submitted)


@LONG
def test_killed_workers_and_a_failing_server_lose_nothing_on_postgres() -> None:
    """000-112, 000-155, 000-157, 000-160, 001-018, 003-028."""
    with PostgresServer(fsync=False) as server:
        url = server.create_database("chaos")
        with engine_on(url) as engine, Fleet(url, 4, seed=2, **ENDLESS) as fleet:
            submitted = endure(engine, fleet, Trouble(server, url))

            assert submitted
            check(engine, submitted)


class Trouble:
    """Terminates backends now and then, and stops the server under load, less often."""

    def __init__(self, server: PostgresServer, url: str) -> None:
        self._server = server
        self._url = url
        self._random = Random(3)

    def __call__(self) -> None:
        luck = self._random.random()
        if luck < 0.02:
            self._server.stop(mode="immediate")
            time.sleep(self._random.uniform(0, 1))
            self._server.start()
        elif luck < 0.2:
            with psycopg.connect(self._url, autocommit=True) as connection:
                connection.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                    " WHERE datname = current_database() AND pid <> pg_backend_pid()"
                )


def test_frozen_worker_wakes_up_and_changes_nothing(database_url: str) -> None:
    """000-117, 000-153, 001-014, 001-018: SIGSTOP longer than the lease."""
    with engine_on(database_url) as engine, Fleet(database_url, 1, seed=4, **ENDLESS) as fleet:
        job = submit_one(
            engine, {"oversleep": Step(params={"milliseconds": 3_000}, max_attempts=9)}
        )
        wait_for(lambda: status_of(engine, job) is Status.RUNNING)
        [frozen] = fleet.pids
        freeze(frozen, database_url)
        with Fleet(database_url, 1, seed=5, **ENDLESS):
            wait_for(lambda: status_of(engine, job) is Status.COMPLETED)
            os.kill(frozen, signal.SIGCONT)
            after = submit_one(engine, {"nap": Step(items=[{}] * 20)})
            wait_for(lambda: status_of(engine, after) is Status.COMPLETED)

        attempts = engine.db.read(lambda tx: tasks.attempts(tx, job))

    *before, last = attempts
    assert {attempt["outcome"] for attempt in before} == {"expired"}  # once, or a starved one more
    assert last["outcome"] == "done"
    assert before[0]["owner"] != last["owner"]


def test_task_that_kills_its_worker_ends_as_poison(database_url: str) -> None:
    """003-057, 004-014, C2, C61: three lost workers in a row end it, whatever max_attempts says."""
    with engine_on(database_url, max_losses=3) as engine:
        job = submit_one(engine, {"crash": Step(max_attempts=50)})
        with Fleet(database_url, 1, seed=6) as fleet:
            wait_for(lambda: fleet.refill() or status_of(engine, job) is Status.FAILED)
        failed = engine.db.read(lambda tx: jobs.get(tx, job))
        attempts = engine.db.read(lambda tx: tasks.attempts(tx, job))

    record = json.loads(failed.failure or "{}")
    assert (failed.status, record["error_code"], record["killed_by"]) == (
        "failed",
        "WORKER_CRASHED",
        "worker_crash",
    )
    outcomes = [attempt["outcome"] for attempt in attempts]
    assert outcomes[2:] == ["exhausted"]
    assert set(outcomes[:2]) <= {"expired", "restarted"}  # an embedded restart need not wait


def submit_one(engine: Engine, steps: Mapping[str, Step]) -> str:
    return submit(engine, JobRequest(kind="chaos", steps=steps)).job_id


def status_of(engine: Engine, job_id: str) -> Status:
    return engine.db.read(lambda tx: jobs.get(tx, job_id)).status


def wait_for(condition: Callable[[], object], seconds: float = 40) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)
