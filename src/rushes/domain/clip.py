"""A clip of a film, as people see it."""

from __future__ import annotations

from dataclasses import dataclass

from rushes.domain.job import Status


@dataclass(frozen=True, slots=True, kw_only=True)
class Clip:
    """What was asked for (`t_…`), what is cut for it (`…_ms`) and what the file holds (`actual_…`).

    Until the file is there, `actual_start` is what was promised, and `actual_end` too if it can be
    known. `made` tells of what became of it, as JSON; `file` is the key of its file, once that is
    committed. `is_over`: its time is, and its file will be gone.
    """

    id: str
    asset_id: str
    job_id: str
    mode: str
    title: str
    made_by: str
    t_start: int
    t_end: int
    padding_ms: int
    start_ms: int
    end_ms: int
    actual_start: int
    actual_end: int | None
    made: str | None
    created_at: int
    ready_at: int | None
    expires_at: int
    is_over: bool
    owner: str
    source_sha256: str
    status: Status
    failure: str | None
    progress: int
    file: str | None
    bytes: int | None
    sha256: str | None

    @property
    def percent(self) -> int:
        """How far its job is; 100 only when it is completed."""
        return 100 if self.status is Status.COMPLETED else min(99, self.progress)
