"""An engine with a clock that only the test moves, and short words for what tests do to it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from random import Random
from typing import Any

from rushes.domain.event import Event
from rushes.domain.failure import failure
from rushes.domain.graph import JobRequest, Step
from rushes.domain.job import Job
from rushes.domain.kind import Kind
from rushes.domain.outcome import Beat, Done, Failed, HandedBack
from rushes.domain.task import Claim, Task
from rushes.domain.waiting import Waiting
from rushes.engine import complete, operator, orchestrator, recovery, waiting
from rushes.engine.claim import claim
from rushes.engine.engine import Engine, Limits, Projection, millis
from rushes.engine.presence import Introduction, register
from rushes.engine.recovery import Recovered
from rushes.engine.submit import submit
from rushes.observability import failpoints
from rushes.store import events, jobs, tasks
from rushes.store.database import Database

NOON = 1_767_268_800_000  # 2026-01-01 12:00 UTC, in ms
NOBODY = "00000000-0000-7000-8000-000000000000"  # the id of no job


class World:
    """`now` is passed to every call; `tick` moves it."""

    def __init__(
        self,
        db: Database,
        kinds: Mapping[str, Kind],
        *,
        limits: Limits | None = None,
        projections: Mapping[str, Projection] | None = None,
    ) -> None:
        self.db = db
        self.engine = Engine(
            db=db,
            kinds=kinds,
            limits=limits or Limits(),
            projections=projections or {},
            random=Random(1),
        )
        self.now = NOON

    @property
    def lease(self) -> timedelta:
        return self.engine.limits.lease

    def tick(self, duration: timedelta | float) -> None:
        """Let time pass; a number is seconds."""
        self.now += millis(
            duration if isinstance(duration, timedelta) else timedelta(seconds=duration)
        )

    def worker(
        self,
        name: str = "ann",
        *,
        lanes: Mapping[str, int] | None = None,
        kinds: Iterable[str] | None = None,
        capabilities: Iterable[str] = (),
    ) -> str:
        """Register a worker and return its owner string."""
        introduction = Introduction(
            name=name,
            lanes=lanes or {"default": 4, "gpu": 1},
            kinds=frozenset(kinds if kinds is not None else self.engine.kinds),
            capabilities=frozenset(capabilities),
        )
        return register(self.engine, introduction, now=self.now)

    def submit(self, steps: Mapping[str, Step] | None = None, **options: Any) -> str:
        """Submit a job, one no-op unless `steps` are given, and return its id."""
        request = JobRequest(kind="test", steps=steps or {"noop": Step()})
        return submit(self.engine, replace(request, **options), now=self.now).job_id

    def claim(self, owner: str, n: int = 1, lane: str = "default") -> list[Claim]:
        return claim(self.engine, owner, {lane: n}, now=self.now)

    def complete(self, claim: Claim, result: object = None, *, owner: str | None = None) -> bool:
        """Report success. Returns whether it was accepted."""
        outcome = Done(claim.id, claim.epoch, json.dumps(result))
        return not complete.report(self.engine, owner or claim.owner, [outcome], now=self.now)

    def fail(
        self, claim: Claim, code: str = "PROCESSING_ERROR", *, retryable: bool | None = None
    ) -> bool:
        """Report a failure. Returns whether it was accepted."""
        record = failure(code, "it broke", error_type="Broken", retryable=retryable)
        outcome = Failed(claim.id, claim.epoch, record)
        return not complete.report(self.engine, claim.owner, [outcome], now=self.now)

    def hand_back(self, claim: Claim) -> bool:
        outcome = HandedBack(claim.id, claim.epoch)
        return not complete.report(self.engine, claim.owner, [outcome], now=self.now)

    def beat(self, claim: Claim, **news: Any) -> str | None:
        """Renew a lease. Returns why it is gone, or None when it is held."""
        beat = Beat(id=claim.id, epoch=claim.epoch, **news)
        return complete.extend(self.engine, claim.owner, [beat], now=self.now).get(claim.id)

    def finish(self, owner: str, *, lane: str = "default") -> list[Claim]:
        """Claim and complete until nothing is ready. Returns what was run, in order."""
        ran: list[Claim] = []
        while claims := self.claim(owner, 100, lane):
            outcomes = [Done(each.id, each.epoch, "null") for each in claims]
            assert not complete.report(self.engine, owner, outcomes, now=self.now)
            ran += claims
        return ran

    def kill(self, job_id: str, **attribution: Any) -> Job:
        return operator.kill(self.engine, job_id, now=self.now, **attribution)

    def requeue(self, job_id: str, **choice: Any) -> int:
        return operator.requeue(self.engine, job_id, now=self.now, **choice)

    def why(self, task_id: int) -> Waiting | None:
        return waiting.why(self.engine, task_id, now=self.now)

    def recover(self) -> Recovered:
        return recovery.run_once(self.engine, now=self.now)

    def advance(self) -> int:
        return orchestrator.run_once(self.engine, now=self.now)

    def job(self, job_id: str) -> Job:
        return self.db.read(lambda tx: jobs.get(tx, job_id))

    def task(self, task_id: int) -> Task:
        return self.db.read(lambda tx: tasks.get(tx, task_id))

    def tasks(self, job_id: str) -> list[Task]:
        return self.db.read(lambda tx: tasks.of_job(tx, job_id))

    def events(self, job_id: str | None = None) -> list[Event]:
        quieten(self.db)
        return self.db.read(lambda tx: events.after(tx, job_id=job_id))

    def attempts(self, job_id: str) -> list[dict[str, Any]]:
        return self.db.read(lambda tx: tasks.attempts(tx, job_id))

    def states(self, job_id: str) -> dict[str, list[str]]:
        """Return the states of a job's tasks, by step and in order of their items."""
        found: dict[str, list[str]] = {}
        for task in sorted(self.tasks(job_id), key=lambda task: task.item):
            found.setdefault(task.step, []).append(str(task.state))
        return found


def sql(db: Database, text: str) -> list[dict[str, Any]]:
    """Run a statement that the store does not have, outside any transaction of it."""
    if db.dialect == "sqlite":
        return [dict(row) for row in db._writer.execute(text).fetchall()]  # type: ignore[attr-defined]
    with db._pool.connection() as connection:  # type: ignore[attr-defined]
        cursor = connection.execute(text)
        return list(cursor.fetchall()) if cursor.description else []


def quieten(db: Database) -> None:
    """Wait until the feed shows all that is committed.

    On PostgreSQL a writer anywhere in the server holds the feed, also one of another test.
    """
    if db.dialect == "sqlite":
        return
    held = "SELECT id FROM events WHERE xid >= pg_snapshot_xmin(pg_current_snapshot()) LIMIT 1"
    give_up = time.monotonic() + 30
    while sql(db, held):
        assert time.monotonic() < give_up, "somebody holds the feed"


@contextmanager
def armed(specification: str) -> Iterator[None]:
    """Let failpoints act, as RUSHES_FAILPOINTS would have it."""
    failpoints.arm(specification)
    try:
        yield
    finally:
        failpoints.arm("")


@contextmanager
def interrupted(name: str, action: Callable[[], None]) -> Iterator[None]:
    """Run `action` whenever the program reaches the failpoint `name`."""
    failpoints.call(name, action)
    try:
        yield
    finally:
        failpoints.call(name, None)
