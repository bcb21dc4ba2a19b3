"""Clips as every door answers with them. Times within a film are milliseconds."""

from __future__ import annotations

import json

from rushes.api import models
from rushes.domain.clip import Clip as Found
from rushes.domain.job import Status
from rushes.library.clips import Plan as Planned
from rushes.library.clips import Wish
from rushes.media.clip import Mode


class Provenance(models.Model):
    """Where a clip comes from: enough to make it again, and to see that nobody changed it."""

    source_sha256: str
    start_ms: int
    end_ms: int
    command: list[str]
    tools: list[str]


class Clip(models.Model):
    """A clip. `actual_start` is promised before it is cut; the file is at `url` once it is ready.

    `playlist` plays the same part of the video at once, while the file is made.
    """

    clip_id: str
    video_id: str
    job_id: str
    status: Status
    percent: int
    mode: Mode
    title: str | None
    made_by: str | None
    t_start: int
    t_end: int
    padding_ms: int
    start_ms: int
    end_ms: int
    actual_start: int
    actual_end: int | None
    created_at: models.Time
    ready_at: models.Time | None
    expires_at: models.Time
    playlist: str
    url: str | None
    bytes: int | None
    sha256: str | None
    frames: int | None
    width: int | None
    height: int | None
    audio: bool | None
    provenance: Provenance | None
    error: str | None
    error_code: str | None
    hint: str | None


class Requested(Clip):
    """The clip that stands for a request; `created` is false when it was there before."""

    created: bool


class ClipPlan(models.Model):
    """What a request would give; `clip_id` if it is there already."""

    video_id: str
    mode: Mode
    t_start: int
    t_end: int
    padding_ms: int
    start_ms: int
    end_ms: int
    actual_start: int
    actual_end: int | None
    playlist: str
    clip_id: str | None


SAME = (
    *("job_id", "status", "mode", "t_start", "t_end", "padding_ms", "start_ms", "end_ms"),
    *("actual_start", "actual_end", "created_at", "ready_at", "expires_at", "percent", "bytes"),
    "sha256",
)
OF_FILE = ("frames", "width", "height", "audio")


def clip(found: Found) -> Clip:
    return Clip.model_validate(_fields(found))


def requested(found: Found, *, created: bool) -> Requested:
    return Requested.model_validate({**_fields(found), "created": created})


def plan(video_id: str, wish: Wish, planned: Planned, known: Found | None) -> ClipPlan:
    window = planned.window
    return ClipPlan(
        video_id=video_id,
        mode=wish.mode,
        t_start=wish.t_start,
        t_end=wish.t_end,
        padding_ms=wish.padding_ms,
        start_ms=window.start_ms,
        end_ms=window.end_ms,
        actual_start=planned.actual_start,
        actual_end=planned.actual_end,
        playlist=playlist_of(video_id, window.start_ms, window.end_ms),
        clip_id=known.id if known else None,
    )


def playlist_of(video_id: str, start_ms: int, end_ms: int) -> str:
    return f"/api/videos/{video_id}/clip.m3u8?start={start_ms}&end={end_ms}"


def _fields(found: Found) -> dict[str, object]:
    made = json.loads(found.made) if found.made else {}
    failure = json.loads(found.failure) if found.failure else {}
    return {
        **{name: getattr(found, name) for name in SAME},
        **{name: made.get(name) for name in OF_FILE},
        **{name: failure.get(name) for name in ("error", "error_code", "hint")},
        "clip_id": found.id,
        "video_id": found.asset_id,
        "title": found.title or None,
        "made_by": found.made_by or None,
        "playlist": playlist_of(found.asset_id, found.start_ms, found.end_ms),
        "url": f"/api/clips/{found.id}/file" if found.file else None,
        "provenance": {**made, "source_sha256": found.source_sha256} if made else None,
    }
