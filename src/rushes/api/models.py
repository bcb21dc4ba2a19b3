"""What every door answers with: the API, the client, and `--json` of the command line.

Fields of a job follow its status: progress while it runs, then the result, the failure or the
kill; what does not apply is null. Times are RFC 3339 in UTC; times within a film milliseconds.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, Generic, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, PlainSerializer

from rushes.domain.asset import AssetStatus, QualityStatus
from rushes.domain.job import Status
from rushes.domain.task import State
from rushes.domain.waiting import Reason
from rushes.domain.worker import Mode, Presence
from rushes.media.source import Chapter

T = TypeVar("T")


def moment(milliseconds: int) -> datetime:
    """Return a time of the database."""
    return datetime.fromtimestamp(milliseconds / 1000, UTC)


def from_millis(value: object) -> object:
    """Take a time of the database, or text as it came over the wire."""
    return moment(value) if isinstance(value, int) else value


def rfc3339(moment: datetime) -> str:
    """Return a time as text, exact to the millisecond as the database is.

    >>> rfc3339(datetime.fromtimestamp(1_767_268_800.25, UTC))
    '2026-01-01T12:00:00.250Z'
    """
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


Time = Annotated[
    datetime,
    BeforeValidator(from_millis),
    PlainSerializer(rfc3339, return_type=str, when_used="json"),
]


class Model(BaseModel):
    """A value that was true at one moment. What a newer server adds is kept out."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class Page(Model, Generic[T]):
    """Some of many, in a stable order; `next_cursor` asks for the next ones."""

    items: list[T]
    next_cursor: str | None = None


class Progress(Model):
    """Of all tasks; a batch is a task of a step that has more than one."""

    current: int | None = None
    total: int | None = None
    percent: int
    message: str | None = None
    phase: str | None = None
    batches_completed: int | None = None
    batches_total: int | None = None


class Work(Model):
    """What is done for a job or a video now. `steps` counts tasks by their states."""

    percent: int
    steps: dict[str, dict[str, int]]
    eta_seconds: int | None = None
    waits_for: str | None = None
    workers: list[str] = []


class Item(Model):
    """Something that is not as it should be in work that is complete."""

    code: str
    message: str


class Job(Model):
    """A job. `work` is there for open jobs that were asked for by their ids."""

    job_id: str
    status: Status
    job_type: str
    label: str | None
    owner: str | None
    priority: int
    created_at: Time
    updated_at: Time
    started_at: Time | None
    finished_at: Time | None
    progress: Progress
    result: Any = None
    error: str | None = None
    error_code: str | None = None
    error_type: str | None = None
    failed_at: Time | None = None
    failed_phase: str | None = None
    failed_batch: int | None = None
    failed_step: str | None = None
    failed_task_id: int | None = None
    progress_at_failure: dict[str, Any] | None = None
    hint: str | None = None
    retryable: bool | None = None
    stack_trace: str | None = None
    killed_by: str | None = None
    killed_by_name: str | None = None
    killed_at: Time | None = None
    killed_reason: str | None = None
    progress_at_kill: dict[str, Any] | None = None
    warnings: int
    reported: list[Item]
    raw_state: dict[str, int] | None = None
    version: int
    work: Work | None = None


class Task(Model):
    task_id: int
    step: str
    item: int
    kind: str
    lane: str
    state: State
    claim_state: str | None
    optional: bool
    priority: int
    skip_reason: str | None
    attempt: int
    max_attempts: int
    lease_epoch: int
    worker: str | None
    last_worker: str | None
    lease_expires_at: Time | None
    progress: int
    phase: str | None
    message: str | None
    created_at: Time
    run_at: Time | None
    ready_at: Time | None
    claimed_at: Time | None
    progress_at: Time | None
    finished_at: Time | None
    params: Any
    result: Any
    failure: dict[str, Any] | None


class Attempt(Model):
    """One run of a task that is over."""

    model_config = ConfigDict(frozen=True, extra="allow")

    task_id: int
    attempt: int
    outcome: str
    worker: str | None
    claimed_at: Time
    ended_at: Time
    failure: dict[str, Any] | None


class Quality(Model):
    quality: str
    width: int
    height: int
    status: QualityStatus
    segments_total: int
    segments_completed: int
    progress_percent: int
    started_at: Time | None
    completed_at: Time | None
    error_message: str | None


