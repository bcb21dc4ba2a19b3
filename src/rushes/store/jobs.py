"""Reads jobs as people look at them."""

from __future__ import annotations

import json
from collections.abc import Sequence

from rushes.domain import graph
from rushes.domain.job import Job, Status
from rushes.domain.job import percent as job_percent
from rushes.errors import Invalid, NotFound
from rushes.store.database import Row, Transaction

SHORTEST = 4
HEX = frozenset("0123456789abcdef-")


def check_id(job_id: str) -> None:
    """Raise NotFound for what is no id at all; PostgreSQL could not even look for it."""
    try:
        graph.check_id(job_id)
    except Invalid as error:
        raise NotFound(f"there is no job {job_id}") from error


def get(tx: Transaction, job_id: str) -> Job:
    check_id(job_id)
    rows = tx.rows("job", id=job_id)
    if not rows:
        raise NotFound(f"there is no job {job_id}")
    return from_row(rows[0])


def find(tx: Transaction, text: str) -> str:
    """Return the id of the one job whose id begins or ends with `text`; `@last` is the newest."""
    if text == "@last":
        rows: Sequence[Row] = tx.rows("newest_job")
    elif len(text) < SHORTEST or not set(text) <= HEX:
        raise NotFound(f"{text!r} is not the id of a job", hint="rushes jobs list shows them")
    else:
        rows = tx.rows("find_jobs", starts=f"{text}%", ends=f"%{text}")
    if not rows:
        raise NotFound(f"there is no job {text}", hint="rushes jobs list shows them")
    if len(rows) > 1:
        raise Invalid(f"{text!r} fits more than one job; give more characters")
    return str(rows[0]["id"])


def list_page(
    tx: Transaction,
    *,
    status: str | None = None,
    kind: str | None = None,
    before: str | None = None,
    limit: int = 50,
) -> list[Job]:
    """Return jobs, newest first; `before` is the id of the last one of the page before."""
    rows = tx.rows("list_jobs", status=status, kind=kind, before=before, n=limit)
    return [from_row(row) for row in rows]


def percent(tx: Transaction, page: Sequence[Job]) -> dict[str, int]:
    """Return the progress of each job of a page, as domain/job.py defines it."""
    steps: dict[str, dict[str, float]] = {job.id: {} for job in page}
    for row in tx.rows("step_progress", jobs=[{"id": job.id} for job in page]):
        steps[row["job_id"]][row["step"]] = row["reached"] / row["tasks"]
    return {job.id: job_percent(job.status, steps[job.id], job.weights) for job in page}


def counts(tx: Transaction) -> dict[Status, int]:
    found = {row["status"]: row["n"] for row in tx.rows("count_jobs")}
    return {status: found.get(status, 0) for status in Status}


def from_row(row: Row) -> Job:
    values = dict(row)
    return Job(**{**values, "status": Status(row["status"]), "plan": json.loads(row["plan"])})
