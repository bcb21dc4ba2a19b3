"""A film in the library, as people see it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from rushes.domain.job import Status


class AssetStatus(StrEnum):
    PENDING = "pending"  # nobody has begun
    PROCESSING = "processing"
    READY = "ready"  # a version was published; it stays ready whatever comes later
    FAILED = "failed"  # no version was ever published


@dataclass(frozen=True, slots=True, kw_only=True)
class Asset:
    """`version` is the one that is published, `newest` the one that was made or tried last."""

    id: str
    owner: str
    title: str
    tags: tuple[str, ...]
    filename: str
    source_key: str
    bytes: int
    sha256: str
    source: str | None
    duration_ms: int | None
    version: int
    newest: int
    revision: int
    created_at: int
    updated_at: int
    playable_at: int | None
    ready_at: int | None
    searchable_at: int | None
    deleted_at: int | None
    job_id: str | None
    job_status: Status | None
    failure: str | None

    @property
    def status(self) -> AssetStatus:
        return status_of(self.job_status, is_ready=self.ready_at is not None)

    @property
    def watchable(self) -> int | None:
        """The version to play: the published one, else the first while it grows."""
        if self.version:
            return self.version
        return self.newest if self.playable_at is not None else None


def status_of(job_status: Status | None, *, is_ready: bool) -> AssetStatus:
    """Return the status of a film; `job_status` is that of the job for its newest version."""
    if is_ready:
        return AssetStatus.READY
    match job_status:
        case Status.RUNNING:
            return AssetStatus.PROCESSING
        case Status.FAILED | Status.KILLED:
            return AssetStatus.FAILED
        case _:
            return AssetStatus.PENDING


class QualityStatus(StrEnum):
    PENDING = "pending"
    IN_PROGRESS = "in_progress"
    COMPLETED = "completed"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True, kw_only=True)
class Quality:
    """How far one quality of a version is. Kept across retries: it counts committed segments."""

    quality: str
    width: int
    height: int
    status: QualityStatus
    segments_total: int
    segments_completed: int
    started_at: int | None
    completed_at: int | None
    error: str | None

    @property
    def progress_percent(self) -> int:
        return 100 * self.segments_completed // max(1, self.segments_total)
