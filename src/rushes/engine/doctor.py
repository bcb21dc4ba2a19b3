"""Looks whether everything is as the engine promises. Reads only; repairs nothing.

A live system is asked what its small indexes can answer, and a sample of its jobs. `strict`
reads every job and replays its events. Each batch of jobs is read at one moment, so work that
goes on meanwhile is no finding; only after `wait_for_quiet` is the answer about all of it.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from functools import partial
from typing import NamedTuple

from rushes.domain import history, job
from rushes.domain.history import TaskFacts
from rushes.domain.task import State
from rushes.domain.waiting import Reason
from rushes.engine.engine import Engine, millis
from rushes.engine.waiting import why_in
from rushes.store import tasks
from rushes.store.database import Row, Transaction

INVARIANTS = {
    "I1": "nothing is lost: what can move does",
    "I2": "a task is completed once, by its last claim",
    "I3": "final is final, until a person tries again",
    "I4": "every move is one that the table allows",
    "I5": "one lease at a time; epochs grow by one at each claim",
    "I6": "no more attempts than allowed, and none given up before",
    "I7": "status and counters of a job are what its tasks say",
    "I11": "every transition is told, every end explained",
    "I12": "an idempotency key stands for one job",
    "I17": "the maintenance loops run",
}
RECOVER_EVERY = timedelta(seconds=5)
DUE_AFTER = timedelta(seconds=10)
POLL_SECONDS = 0.1
SHOWN = 20  # ids per finding
SAMPLE = 100  # jobs of each sort that a live system is asked for
PAGE = 500  # jobs per batch, unless they are large
BATCH_TASKS = 20_000
FIRST_ID = "00000000-0000-0000-0000-000000000000"
LOOPS = ("orchestrator", "recovery")
BLOCKED = frozenset(
    {
        Reason.NO_CAPABLE_WORKER,
        Reason.WORKERS_OFFLINE,
        Reason.WORKERS_DRAINING,
        Reason.STORAGE_LOW,
        Reason.QUEUE_PAUSED,
    }
)


class Severity(StrEnum):
    VIOLATION = "violation"  # the engine broke a promise
    WARNING = "warning"  # somebody should look: work waits, or nobody looks after it


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is not as it should be; `ids` names the first tasks, jobs or workers."""

    invariant: str
    severity: Severity
    text: str
    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What was found, and how much was looked at."""

    strict: bool
    findings: list[Finding]
    checked: dict[str, int]

    @property
    def violations(self) -> list[Finding]:
        return [finding for finding in self.findings if finding.severity is Severity.VIOLATION]

    def __add__(self, other: Report) -> Report:
        checked = {**other.checked, **self.checked}
        checked["checks"] += other.checked["checks"]
        findings = _by_weight([*self.findings, *other.findings])
        return Report(strict=self.strict, findings=findings, checked=checked)


class Check(NamedTuple):
    """A statement that returns the rows which break an invariant."""

    statement: str
    invariant: str
    text: str
    severity: Severity = Severity.VIOLATION


LIVE = (
    Check("doctor_expired", "I1", "running long after the lease ran out"),
    Check("doctor_due", "I1", "not ready although nothing is in the way and the time has come"),
    Check("doctor_overload", "I5", "more tasks than slots", Severity.WARNING),
)
OF_JOBS = (
    Check("doctor_miscounted", "I1", "the count of open parents is wrong"),
    Check("doctor_completions", "I2", "not exactly one completion, of the last claim"),
    Check("doctor_early", "I4", "went on although a parent is in the way"),
    Check("doctor_leases", "I5", "the lease columns are not set exactly while running"),
    Check("doctor_attempts", "I6", "attempts and claims do not add up"),
    Check("doctor_given_up", "I6", "in error with attempts left and an error that may be retried"),
    Check("doctor_counters", "I7", "the counters of the job are not those of its tasks"),
    Check("doctor_unexplained_jobs", "I11", "no code, or not who, when and why"),
    Check("doctor_unexplained_tasks", "I11", "in error without code and phase"),
)
OF_ALL = (
    Check("doctor_orphans", "I1", "belongs to nothing that exists"),
    Check("doctor_keys", "I12", "an idempotency key of a job that does not exist"),
)


class Hit(NamedTuple):
    invariant: str
    severity: Severity
    text: str
    id: str


class _Facts(NamedTuple):
    """A row as domain/job.py reads it."""

    state: State
    step: str
    optional: bool
    lease_epoch: int
    progress: int
    skip_reason: str | None


def examine(
    engine: Engine,
    *,
    strict: bool,
    now: int | None = None,
    recover_every: timedelta = RECOVER_EVERY,
) -> Report:
    """Check the invariants: on a sample, or with `strict` on everything."""
    checked: Counter[str] = Counter(checks=len(LIVE) + len(OF_JOBS))
    hits = engine.db.read(lambda tx: _look(tx, engine, recover_every), now=now)
    if strict:
        hits += engine.db.read(lambda tx: run_checks(tx, OF_ALL))
        checked["checks"] += len(OF_ALL)
    for batch in _batches(engine, strict=strict):
        found, counts = engine.db.read(partial(_look_at, ids=batch, strict=strict))
        hits += found
        checked += counts
    return Report(strict=strict, findings=findings_of(hits), checked=dict(checked))


def wait_for_quiet(engine: Engine, timeout: timedelta) -> bool:
    """Wait until no task runs, is ready or is due. Returns whether that was reached in time."""
    deadline = time.monotonic() + timeout.total_seconds()
    while True:
        [row] = engine.db.read(lambda tx: tx.rows("doctor_open"))
        if not row["is_busy"]:
            return True
        if time.monotonic() >= deadline:
            return False
        time.sleep(POLL_SECONDS)


def _look(tx: Transaction, engine: Engine, recover_every: timedelta) -> list[Hit]:
    """What the small indexes tell."""
    tx.run("doctor_snapshot")
    hits = run_checks(
        tx,
        LIVE,
        expired_ms=4 * millis(recover_every),
        due_ms=millis(DUE_AFTER),
        short=[{"kind": kind.name} for kind in engine.kinds.values() if kind.short],
    )
    return [*hits, *_blocked(tx, engine), *_late_loops(tx, recover_every)]


def run_checks(tx: Transaction, checks: Iterable[Check], **params: object) -> list[Hit]:
    """Return the rows that break one of the checks."""
    return [
        Hit(check.invariant, check.severity, check.text, _named(row))
        for check in checks
        for row in tx.rows(check.statement, n=10 * SHOWN, **params)
    ]


def _named(row: Row) -> str:
    return f"{row['id']} ({row['detail']})" if row["detail"] else str(row["id"])


def _blocked(tx: Transaction, engine: Engine) -> list[Hit]:
    """Ready tasks that no live worker can take: nobody's fault, but it has to be visible."""
    hits = []
    for lane in [row["lane"] for row in tx.rows("doctor_lanes")]:
        heads = tx.rows("doctor_heads", lane=lane, n=10 * SHOWN)
        for head in {row["kind"]: row for row in reversed(heads)}.values():
            waiting = why_in(tx, engine, tasks.get(tx, head["id"]))
            if waiting is not None and waiting.reason in BLOCKED:
                text = f"{head['kind']} cannot start: {waiting.reason}, {waiting.text}"
                alike = [str(row["id"]) for row in heads if row["kind"] == head["kind"]]
                hits += [Hit("I1", Severity.WARNING, text, id) for id in alike]
    return hits


