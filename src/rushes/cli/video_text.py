"""The pages about videos that commands print for people: a list, one video, what became of one."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from rushes.cli.output import (
    between,
    clock,
    duration,
    lasted,
    plural,
    printable,
    shortened,
    status_word,
    table,
)
from rushes.cli.text import short_id
from rushes.domain.asset import AssetStatus
from rushes.domain.job import FINISHED
from rushes.domain.room import amount

if TYPE_CHECKING:
    from rushes.api import models


def video_list(page: Sequence[models.Video], *, now: datetime) -> list[str]:
    if not page:
        return ["no videos"]
    rows = [
        (
            short_id(video.asset_id),
            status_word(video.status),
            shortened(video.title, 50),
            None if video.duration_ms is None else lasted(video.duration_ms),
            amount(video.bytes),
            shortened(", ".join(video.tags), 30),
            duration(between(video.created_at, now)),
        )
        for video in page
    ]
    return table(("video", "status", "title", "length", "size", "tags", "age"), rows)


def video_page(video: models.VideoDetail, *, now: datetime) -> list[str]:
    """Return one video in full: milestones, what is done with it, its qualities, its files."""
    parts = [
        [f"{status_word(video.status)}  {shortened(video.title, 100)}", f"   {video.asset_id}"],
        [_facts(video, now), *_milestones(video), *_job(video)],
        [f"   · {printable(one.what)}: {printable(one.why)}" for one in video.decisions],
        *(_version_table(video, version) for version in video.versions),
        _files(video),
    ]
    return [line for part in parts if part for line in ["", *part]][1:]


def video_name(video: models.Video) -> str:
    return f"{short_id(video.asset_id)} {shortened(video.title, 60)}"


def deleted_line(video: models.Deleted) -> str:
    stopped = f"; job {short_id(video.stopped_job)} was stopped" if video.stopped_job else ""
    return f"{video_name(video)} is deleted{stopped}; it is {_purged(video, video.purged_at)}"


def restored_line(video: models.Video) -> str:
    is_stopped = video.status is AssetStatus.FAILED and video.job_id is not None
    again = f"; go on: rushes jobs retry {short_id(video.job_id or '')}" if is_stopped else ""
    return f"{video_name(video)} is restored, {video.status}{again}"


def _purged(video: models.Video, at: datetime) -> str:
    restore = f"rushes restore {short_id(video.asset_id)}"
    return f"purged on {clock(at)[:10]} unless you say: {restore}"


def _facts(video: models.VideoDetail, now: datetime) -> str:
    ago = duration(between(video.created_at, now))
    facts = [f"created {clock(video.created_at)} UTC, {ago} ago"]
    if video.duration_ms is not None:
        facts.append(lasted(video.duration_ms))
    if video.width is not None:
        facts.append(f"{video.width}x{video.height}")
    facts += [amount(video.bytes), printable(video.filename)]
    if video.tags:
        facts.append("tags: " + shortened(", ".join(video.tags), 200))
    return "   " + " · ".join(facts)


def _milestones(video: models.VideoDetail) -> list[str]:
    words = [
        f"{word} after {lasted(between(video.created_at, at))}"
        for word, at in (
            ("playable", video.playable_at),
            ("ready", video.ready_at),
            ("searchable", video.searchable_at),
        )
        if at is not None
    ]
    if video.searchable_at is not None:
        words[-1] += f" with {plural(video.texts, 'text')}"
    lines = ["   " + " · ".join(words)] if words else []
    if video.deleted_at is not None and video.purged_at is not None:
        lines.append(f"   deleted {clock(video.deleted_at)} UTC; {_purged(video, video.purged_at)}")
    return lines


def _job(video: models.VideoDetail) -> list[str]:
    if video.job_id is None or video.job_status is None:
        return []
    far = "" if video.percent is None else f" {video.percent} %"
    lines = [f"   job {video.job_id} {video.job_status}{far}"]
    if video.error is not None:
        lines.append(f"   {video.error_code}: {shortened(video.error, 300)}")
    if video.hint:
        lines.append(f"   hint: {shortened(video.hint, 300)}")
    return lines


def _version_table(video: models.VideoDetail, version: models.Version) -> list[str]:
    if not version.qualities:
        return []
    is_newest = version.version == video.newest_version
    plays = version.version == video.version
    state = "plays" if plays else "is being made" if is_newest else "gone"
    if is_newest and version.published_at is None and video.job_status in FINISHED:
        state = "was not finished"
    rows = [
        (
            quality.quality,
            f"{quality.width}x{quality.height}",
            quality.status,
            f"{quality.segments_completed}/{quality.segments_total}",
            f"{quality.progress_percent} %",
            shortened(quality.error_message or "", 100),
        )
        for quality in version.qualities
    ]
    headers = ("quality", "size", "status", "segments", "progress", "error")
    return [f"   version {version.version} {state}", *table(headers, rows, indent="   ")]


def _files(video: models.VideoDetail) -> list[str]:
    files = video.files
    much = f"{plural(files.count, 'file')}, {amount(files.bytes)}"
    rows = (
        ("original", files.original, amount(video.bytes)),
        ("playlist", files.playlist, ""),
        ("files", files.folder, much),
    )
    return [f"   {name:<9} {printable(path)}  {size}".rstrip() for name, path, size in rows if path]
