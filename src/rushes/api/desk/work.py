"""What is done now for jobs and videos: for lists, which must not read all tasks behind them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rushes.api import models, views
from rushes.domain.asset import Asset
from rushes.domain.job import FINISHED, Job, Status
from rushes.engine.waiting import why_in
from rushes.library.library import Library
from rushes.store import jobs, tasks
from rushes.store.database import Transaction


def works_on(tx: Transaction, library: Library, page: Sequence[Asset]) -> dict[str, models.Work]:
    """Return the work on each of these videos that a job is not finished with."""
    open_jobs = {
        asset.id: jobs.get(tx, asset.job_id)
        for asset in page
        if asset.job_id is not None and asset.job_status not in (None, *FINISHED)
    }
    works = works_of(tx, library, open_jobs.values())
    return {asset_id: works[job.id] for asset_id, job in open_jobs.items()}


def works_of(tx: Transaction, library: Library, found: Iterable[Job]) -> dict[str, models.Work]:
    """Return the work of each of these jobs that is not finished."""
    open_jobs = [job for job in found if job.status not in FINISHED]
    if not open_jobs:
        return {}
    [clock] = tx.rows("clock")
    percents = jobs.percent(tx, open_jobs)
    return {
        job.id: models.Work(
            percent=percents[job.id],
            steps=_steps(tx, job),
            eta_seconds=eta_seconds(job, percents[job.id], clock["now"]),
            waits_for=_reason(tx, library, job),
            workers=_workers(tx, job),
        )
        for job in open_jobs
    }


def eta_seconds(job: Job, percent: int, now: int) -> int | None:
    """Return how long a job will probably still run, by what it has done so far."""
    if job.status is not Status.RUNNING or job.started_at is None or percent <= 0:
        return None
    return round((now - job.started_at) * (100 - percent) / percent / 1000)


def _steps(tx: Transaction, job: Job) -> dict[str, dict[str, int]]:
    rows = tx.rows("step_states", job_id=job.id)
    return views.steps(job, ((row["step"], row["state"], row["n"]) for row in rows))


def _workers(tx: Transaction, job: Job) -> list[str]:
    owners = (str(row["owner"]) for row in tx.rows("owners_of_job", job_id=job.id))
    return sorted({views.name_of(owner) or owner for owner in owners})


def _reason(tx: Transaction, library: Library, job: Job) -> str | None:
    """Return why nobody has begun."""
    if job.status is not Status.QUEUED:
        return None
    ready = tx.rows("next_of_job", job_id=job.id)
    found = why_in(tx, library.engine, tasks.get(tx, ready[0]["id"])) if ready else None
    return found.text if found else None
