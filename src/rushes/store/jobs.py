"""Reads jobs as people look at them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from rushes.domain import graph
from rushes.domain.job import Job, Status
from rushes.domain.job import percent as job_percent
from rushes.domain.readable import readable
from rushes.errors import Invalid, NotFound
from rushes.store.database import Row, Transaction

SHORTEST, WHOLE = 4, 36
HEX = frozenset("0123456789abcdef-")
_WILD = re.compile(r"[%_!]")


class Which(NamedTuple):
    """Which jobs; `text` is a part of the label or id, `code` and `step` are how they failed."""

    status: str | None = None
    kind: str | None = None
    text: str | None = None
    code: str | None = None
    step: str | None = None


EVERY = Which()


def is_id(text: str) -> bool:
    """Return whether this is an id at all; else PostgreSQL could not even look for it."""
    try:
        graph.check_id(text)
    except Invalid:
        return False
    return True


def check_id(job_id: str) -> None:
    """Raise NotFound for what is no id at all."""
    if not is_id(job_id):
        raise NotFound(f"there is no job {job_id}")


def get(tx: Transaction, job_id: str) -> Job:
    check_id(job_id)
    rows = tx.rows("job", id=job_id)
    if not rows:
        raise NotFound(f"there is no job {job_id}")
    return from_row(rows[0])


def find(tx: Transaction, text: str, *, owner: str | None = None) -> str:
    """Return the id of the one job whose id begins or ends with `text`; `@last` is the newest.

    With `owner`, of his jobs: those of others are not there.
    """
    if text == "@last":
        rows: Sequence[Row] = tx.rows("newest_job", owner=owner)
    elif len(text) < SHORTEST or not set(text) <= HEX:
        raise NotFound(f"{text!r} is not the id of a job", hint="rushes jobs list shows them")
    elif len(text) >= WHOLE:
        rows = tx.rows("whole_job", id=text, owner=owner) if is_id(text) else ()
    else:
        rows = tx.rows("find_jobs", starts=f"{text}%", ends=f"%{text}", owner=owner)
    if not rows:
        raise NotFound(f"there is no job {text}", hint="rushes jobs list shows them")
    if len(rows) > 1:
        raise Invalid(f"{text!r} fits more than one job; give more characters")
    return str(rows[0]["id"])


def list_page(
    tx: Transaction,
    which: Which = EVERY,
    *,
    before: str | None = None,
    owner: str | None = None,
    limit: int = 50,
) -> list[Job]:
    """Return jobs, newest first; `before` is the id of the last one of the page before."""
    like = _WILD.sub(r"!\g<0>", which.text.lower()) if which.text else None
    wanted = which._replace(text=f"%{like}%" if like else None)._asdict()
    rows = tx.rows("list_jobs", **wanted, before=before, owner=owner, n=limit)
    return [from_row(row) for row in rows]


def some(tx: Transaction, ids: Iterable[str], *, owner: str | None = None) -> list[Job]:
    """Return those of these jobs that are there, newest first."""
    wanted = [{"id": job_id} for job_id in set(ids) if is_id(job_id)]
    return [from_row(row) for row in tx.rows("some_jobs", jobs=wanted, owner=owner)]


def percent(tx: Transaction, page: Sequence[Job]) -> dict[str, int]:
    """Return the progress of each job of a page, as domain/job.py defines it."""
    steps: dict[str, dict[str, float]] = {job.id: {} for job in page}
    for row in tx.rows("step_progress", jobs=[{"id": job.id} for job in page]):
        steps[row["job_id"]][row["step"]] = row["reached"] / row["tasks"]
    return {job.id: job_percent(job.status, steps[job.id], job.weights) for job in page}


def counts(tx: Transaction, *, owner: str | None = None) -> dict[Status, int]:
    found = {row["status"]: row["n"] for row in tx.rows("count_jobs", owner=owner)}
    return {status: found.get(status, 0) for status in Status}


def from_row(row: Row) -> Job:
    reported = readable(row["reported"], [])
    read = {
        "status": Status(row["status"]),
        "plan": readable(row["plan"], {}),
        "reported": reported,
        "warnings": row["warnings"] + len(reported),
    }
    return Job(**{**row, **read})
