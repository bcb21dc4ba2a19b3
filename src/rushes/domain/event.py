"""The names of what can happen. One row of `events` per statement, job and type."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from rushes.domain.task import Move


class EventType(StrEnum):
    JOB_SUBMITTED = "job.submitted"
    JOB_STARTED = "job.started"
    JOB_COMPLETED = "job.completed"
    JOB_FAILED = "job.failed"
    JOB_FAILED_PATTERN = "job.failed_pattern"  # what it is about fails again and again
    JOB_KILLED = "job.killed"
    JOB_REQUEUED = "job.requeued"
    JOB_PRIORITY = "job.priority"

    TASK_ADDED = "task.added"
    TASK_READY = "task.ready"
    TASK_CLAIMED = "task.claimed"
    TASK_DONE = "task.done"
    TASK_RETRYING = "task.retrying"
    TASK_FAILED = "task.failed"
    TASK_HANDED_BACK = "task.handed_back"
    TASK_EXPIRED = "task.expired"
    TASK_TIMED_OUT = "task.timed_out"
    TASK_EXHAUSTED = "task.exhausted"
    TASK_KILLED = "task.killed"
    TASK_SKIPPED = "task.skipped"
    TASK_REQUEUED = "task.requeued"

    KIND_PAUSED = "kind.paused"
    KIND_RESUMED = "kind.resumed"
    WORKER_STARTED = "worker.started"
    WORKER_STOPPED = "worker.stopped"
    WORKER_OFFLINE = "worker.offline"
    WORKER_ONLINE = "worker.online"
    WORKER_DRAINING = "worker.draining"
    WORKER_DISABLED = "worker.disabled"
    WORKER_RESUMED = "worker.resumed"

    VIDEO_CHANGED = "video.changed"
    VIDEO_DELETED = "video.deleted"
    VIDEO_RESTORED = "video.restored"
    CLIP_DELETED = "clip.deleted"


OF_MOVE: dict[Move, EventType] = {
    Move.ADVANCE: EventType.TASK_READY,
    Move.CLAIM: EventType.TASK_CLAIMED,
    Move.COMPLETE: EventType.TASK_DONE,
    Move.RETRY: EventType.TASK_RETRYING,
    Move.FAIL: EventType.TASK_FAILED,
    Move.HAND_BACK: EventType.TASK_HANDED_BACK,
    Move.EXPIRE: EventType.TASK_EXPIRED,
    Move.TIME_OUT: EventType.TASK_TIMED_OUT,
    Move.EXHAUST: EventType.TASK_EXHAUSTED,
    Move.KILL: EventType.TASK_KILLED,
    Move.SKIP: EventType.TASK_SKIPPED,
    Move.REQUEUE: EventType.TASK_REQUEUED,
}
"""Every move but `extend` is an event: progress is read from the task rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One row of the feed. `cursor` resumes a reader right after this event."""

    cursor: str
    job_id: str | None
    type: str
    at: int
    data: dict[str, object]
