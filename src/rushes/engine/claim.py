"""Hands out work: READY tasks of a lane, in the order in which they are due."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rushes.domain.event import EventType
from rushes.domain.task import Claim, Move
from rushes.engine.engine import Engine, millis
from rushes.engine.journal import Journal
from rushes.observability import failpoints
from rushes.store.database import Row, Transaction


def claim(
    engine: Engine, owner: str, want: Mapping[str, int], *, now: int | None = None
) -> list[Claim]:
    """Claim up to `want[lane]` tasks of each lane for the worker process `owner`."""

    def work(tx: Transaction) -> list[Claim]:
        journal = Journal()
        claims = take(tx, engine, owner, want, journal)
        start(tx, claims, journal)
        journal.write(tx)
        failpoints.hit("claim.before_commit")
        return claims

    claims = engine.db.transact(work, now=now)
    if claims:
        failpoints.hit("claim.after_commit")
    return claims


def take(
    tx: Transaction, engine: Engine, owner: str, want: Mapping[str, int], journal: Journal
) -> list[Claim]:
    """The same inside a transaction that does more, such as completing the work before.

    The jobs of the claims are left to `start`.
    """
    rows: list[Row] = []
    for lane, n in want.items():
        if n > 0:
            rows += tx.rows(
                "claim",
                owner=owner,
                lane=lane,
                n=n,
                lease_ms=millis(engine.limits.lease),
                **timing(engine),
            )
    if rows:
        journal.moved(Move.CLAIM, rows, worker=owner)
    return [_claim(row) for row in sorted(rows, key=lambda row: (row["due_at"], row["id"]))]


def start(tx: Transaction, claims: Iterable[Claim], journal: Journal) -> None:
    """Start those jobs of these claims that were queued until now."""
    jobs = sorted({claim.job_id for claim in claims})
    for row in tx.rows("start_jobs", jobs=[{"id": job_id} for job_id in jobs]) if jobs else ():
        journal.add(EventType.JOB_STARTED, row["id"])


def timing(engine: Engine) -> dict[str, object]:
    """The numbers that decide whether a worker may take a task."""
    return {
        "grace_ms": millis(engine.limits.gpu_grace),
        "late_ms": millis(engine.limits.late_after),
    }


def _claim(row: Row) -> Claim:
    return Claim(
        row["id"],
        row["epoch"],
        row["owner"],
        row["job_id"],
        row["kind"],
        row["step"],
        row["item"],
        row["attempt"],
        row["max_attempts"],
        row["lease_ms"],
        row["params"],
        row["checkpoint"],
    )
