"""`/api/jobs`: as the documents have it, with progress, reasons, history, retry and kill."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Header, Query, Response
from pydantic import BaseModel, ConfigDict, Field

from rushes.api import models
from rushes.api.context import AtDesk
from rushes.api.idempotency import Once
from rushes.domain.graph import PRIORITIES
from rushes.domain.job import Status
from rushes.errors import Invalid
from rushes.store.jobs import Which
from rushes.store.tasks import ALL

router = APIRouter(tags=["jobs"])

LARGEST = 2**62  # what both databases can store, and more
Limit = Annotated[int, Query(ge=1, le=200)]
Cursor = Annotated[str | None, Query(max_length=64)]
Word = Annotated[str | None, Field(max_length=100)]
Reason = Annotated[str | None, Field(max_length=500)]


class Body(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Kill(Body):
    reason: Reason = None


class Retry(Body):
    """What to try again: all that failed, or one step, one chunk (a task), one quality."""

    step: Annotated[str | None, Field(max_length=100)] = None
    task_id: Annotated[int | None, Field(ge=1, le=LARGEST)] = None
    quality: Annotated[str | None, Field(max_length=20)] = None


class Change(Body):
    priority: Annotated[int, Field(ge=0, le=10)] | Literal["low", "normal", "high", "urgent"]


class Killed(BaseModel):
    message: str
    status: Status
    job_id: str
    killed_by: str | None
    killed_by_name: str | None
    killed_at: models.Time | None
    killed_reason: str | None
    progress_at_kill: dict[str, Any] | None


class Retried(BaseModel):
    job_id: str
    tasks: int


class Reasons(BaseModel):
    job_id: str
    items: list[models.Waiting]


class Asked(Body):
    """Which jobs: `q` is a part of the label or id, `step` and `error_code` how they failed."""

    status: Status | None = None
    kind: Word = None
    q: Word = None
    error_code: Word = None
    step: Word = None
    id: Annotated[list[Annotated[str, Field(max_length=64)]], Field(max_length=100)] = []
    cursor: Annotated[str | None, Field(max_length=64)] = None
    limit: Annotated[int, Field(ge=1, le=200)] = 100


class Group(Body):
    error_code: Annotated[str, Field(max_length=64)]
    step: Annotated[str | None, Field(max_length=100)] = None


@router.get("/jobs/", include_in_schema=False)
@router.get("/jobs")
def list_jobs(desk: AtDesk, asked: Annotated[Asked, Query()]) -> models.Page[models.Job]:
    """List jobs, newest first; with `id`, these alone, and what is done for each now."""
    if asked.id:
        return desk.jobs.some(asked.id)
    which = Which(asked.status, asked.kind, asked.q, asked.error_code, asked.step)
    return desk.jobs.find(which, cursor=asked.cursor, limit=asked.limit)


@router.get("/jobs/counts")
def count_jobs(desk: AtDesk) -> dict[Status, int]:
    """Count jobs by status."""
    return desk.jobs.counts()


@router.get("/jobs/{job_id}")
def show_job(desk: AtDesk, job_id: str, response: Response) -> models.JobDetail:
    """Show one job: progress, why it waits, its tasks and qualities, how it ended."""
    job = desk.jobs.show(job_id)
    response.headers["ETag"] = f'"{job.version}"'
    return job


@router.delete("/jobs/{job_id}")
def delete_job(desk: AtDesk, job_id: str, reason: str | None = None) -> Killed:
    """Stop a job at once; who, when and why are kept with it."""
    return _killed(desk.jobs.kill(job_id, reason=reason))


@router.post("/jobs/{job_id}/kill")
def kill_job(desk: AtDesk, job_id: str, once: Once, body: Kill | None = None) -> Killed:
    """Stop a job at once; the same as DELETE."""
    return once(lambda: _killed(desk.jobs.kill(job_id, reason=body.reason if body else None)))


@router.post("/jobs/{job_id}/retry", status_code=202)
def retry_job(
    desk: AtDesk, job_id: str, once: Once, response: Response, body: Retry | None = None
) -> Retried:
    """Try a job again: all that failed, one step, one chunk, or one quality of its film."""
    wish = body or Retry()

    def work() -> Retried:
        if wish.quality is not None:
            return Retried(job_id=desk.jobs.retry_quality(job_id, wish.quality).job_id, tasks=1)
        tasks = desk.jobs.retry(job_id, kind=wish.step, task=wish.task_id)
        return Retried(job_id=desk.jobs.get(job_id).job_id, tasks=tasks)

    retried = once(work)
    response.headers["Location"] = f"/api/jobs/{retried.job_id}"
    return retried


@router.patch("/jobs/{job_id}")
def change_job(
    desk: AtDesk,
    job_id: str,
    body: Change,
    if_match: Annotated[str | None, Header()] = None,
) -> models.Job:
    """Move a job within the queue."""
    priority = PRIORITIES[body.priority] if isinstance(body.priority, str) else body.priority
    return desk.jobs.set_priority(job_id, priority, version=version_of(if_match))


@router.get("/jobs/{job_id}/why")
def why_job(desk: AtDesk, job_id: str) -> Reasons:
    """Say why the open tasks of a job do not run, one of each sort."""
    items = desk.jobs.why(job_id)
    return Reasons(job_id=desk.jobs.get(job_id).job_id, items=[*items])


@router.get("/jobs/{job_id}/events")
def job_events(desk: AtDesk, job_id: str) -> models.Page[models.Event]:
    """Tell what happened to a job, oldest first."""
    return models.Page(items=[*desk.jobs.events(job_id)])


@router.get("/jobs/{job_id}/logs")
def job_logs(
    desk: AtDesk,
    job_id: str,
    task_id: Annotated[int | None, Query(ge=1, le=LARGEST)] = None,
    last: Annotated[int, Query(ge=1, le=ALL)] = ALL,
) -> models.Page[dict[str, Any]]:
    """Return what the stages wrote and the programs they ran; of each sort the last ones."""
    return models.Page(items=[*desk.jobs.logs(job_id, task=task_id, last=last)])


@router.get("/failed/groups")
def failed_groups(desk: AtDesk) -> models.Page[models.FailedGroup]:
    """List failed jobs by error code and step."""
    return models.Page(items=[*desk.jobs.failed()])


@router.post("/failed/groups/retry", status_code=202)
def retry_group(desk: AtDesk, body: Group, once: Once) -> models.Page[Retried]:
    """Try all jobs again that failed with one code."""

    def work() -> models.Page[Retried]:
        tried = desk.jobs.retry_failed(body.error_code, body.step)
        return models.Page(items=[Retried(job_id=id, tasks=n) for id, n in tried.items()])

    return once(work)


def version_of(if_match: str | None) -> int | None:
    """Return the number in an ETag that was sent back; None for `*` and for none."""
    if if_match is None or if_match.strip() == "*":
        return None
    text = if_match.strip().removeprefix("W/").strip('"')
    if not text.isdecimal() or len(text) > 9:
        raise Invalid(f"If-Match: {if_match[:40]!r} is none of our ETags")
    return int(text)


def _killed(job: models.Job) -> Killed:
    return Killed(message="job killed", **job.model_dump(include=set(Killed.model_fields)))
