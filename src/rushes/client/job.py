"""A job in the hands of whoever submitted it: look on, wait, take the result."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Self

from pydantic import PrivateAttr

from rushes.api import models
from rushes.domain.job import FINISHED, Status
from rushes.errors import RushesError, Unavailable

if TYPE_CHECKING:
    from rushes.client.protocol import Jobs

SHORTEST_S, LONGEST_S = 0.05, 0.5  # between two looks
PATIENCE_S = 60.0  # a server that is away for longer is gone


class WaitTimedOut(RushesError):
    """A job is not over yet."""

    code, status = "WAIT_TIMED_OUT", 504


class JobFailed(RushesError):
    """A job failed; `code` and `hint` are those of its failure."""

    code = "JOB_FAILED"

    def __init__(self, job: models.Job) -> None:
        super().__init__(f"job {job.job_id} failed: {job.error}", hint=job.hint)
        self.code = job.error_code or self.code  # type: ignore[misc]
        self.phase = job.failed_phase
        self.job = job


class JobKilled(RushesError):
    """Somebody stopped a job, or something did."""

    code = "JOB_KILLED"

    def __init__(self, job: models.Job) -> None:
        who = job.killed_by_name or job.killed_by
        super().__init__(f"job {job.job_id} was killed by {who}: {job.killed_reason}")
        self.phase = job.progress.phase
        self.job = job


class Job(models.Added):
    """A film that was taken in, and its job."""

    _jobs: Jobs = PrivateAttr()

    @classmethod
    def of(cls, added: models.Added, jobs: Jobs) -> Self:
        job = cls(**added.model_dump())
        job._jobs = jobs
        return job

    def get(self) -> models.Job:
        """Return the job as it is now."""
        return self._jobs.get(self.job_id)

    def watch(self) -> Iterator[models.Event]:
        """Yield what happens to the job, from its beginning until it is over."""
        return self._jobs.follow(self.job_id)

    def wait(self, timeout: float | None = None) -> models.Job:
        """Return the job when it is over. Raises WaitTimedOut after so many seconds."""
        return wait(self._jobs, self.job_id, timeout)

    def result(self, timeout: float | None = None) -> Any:
        """Wait, and return what the last step returned. Raises JobFailed or JobKilled."""
        job = self.wait(timeout)
        if job.status is Status.FAILED:
            raise JobFailed(job)
        if job.status is Status.KILLED:
            raise JobKilled(job)
        return job.result

    def kill(self, reason: str | None = None) -> models.Job:
        """Stop the job at once."""
        return self._jobs.kill(self.job_id, reason=reason)

    def retry(self) -> int:
        """Try the job again. Returns how many tasks run."""
        return self._jobs.retry(self.job_id)


def wait(
    jobs: Jobs,
    job_id: str,
    timeout: float | None,
    told: Callable[[models.Job], None] | None = None,
) -> models.Job:
    """Look at a job until it is over, less often as time goes on; `told` is told what is seen."""
    began, pause = time.monotonic(), SHORTEST_S
    job = jobs.get(job_id)
    while job.status not in FINISHED:
        left = PATIENCE_S if timeout is None else began + timeout - time.monotonic()
        if left <= 0:
            raise WaitTimedOut(
                f"job {job.job_id} is still {job.status} ({job.progress.percent} %) "
                f"after {timeout:g} s",
                hint=f"rushes jobs why {job.job_id[-8:]} tells what it waits for",
                job_id=job.job_id,
            )
        if told is not None:
            told(job)
        time.sleep(min(pause, left))
        pause = min(LONGEST_S, pause * 1.2)
        job = patiently(jobs, job.job_id, min(PATIENCE_S, left))
    return job


def patiently(jobs: Jobs, job_id: str, patience: float = PATIENCE_S) -> models.Job:
    """Return a job, though its server may be starting again."""
    deadline = time.monotonic() + patience
    while True:
        try:
            return jobs.get(job_id)
        except Unavailable:
            if time.monotonic() > deadline:
                raise
            time.sleep(LONGEST_S)