class Waiting(Model):
    """Why a task, and `count` - 1 others like it, does not run; null: it does, or is about to."""

    task_id: int
    step: str
    item: int
    state: State
    count: int
    reason: Reason | None
    text: str | None
    until: Time | None
    workers: list[str]


class Planned(Model):
    """A step as it was planned: what it runs after, and its share of the work."""

    after: list[str]
    weight: int


class JobDetail(Job):
    """One job in full. `steps` counts the tasks of each step by their states."""

    steps: dict[str, dict[str, int]] = {}
    plan: dict[str, Planned] = {}
    asset_id: str | None = None
    clip_id: str | None = None
    eta_seconds: int | None = None
    waiting: Waiting | None = None
    tasks: list[Task]
    attempts: list[Attempt]
    qualities: list[Quality]


class Event(Model):
    event_id: int
    at: Time
    type: str
    job_id: str | None
    data: dict[str, Any]


class Held(Model):
    """A task that a worker works on now."""

    task_id: int
    job_id: str
    label: str | None
    step: str
    item: int
    progress: int
    claimed_at: Time
    lease_expires_at: Time


class Worker(Model):
    worker_id: str
    name: str
    status: Presence
    mode: Mode
    type: str
    hostname: str
    version: str
    load: int
    slots: int
    lanes: dict[str, int]
    capabilities: list[str]
    kinds: list[str]
    metadata: dict[str, Any]
    started_at: Time
    last_heartbeat: Time
    tasks_done: int
    tasks_failed: int
    cpu_percent: int | None = None
    memory_percent: int | None = None
    holds: list[Held] = []


class Kind(Model):
    """A kind of task: how much of it waits and runs, and who paused it."""

    kind: str
    lane: str | None
    ready: int
    running: int
    paused: bool
    paused_by: str | None
    paused_reason: str | None
    paused_at: Time | None


class FailedGroup(Model):
    """Jobs that failed in the same way. `newest` is one of them: its label, error and hint.

    `hours` counts them for each of the last twelve hours, the one that runs at the end.
    """

    error_code: str
    step: str
    jobs: int
    retryable: bool
    error: str
    hint: str | None = None
    newest: str
    label: str | None = None
    first_at: Time | None = None
    last_at: Time
    hours: list[int]


class Video(Model):
    """A film. `work` is there while a job works on it, or waits to."""

    asset_id: str
    status: AssetStatus
    title: str
    tags: list[str]
    filename: str
    bytes: int
    sha256: str
    duration_ms: int | None
    width: int | None = None
    height: int | None = None
    texts: int = 0
    version: int
    newest_version: int
    revision: int
    job_id: str | None
    job_status: Status | None
    error: str | None
    error_code: str | None
    hint: str | None
    created_at: Time
    updated_at: Time
    playable_at: Time | None
    ready_at: Time | None
    searchable_at: Time | None
    deleted_at: Time | None
    work: Work | None = None


class VideoCounts(Model):
    """How many videos there are of each status, and how long they are together."""

    pending: int
    processing: int
    ready: int
    failed: int
    duration_ms: int


class Deleted(Video):
    """A video that is gone for now; `purged_at` is when it is gone for good."""

    purged_at: Time
    stopped_job: str | None


class Version(Model):
    version: int
    job_id: str
    created_at: Time
    published_at: Time | None
    superseded_at: Time | None
    qualities: list[Quality]


class Decision(Model):
    """What was done with the film, and why."""

    what: str
    why: str


class Files(Model):
    """What is kept of a film: how many files of the version to watch, and their bytes."""

    count: int
    bytes: int
    original: str | None
    playlist: str | None
    folder: str | None


class VideoDetail(Video):
    """One video in full. Of its versions, the last is the newest."""

    percent: int | None
    purged_at: Time | None
    decisions: list[Decision]
    chapters: list[Chapter] = []
    versions: list[Version]
    files: Files


class File(Model):
    """A file of the version to watch, by the name that playlists use."""

    name: str
    bytes: int
    sha256: str


class Added(Model):
    """A film that was taken in, and the job that works on it."""

    asset_id: str
    job_id: str
    created: bool = True