def _late_loops(tx: Transaction, recover_every: timedelta) -> list[Hit]:
    [clock] = tx.rows("doctor_open")
    if not clock["is_open"]:
        return []
    loops = {row["name"]: row for row in tx.rows("loops")}
    text = "the loop does not run although jobs are open"
    return [
        Hit("I17", Severity.WARNING, text, name)
        for name in LOOPS
        if _is_late(loops.get(name), clock["now"], 3 * millis(recover_every))
    ]


def _is_late(loop: Row | None, now: int, late_ms: int) -> bool:
    """A holder renews its lease at every pass; recovery also says when a pass got through."""
    if loop is None:
        return True
    if (loop["grace_until"] or 0) > now:
        return False
    if loop["ran_at"] is not None:
        return bool(loop["ran_at"] + late_ms < now)
    return (loop["held_until"] or 0) <= now


def _batches(engine: Engine, *, strict: bool) -> Iterator[list[str]]:
    """The jobs to look at, in batches that fit into memory however large the jobs are."""
    if not strict:
        yield from _split(engine.db.read(lambda tx: tx.rows("doctor_recent", n=SAMPLE)))
        return
    after = FIRST_ID
    while True:
        page = engine.db.read(partial(_page, after=after))
        yield from _split(page)
        if len(page) < PAGE:
            return
        after = page[-1]["id"]


