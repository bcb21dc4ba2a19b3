"""Answers "why is it waiting?" with the predicates that refuse the claim (sql/tasks.sql)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from rushes.domain.room import ROOM, Room
from rushes.domain.task import State, Task
from rushes.domain.waiting import Facts, Line, Pause, Refusal, Waiting, explain
from rushes.engine.claim import timing
from rushes.engine.engine import Engine, millis
from rushes.engine.recovery import LOOP
from rushes.store import tasks
from rushes.store.database import Row, Transaction


def why(engine: Engine, task_id: int, *, now: int | None = None) -> Waiting | None:
    """Return why a task does not run; None when it runs, is final, or is about to be claimed."""
    return engine.db.read(lambda tx: why_in(tx, engine, tasks.get(tx, task_id)), now=now)


def why_job(engine: Engine, job_id: str, *, now: int | None = None) -> list[tuple[Task, Waiting]]:
    """Return the waiting tasks of a job with their reasons."""

    def work(tx: Transaction) -> list[tuple[Task, Waiting]]:
        answers = [(task, why_in(tx, engine, task)) for task in tasks.of_job(tx, job_id)]
        return [(task, waiting) for task, waiting in answers if waiting is not None]

    return engine.db.read(work, now=now)


def why_in(tx: Transaction, engine: Engine, task: Task) -> Waiting | None:
    """The same inside a transaction that is open."""
    if task.state not in (State.NEW, State.READY, State.RUNNING):
        return None
    [clock] = tx.rows("clock")
    facts = Facts(
        now=clock["now"],
        parents=tasks.parents(tx, task.id) if task.open_parents else [],
        refusals=_refusals(tx, engine, task) if task.state is State.READY else [],
        line=_line(tx, task) if task.state is State.READY else None,
        pause=_pause(tx, task),
        grace_until=_grace(tx) if task.state is State.RUNNING else None,
        gpu_until=(task.ready_at or 0) + millis(engine.limits.gpu_grace),
        late_ms=millis(engine.limits.late_after),
    )
    return explain(task, facts)


def _refusals(tx: Transaction, engine: Engine, task: Task) -> list[Refusal]:
    rows = tx.rows("refusals", id=task.id, **timing(engine))
    [needs] = tx.rows("task_needs", id=task.id)
    return [_refusal(row, _array(needs["needs"]), task.lane) for row in rows]


def _refusal(row: Row, needs: Sequence[str], lane: str) -> Refusal:
    offers = _array(row["offers"])
    unserved = () if row["slots"] else (f"lane {lane}",)
    room = json.loads(row["metadata"]).get(ROOM)
    return Refusal(
        worker=row["name"],
        reason=row["refusal"],
        lacks=(*(need for need in needs if need not in offers), *unserved),
        slots=row["slots"],
        held=row["held"],
        last_heartbeat=row["last_heartbeat"],
        room=Room(**room) if room else None,
    )


def _line(tx: Transaction, task: Task) -> Line:
    [row] = tx.rows("place_in_line", id=task.id)
    return Line(ahead=row["ahead"], higher=row["higher"])


def _pause(tx: Transaction, task: Task) -> Pause | None:
    rows = [row for row in tx.rows("pauses") if row["kind"] == task.kind]
    return Pause(by=rows[0]["paused_by"], reason=rows[0]["reason"]) if rows else None


def _grace(tx: Transaction) -> int | None:
    rows = tx.rows("loop", name=LOOP)
    return rows[0]["grace_until"] if rows else None


def _array(value: Any) -> list[str]:
    return list(json.loads(value)) if isinstance(value, str) else list(value)
