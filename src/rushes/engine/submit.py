"""Takes jobs in: job, tasks, edges and event in one transaction, or nothing at all.

Repeating a submit is harmless: the id of a job, its idempotency key and its dedupe key
each find the job that was made before.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from rushes.domain.event import EventType
from rushes.domain.graph import (
    JobRequest,
    Params,
    Step,
    item_params,
    kind_of,
    task_priority,
    validate,
)
from rushes.domain.kind import stage_offer
from rushes.engine.advance import Feed
from rushes.engine.engine import Engine, millis
from rushes.engine.journal import Journal
from rushes.errors import ActiveJobExists, Conflict, Invalid, KeyReused
from rushes.observability import failpoints
from rushes.store.database import Row, Transaction
from rushes.store.ids import new_id

BULK = 5_000  # tasks per statement: a few megabytes of JSON


@dataclass(frozen=True, slots=True)
class Submitted:
    """The job that stands for a request. `created` is false when it was there before."""

    job_id: str
    created: bool = True


def submit(engine: Engine, request: JobRequest, *, now: int | None = None) -> Submitted:
    """Make one job. Raises Invalid, KeyReused or ActiveJobExists; then nothing was written."""
    [submitted] = submit_many(engine, [request], now=now)
    return submitted


def submit_many(
    engine: Engine, requests: Iterable[JobRequest], *, now: int | None = None
) -> list[Submitted]:
    """Make several jobs in one transaction: all of them, or none."""
    wanted = [replace(request, id=request.id or new_id()) for request in requests]
    for request in wanted:
        validate(request, engine.kinds)
    _check_ids(wanted)

    submitted = engine.db.transact(lambda tx: _submit(tx, engine, wanted), now=now)
    failpoints.hit("job.after_commit")
    return submitted


def add(tx: Transaction, engine: Engine, request: JobRequest) -> Submitted:
    """The same inside a transaction that does more, such as adding what the job is about."""
    wanted = replace(request, id=request.id or new_id())
    validate(wanted, engine.kinds)
    [submitted] = _submit(tx, engine, [wanted])
    return submitted


def _check_ids(requests: Sequence[JobRequest]) -> None:
    seen: set[str] = set()
    for id, _ in _by_id(requests):
        if id in seen:
            raise Invalid(f"job {id} is asked for twice")
        seen.add(id)


def _submit(tx: Transaction, engine: Engine, requests: Sequence[JobRequest]) -> list[Submitted]:
    known = {id: job for id, request in _by_id(requests) if (job := _known_by_key(tx, request))}
    created: list[JobRequest] = []
    while fresh := [request for id, request in _by_id(requests) if id not in known]:
        inserted = _insert_jobs(tx, fresh)
        created += [request for id, request in _by_id(fresh) if id in inserted]
        for id, request in _by_id(fresh):
            job = Submitted(id) if id in inserted else _rival(tx, request)
            if job is not None:  # else the rival has ended since, and left its place
                known[id] = job

    _insert_tasks(tx, engine, created)
    failpoints.hit("job.before_commit")
    return [known[id] for id, _ in _by_id(requests)]


def _by_id(requests: Iterable[JobRequest]) -> list[tuple[str, JobRequest]]:
    return [(str(request.id), request) for request in requests]


def _known_by_key(tx: Transaction, request: JobRequest) -> Submitted | None:
    """Return the job of an idempotency key used before; keep the key for this one if not."""
    if request.idempotency_key is None:
        return None
    owner, digest = request.owner or "", request_hash(request)
    kept = tx.rows(
        "keep_key", owner=owner, key=request.idempotency_key, request_hash=digest, job_id=request.id
    )
    if kept:
        return None
    [known] = tx.rows("kept_key", owner=owner, key=request.idempotency_key)
    if known["request_hash"] != digest:
        raise KeyReused(
            f"idempotency key {request.idempotency_key!r} was used for another request",
            job_id=known["job_id"],
            hint="use a new key for a new request",
        )
    return Submitted(known["job_id"], created=known["job_id"] == request.id)


def _insert_jobs(tx: Transaction, requests: Sequence[JobRequest]) -> set[str]:
    rows = tx.rows("add_jobs", jobs=[_job_row(request) for request in requests])
    return {row["id"] for row in rows}


def _job_row(request: JobRequest) -> dict[str, object]:
    return {
        "id": request.id,
        "kind": request.kind,
        "label": request.label,
        "owner": request.owner,
        "priority": request.priority,
        "open_tasks": sum(len(item_params(step)) for step in request.steps.values()),
        "plan": _dump({name: _plan_entry(name, step) for name, step in request.steps.items()}),
        "spec": _dump(request.spec),
        "dedupe_key": request.dedupe_key,
        "request_hash": request_hash(request),
    }


def _plan_entry(name: str, step: Step) -> dict[str, object]:
    return {
        "kind": kind_of(name, step),
        "after": list(step.after),
        "each": step.each,
        "weight": step.weight,
        "priority": step.priority,
        "boost": step.boost,
    }


def _rival(tx: Transaction, request: JobRequest) -> Submitted | None:
    """Return the job that kept this one from being made, if it is the same request."""
    rivals = tx.rows("rival", id=request.id, dedupe_key=request.dedupe_key)
    if not rivals:
        return None
    [rival] = rivals
    is_same = rival["request_hash"] == request_hash(request)
    if rival["id"] == request.id:
        if not is_same:
            raise Conflict(f"{request.id} is another job", job_id=rival["id"])
        return Submitted(rival["id"])
    if not is_same:
        raise ActiveJobExists(
            f"job {rival['id']} is active for {request.dedupe_key!r}",
            job_id=rival["id"],
            hint="wait for it, or kill it first",
        )
    owner, key = request.owner or "", request.idempotency_key
    tx.run("point_key", owner=owner, key=key, job_id=rival["id"])
    return Submitted(rival["id"], created=False)


def _insert_tasks(tx: Transaction, engine: Engine, requests: Sequence[JobRequest]) -> None:
    ids: dict[tuple[str, str], list[int]] = {}
    ready: dict[str, list[int]] = {}
    rows = [row for request in requests for row in _task_rows(engine, request)]
    for start in range(0, len(rows), BULK):
        for added in tx.rows("add_tasks", tasks=rows[start : start + BULK]):
            ids.setdefault((added["job_id"], added["step"]), []).append(added["id"])
            _note_ready(tx, added, ready)
    edges = [edge for request in requests for edge in _edges(request, ids)]
    for start in range(0, len(edges), BULK):
        tx.run("add_edges", edges=edges[start : start + BULK])

    journal = Journal()
    for request in requests:
        journal.add(
            EventType.JOB_SUBMITTED,
            request.id,
            kind=request.kind,
            by=request.owner,
            ready=ready.get(str(request.id), []),
        )
    journal.write(tx)


def _note_ready(tx: Transaction, added: Row, ready: dict[str, list[int]]) -> None:
    if added["state"] == "ready":
        ready.setdefault(added["job_id"], []).append(added["id"])
        tx.woken.add(added["lane"])


def _task_rows(engine: Engine, request: JobRequest) -> Iterable[dict[str, object]]:
    sizes = {name: len(item_params(step)) for name, step in request.steps.items()}
    feeds = _feeds(request.steps)
    parents = {parent for step in request.steps.values() for parent in step.after}
    for name, step in request.steps.items():
        shared = _step_row(engine, request, name, step)
        shared["open_parents"] = sum(sizes[parent] for parent in dict.fromkeys(step.after))
        shared["has_children"] = name in parents
        shared["feeds"] = _dump(feeds[name]) if name in feeds else None
        priority = task_priority(request.priority, step.priority)
        for item, params in enumerate(item_params(step)):
            wait_ms = engine.wait_ms(priority, step.boost, item)
            yield {**shared, "item": item, "wait_ms": wait_ms, "params": _dump(params)}


def _step_row(engine: Engine, request: JobRequest, name: str, step: Step) -> dict[str, object]:
    kind = engine.kinds[kind_of(name, step)]
    return {
        "job_id": request.id,
        "step": name,
        "kind": kind.name,
        "lane": kind.lane,
        "run_at": request.run_at,
        "max_attempts": step.max_attempts or kind.max_attempts,
        "optional": step.optional,
        "priority": task_priority(request.priority, step.priority),
        "stall_ms": millis(kind.stall),
        "hard_ms": millis(kind.hard_limit),
        "needs": sorted({stage_offer(kind.name), *kind.needs}),
        "prefers": sorted(kind.prefers),
        "each": step.each,
    }


def _feeds(steps: Mapping[str, Step]) -> dict[str, list[Feed]]:
    """Return, for each step, the lists that fan-outs read from its result.

    The first parent of a fan-out must bring its list, the others may.
    """
    feeds: dict[str, list[Feed]] = {}
    for name, step in steps.items():
        if step.each is not None:
            for number, parent in enumerate(dict.fromkeys(step.after)):
                feeds.setdefault(parent, []).append((name, step.each, number == 0))
    return feeds


def _edges(request: JobRequest, ids: dict[tuple[str, str], list[int]]) -> Iterable[dict[str, int]]:
    job_id = str(request.id)
    for name, step in request.steps.items():
        for parent in dict.fromkeys(step.after):
            for parent_id in ids[job_id, parent]:
                for child_id in ids[job_id, name]:
                    yield {"parent_id": parent_id, "child_id": child_id}


def request_hash(request: JobRequest) -> str:
    """Return a digest of what is asked for, without the keys it is asked under."""
    steps = {
        name: [
            *_plan_entry(name, step).values(),
            step.optional,
            step.max_attempts,
            [dict(params) for params in item_params(step)],
        ]
        for name, step in request.steps.items()
    }
    asked = [
        request.kind,
        request.label,
        request.owner,
        request.priority,
        request.run_at,
        dict(request.spec),
        steps,
    ]
    return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()


def _dump(value: Params | object) -> str:
    return json.dumps(value, separators=(",", ":"))