def _page(tx: Transaction, after: str) -> Sequence[Row]:
    return tx.rows("doctor_page", after=after, n=PAGE)


def _split(page: Sequence[Row]) -> Iterator[list[str]]:
    batch: list[str] = []
    size = 0
    for row in page:
        if batch and size + row["tasks"] > BATCH_TASKS:
            yield batch
            batch, size = [], 0
        batch.append(row["id"])
        size += row["tasks"]
    if batch:
        yield batch


def _look_at(
    tx: Transaction, ids: Sequence[str], *, strict: bool
) -> tuple[list[Hit], Counter[str]]:
    tx.run("doctor_snapshot")
    jobs = [{"id": id} for id in ids]
    statuses = {row["id"]: row["status"] for row in tx.rows("doctor_jobs", jobs=jobs)}
    rows: dict[str, list[Row]] = {id: [] for id in statuses}
    for row in tx.rows("doctor_tasks", jobs=jobs):
        rows[row["job_id"]].append(row)
    hits = [*run_checks(tx, OF_JOBS, jobs=jobs), *_wrong_statuses(statuses, rows)]
    counts = Counter(jobs=len(statuses), tasks=sum(map(len, rows.values())))
    if strict:
        found, counts["events"] = _replayed(tx, jobs, statuses, rows)
        hits += found
    return hits, counts


def _wrong_statuses(statuses: dict[str, str], rows: dict[str, list[Row]]) -> list[Hit]:
    text = "the status of the job is not what its tasks say"
    return [
        Hit("I7", Severity.VIOLATION, text, id)
        for id, status in statuses.items()
        if status != _status(rows[id])
    ]


def _status(rows: Iterable[Row]) -> str | None:
    try:
        return job.status([_facts_of(row) for row in rows])
    except ValueError:  # a state that is none
        return None


def _facts_of(row: Row) -> _Facts:
    values = {name: row[name] for name in _Facts._fields}
    return _Facts(**{**values, "state": State(row["state"]), "optional": bool(row["optional"])})


def _replayed(
    tx: Transaction,
    jobs: list[dict[str, str]],
    statuses: dict[str, str],
    rows: dict[str, list[Row]],
) -> tuple[list[Hit], int]:
    """Replay the events of each job; see domain/history.py."""
    events: dict[str, list[tuple[str, str]]] = {id: [] for id in statuses}
    for row in tx.rows("doctor_events", jobs=jobs):
        events[row["job_id"]].append((row["type"], row["data"]))
    outcomes: dict[int, dict[int, str]] = {}
    ids = [row["id"] for of_job in rows.values() for row in of_job]
    for row in tx.rows("doctor_outcomes", tasks=ids):
        outcomes.setdefault(row["task_id"], {})[row["epoch"]] = row["outcome"]
    hits = [
        Hit(problem.invariant, Severity.VIOLATION, problem.text, str(problem.task or id))
        for id, status in statuses.items()
        for problem in history.problems(status, _facts(rows[id], outcomes), events[id])
    ]
    return hits, sum(map(len, events.values()))


def _facts(rows: Iterable[Row], outcomes: dict[int, dict[int, str]]) -> dict[int, TaskFacts]:
    return {
        row["id"]: TaskFacts(
            state=row["state"],
            epoch=row["lease_epoch"],
            attempt=row["attempt"],
            max_attempts=row["max_attempts"],
            owner=row["lease_owner"],
            outcomes=outcomes.get(row["id"], {}),
        )
        for row in rows
    }


def findings_of(hits: Iterable[Hit]) -> list[Finding]:
    """Return one finding per sentence, violations first."""
    ids: dict[tuple[str, Severity, str], list[str]] = {}
    for hit in hits:
        ids.setdefault(hit[:3], []).append(hit.id)
    return _by_weight(
        Finding(invariant, severity, f"{text} ({len(found)})", tuple(found[:SHOWN]))
        for (invariant, severity, text), found in ids.items()
    )


def _by_weight(findings: Iterable[Finding]) -> list[Finding]:
    return sorted(findings, key=lambda found: (found.severity, int(found.invariant[1:])))
