"""What a person may do to jobs, kinds and workers. Each call is one transaction.

A `note` writes down in it that the deed was done, and to what; who needs no record gives none.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import suppress

from rushes.domain.event import EventType
from rushes.domain.failure import KilledBy
from rushes.domain.graph import Boost, check_priority, check_text, task_priority
from rushes.domain.job import FINISHED, Job, Status
from rushes.domain.task import Move
from rushes.domain.worker import Mode
from rushes.engine.advance import job_failure, skip_children
from rushes.engine.engine import Engine
from rushes.engine.journal import Journal, record_attempts
from rushes.engine.orchestrator import BATCH, advance
from rushes.errors import ActiveJobExists, ChangedMeanwhile, Conflict, Invalid, NotFound
from rushes.store import jobs
from rushes.store.database import Row, Transaction

Note = Callable[[Transaction, str], None]


def unnoted(_tx: Transaction, _object: str) -> None:
    """Write nothing."""


def kill(  # noqa: PLR0913  (who, why, and what is written with it)
    engine: Engine,
    job_id: str,
    *,
    by: KilledBy = KilledBy.USER,
    name: str | None = None,
    reason: str | None = None,
    note: Note = unnoted,
    now: int | None = None,
) -> Job:
    """Stop a job at once: every lease of it is dead. Killing a killed job changes nothing."""
    jobs.check_id(job_id)
    check_text(reason, "the reason")
    check_text(name, "the name")

    def work(tx: Transaction) -> Job:
        tx.run("lock_job", job_id=job_id)
        job = _locked(tx, job_id)
        if job.status is Status.KILLED:
            return job
        if job.status in FINISHED:
            raise Conflict(f"job {job_id} is already {job.status}", status=job.status)
        _kill_tasks(tx, job_id, by, name, reason)
        note(tx, f"job {job_id}")
        return jobs.get(tx, job_id)

    return engine.db.transact(work, now=now)


def requeue(  # noqa: PLR0913  (what of it, who, and what is written with it)
    engine: Engine,
    job_id: str,
    *,
    kind: str | None = None,
    task_id: int | None = None,
    by: str | None = None,
    note: Note = unnoted,
    now: int | None = None,
) -> int:
    """Try a job again: what failed, was killed or was skipped for it. Finished tasks are kept.

    Returns how many tasks run again. Raises Conflict when there is nothing to try.
    """
    jobs.check_id(job_id)

    def work(tx: Transaction) -> int:
        tx.run("lock_job", job_id=job_id)
        job = _locked(tx, job_id)
        _check_no_rival(tx, job)
        tried = _requeue(tx, engine, job, kind, task_id, by)
        note(tx, f"job {job_id}")
        return tried

    return engine.db.transact(work, now=now)


def requeue_failed(
    engine: Engine,
    error_code: str,
    *,
    step: str | None = None,
    owner: str | None = None,
    by: str | None = None,
    note: Note = unnoted,
) -> dict[str, int]:
    """Try every job again that has a task in error with this code. Returns {job: tasks}.

    A job that cannot be tried again, because a newer one stands in its place, is left out.
    """
    rows = engine.db.read(
        lambda tx: tx.rows("failed_with_code", code=error_code, step=step, owner=owner)
    )
    tried: dict[str, int] = {}
    for row in rows:
        with suppress(Conflict):
            tried[row["job_id"]] = requeue(engine, row["job_id"], by=by, note=note)
    return tried


def set_priority(
    engine: Engine,
    job_id: str,
    priority: int,
    *,
    version: int | None = None,
    now: int | None = None,
) -> Job:
    """Move a job within the queue. With `version`, only if nobody changed it meanwhile."""
    check_priority(priority)

    def work(tx: Transaction) -> Job:
        job = jobs.get(tx, job_id)
        tx.run("lock_job", job_id=job_id)
        _reprioritise(tx, engine, job, priority)
        if not tx.rows("set_priority", id=job_id, priority=priority, version=version):
            if job.status not in FINISHED:
                raise ChangedMeanwhile(f"job {job_id} was changed meanwhile", version=job.version)
            raise Conflict(f"job {job_id} is {job.status}", status=job.status)
        journal = Journal()
        journal.add(EventType.JOB_PRIORITY, job_id, priority=priority)
        journal.write(tx)
        return jobs.get(tx, job_id)

    return engine.db.transact(work, now=now)


def pause(
    engine: Engine, kind: str, *, by: str, reason: str | None = None, note: Note = unnoted
) -> None:
    """Claim no more tasks of a kind; those that run go on."""
    if kind not in engine.kinds:
        raise Invalid(
            f"unknown kind {kind!r}", hint=f"known kinds: {', '.join(sorted(engine.kinds))}"
        )
    check_text(reason, "the reason")

    def work(tx: Transaction) -> None:
        tx.run("pause", kind=kind, paused_by=by, reason=reason)
        journal = Journal()
        journal.add(EventType.KIND_PAUSED, kind=kind, by=by, reason=reason)
        journal.write(tx)
        note(tx, f"kind {kind}")

    engine.db.transact(work)


def resume(engine: Engine, kind: str, *, by: str, note: Note = unnoted) -> bool:
    """Claim tasks of a kind again. Returns whether it was paused."""

    def work(tx: Transaction) -> bool:
        if not tx.rows("resume", kind=kind):
            return False
        tx.woken.update(row["lane"] for row in tx.rows("ready_lanes"))
        journal = Journal()
        journal.add(EventType.KIND_RESUMED, kind=kind, by=by)
        journal.write(tx)
        note(tx, f"kind {kind}")
        return True

    return engine.db.transact(work)


def drain(engine: Engine, worker_id: str, note: Note = unnoted) -> None:
    """Let a worker finish or hand back what it holds, and take nothing new."""
    _set_mode(engine, worker_id, Mode.DRAINING, (Mode.ACTIVE,), EventType.WORKER_DRAINING, note)


def disable(engine: Engine, worker_id: str, note: Note = unnoted) -> None:
    """Keep a worker from working until it is resumed, also when it starts again."""
    sources = (Mode.ACTIVE, Mode.DRAINING, Mode.STOPPED)
    _set_mode(engine, worker_id, Mode.DISABLED, sources, EventType.WORKER_DISABLED, note)


def resume_worker(engine: Engine, worker_id: str, note: Note = unnoted) -> None:
    """Let a drained or disabled worker work again."""
    sources = (Mode.DRAINING, Mode.DISABLED)
    _set_mode(engine, worker_id, Mode.ACTIVE, sources, EventType.WORKER_RESUMED, note)


def _kill_tasks(
    tx: Transaction, job_id: str, by: KilledBy, name: str | None, reason: str | None
) -> None:
    [progress] = tx.rows("done_of_job", job_id=job_id)
    running = tx.rows("kill_running", job_id=job_id)
    waiting = tx.rows("kill_waiting", job_id=job_id)
    record_attempts(tx, running, "killed", by)
    tx.run(
        "end_killed",
        id=job_id,
        killed_by=by,
        killed_by_name=name,
        killed_reason=reason or f"stopped by {name or by}",
        progress_at_kill=json.dumps(dict(progress)),
    )
    journal = Journal()
    journal.moved(Move.KILL, [*running, *waiting], by=by)
    journal.add(EventType.JOB_KILLED, job_id, by=by, name=name, reason=reason)
    journal.write(tx)


def _locked(tx: Transaction, job_id: str) -> Job:
    rows = tx.rows("lock_job_row", id=job_id)
    if not rows:
        raise NotFound(f"there is no job {job_id}")
    return jobs.from_row(rows[0])


def _check_no_rival(tx: Transaction, job: Job) -> None:
    """A job that runs again takes its place as the one active job of its key."""
    if job.status not in FINISHED:
        return
    rivals = tx.rows("active_rival", id=job.id)
    if rivals:
        raise ActiveJobExists(
            f"job {rivals[0]['id']} is active in its place", job_id=rivals[0]["id"]
        )


def _requeue(
    tx: Transaction, engine: Engine, job: Job, kind: str | None, task_id: int | None, by: str | None
) -> int:
    requeued = tx.rows("requeue", job_id=job.id, kind=kind, task_id=task_id)
    journal = Journal()
    journal.moved(Move.REQUEUE, requeued, by=by)
    journal.add(EventType.JOB_REQUEUED, job.id, by=by)
    skipped = _skip_again(tx, job.id, journal)
    again = [row for row in requeued if row["id"] not in skipped]
    if not any(kind in (None, row["kind"]) and task_id in (None, row["id"]) for row in again):
        raise Conflict(
            f"job {job.id} is {job.status}: there is nothing to try again", status=job.status
        )
    tx.run("recount_parents", job_id=job.id)
    standing = tx.rows("standing_failure", job_id=job.id)
    tx.run("reopen", id=job.id, failure=job_failure(standing[0]) if standing else None)
    advance(tx, engine, tx.rows("due", job_id=job.id, n=BATCH), journal)
    return len(again)


def _skip_again(tx: Transaction, job_id: str, journal: Journal) -> set[int]:
    """Skip again what depends on a failed task that was not chosen. Returns its ids."""
    skipped: set[int] = set()
    while broken := tx.rows("broken", job_id=job_id):
        skipped |= {row["id"] for row in skip_children(tx, broken, journal)}
    return skipped


def _reprioritise(tx: Transaction, engine: Engine, job: Job, priority: int) -> None:
    changes = []
    for row in tx.rows("job_orders", job_id=job.id):
        entry = job.plan[row["step"]]
        own = task_priority(priority, int(str(entry["priority"])))
        wait_ms = engine.wait_ms(own, Boost(str(entry["boost"])), row["item"])
        changes.append({"id": row["id"], "priority": own, "wait_ms": wait_ms})
    moved: Sequence[Row] = tx.rows("reprioritise", tasks=changes)
    tx.woken.update(row["lane"] for row in moved)


def _set_mode(
    engine: Engine,
    worker_id: str,
    mode: Mode,
    sources: tuple[Mode, ...],
    type: EventType,
    note: Note,
) -> None:
    def work(tx: Transaction) -> None:
        rows = tx.rows(
            "set_mode", id=worker_id, mode=mode, modes=[{"mode": source} for source in sources]
        )
        if not rows:
            raise Conflict(f"the worker is not {' or '.join(sources)}")
        journal = Journal()
        journal.add(type, worker=rows[0]["name"], owner=rows[0]["owner"])
        journal.write(tx)
        tx.woken.update(row["lane"] for row in tx.rows("ready_lanes"))
        note(tx, f"worker {rows[0]['name']}")

    engine.db.transact(work)
