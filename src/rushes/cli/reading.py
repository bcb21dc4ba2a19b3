"""What the demos read of the engine itself: a job with its tasks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rushes.domain.job import FINISHED, Job, Status
from rushes.domain.task import Task
from rushes.store import jobs, tasks

if TYPE_CHECKING:
    from rushes.app import App
    from rushes.store.database import Transaction


@dataclass(frozen=True, slots=True)
class Reading:
    """A job at one moment."""

    job: Job
    tasks: list[Task]
    percent: int

    @property
    def is_over(self) -> bool:
        return self.job.status in FINISHED


def clock(tx: Transaction) -> int:
    [row] = tx.rows("clock")
    return int(row["now"])


def open_jobs(app: App, limit: int) -> list[str]:
    """Return the jobs that are running or queued, oldest first."""

    def work(tx: Transaction) -> list[str]:
        states = (Status.RUNNING, Status.QUEUED)
        pages = (jobs.list_page(tx, jobs.Which(status), limit=limit) for status in states)
        return [job.id for page in pages for job in page][:limit]

    return sorted(app.db.read(work))


def read_job(app: App, job_id: str) -> Reading:
    def work(tx: Transaction) -> Reading:
        job = jobs.get(tx, job_id)
        return Reading(job, tasks.of_job(tx, job_id), jobs.percent(tx, [job])[job_id])

    return app.db.read(work)
