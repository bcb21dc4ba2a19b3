"""A job at one moment, and the film that it makes, for whoever looks on."""

from __future__ import annotations

from typing import Any

from rushes.api import models
from rushes.api.models import Item, Model, Quality, Time
from rushes.domain.job import FINISHED, Status

OF_FILM = ("asset_id", "version", "playable_at", "ready_at", "searchable_at")


class Sight(Model):
    """`playlist` is there to be played; `is_laid_out`: all files are where people look for them."""

    job_id: str
    job_type: str
    label: str | None
    status: Status
    percent: int
    waits_for: str | None = None
    steps: dict[str, dict[str, int]]
    asset_id: str | None = None
    version: int | None = None
    playable_at: Time | None = None
    ready_at: Time | None = None
    searchable_at: Time | None = None
    playlist: str | None = None
    is_laid_out: bool = True
    qualities: tuple[Quality, ...] = ()
    texts: int = 0
    warnings: int
    reported: list[Item]
    created_at: Time
    finished_at: Time | None
    error: str | None
    error_code: str | None
    hint: str | None
    retryable: bool | None
    killed_by: str | None
    killed_by_name: str | None
    killed_at: Time | None
    killed_reason: str | None
    progress_at_kill: dict[str, Any] | None

    @property
    def is_over(self) -> bool:
        return self.status in FINISHED


def sight(
    job: models.Job,
    steps: dict[str, dict[str, int]],
    film: models.Video | None = None,
    **more: Any,
) -> Sight:
    """Return what is to be seen of a job; `more` is what its film has besides."""
    of_job = Sight.model_fields.keys() & models.Job.model_fields.keys() - {"version"}
    return Sight(
        **{name: getattr(job, name) for name in of_job},
        percent=job.progress.percent,
        steps=steps,
        **({name: getattr(film, name) for name in OF_FILM} if film else {}),
        **more,
    )
