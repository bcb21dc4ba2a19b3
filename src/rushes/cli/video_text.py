"""The pages about videos that commands print for people: a list, one video, what became of one."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rushes.cli.output import (
    duration,
    lasted,
    plural,
    printable,
    shortened,
    size,
    status_word,
    table,
)
from rushes.cli.text import clock, short_id
from rushes.domain.asset import Asset, AssetStatus
from rushes.domain.job import FINISHED

if TYPE_CHECKING:
    from rushes.cli.film import Film, Version
    from rushes.library.edit import Deleted


def video_list(page: Sequence[Asset], *, now: int) -> list[str]:
    if not page:
        return ["no videos"]
    rows = [
        (
            short_id(asset.id),
            status_word(asset.status),
            shortened(asset.title, 50),
            None if asset.duration_ms is None else lasted(asset.duration_ms),
            size(asset.bytes),
            shortened(", ".join(asset.tags), 30),
            duration(now - asset.created_at),
        )
        for asset in page
    ]
    return table(("video", "status", "title", "length", "size", "tags", "age"), rows)


def video_page(film: Film) -> list[str]:
    """Return one video in full: milestones, what is done with it, its qualities, its files."""
    asset = film.asset
    parts = [
        [f"{status_word(asset.status)}  {shortened(asset.title, 100)}", f"   {asset.id}"],
        [_film_facts(film), *_milestones(film), *_film_job(film)],
        [f"   · {printable(what)}: {printable(why)}" for what, why in film.decisions],
        *(_version_table(film, version) for version in film.versions),
        _film_files(film),
    ]
    return [line for part in parts if part for line in ["", *part]][1:]


def video_name(asset: Asset) -> str:
    return f"{short_id(asset.id)} {shortened(asset.title, 60)}"


def deleted_line(deleted: Deleted) -> str:
    asset = deleted.asset
    stopped = f"; job {short_id(deleted.stopped_job)} was stopped" if deleted.stopped_job else ""
    return (
        f"{video_name(asset)} is deleted{stopped}; it is purged on {clock(deleted.purged_at)[:10]}"
        f" unless you say: rushes restore {short_id(asset.id)}"
    )


def restored_line(asset: Asset) -> str:
    is_stopped = asset.status is AssetStatus.FAILED and asset.job_id is not None
    again = f"; go on: rushes jobs retry {short_id(asset.job_id or '')}" if is_stopped else ""
    return f"{video_name(asset)} is restored, {asset.status}{again}"


def _film_facts(film: Film) -> str:
    asset = film.asset
    facts = [f"created {clock(asset.created_at)} UTC, {duration(film.now - asset.created_at)} ago"]
    if asset.duration_ms is not None:
        facts.append(lasted(asset.duration_ms))
    if film.size is not None:
        facts.append(f"{film.size[0]}x{film.size[1]}")
    facts += [size(asset.bytes), printable(asset.filename)]
    if asset.tags:
        facts.append("tags: " + shortened(", ".join(asset.tags), 200))
    return "   " + " · ".join(facts)


def _milestones(film: Film) -> list[str]:
    asset = film.asset
    words = [
        f"{word} after {lasted(at - asset.created_at)}"
        for word, at in (
            ("playable", asset.playable_at),
            ("ready", asset.ready_at),
            ("searchable", asset.searchable_at),
        )
        if at is not None
    ]
    if asset.searchable_at is not None:
        words[-1] += f" with {plural(film.texts, 'text')}"
    lines = ["   " + " · ".join(words)] if words else []
    if film.purged_at is not None:
        lines.append(
            f"   deleted {clock(asset.deleted_at or 0)} UTC; purged on {clock(film.purged_at)[:10]}"
            f" unless you say: rushes restore {short_id(asset.id)}"
        )
    return lines


def _film_job(film: Film) -> list[str]:
    asset = film.asset
    if asset.job_id is None or asset.job_status is None:
        return []
    far = "" if film.percent is None else f" {film.percent} %"
    lines = [f"   job {asset.job_id} {asset.job_status}{far}"]
    if asset.failure is not None:
        record = json.loads(asset.failure)
        lines.append(f"   {record['error_code']}: {shortened(record['error'], 300)}")
        if record.get("hint"):
            lines.append(f"   hint: {shortened(record['hint'], 300)}")
    return lines


def _version_table(film: Film, version: Version) -> list[str]:
    if not version.qualities:
        return []
    is_newest = version.n == film.asset.newest
    state = "plays" if version.n == film.asset.version else "is being made" if is_newest else "gone"
    if is_newest and version.published_at is None and film.asset.job_status in FINISHED:
        state = "was not finished"
    rows = [
        (
            quality.quality,
            f"{quality.width}x{quality.height}",
            quality.status,
            f"{quality.segments_completed}/{quality.segments_total}",
            f"{quality.progress_percent} %",
            shortened(quality.error or "", 100),
        )
        for quality in version.qualities
    ]
    headers = ("quality", "size", "status", "segments", "progress", "error")
    return [f"   version {version.n} {state}", *table(headers, rows, indent="   ")]


def _film_files(film: Film) -> list[str]:
    rows = [("original", printable(str(film.original)), size(film.asset.bytes))]
    if film.playlist is not None:
        rows.append(("playlist", printable(str(film.playlist)), ""))
    if film.folder is not None:
        much = f"{plural(film.files, 'file')}, {size(film.bytes)}"
        rows.append(("files", printable(str(film.folder)), much))
    return [f"   {name:<9} {path}  {much}".rstrip() for name, path, much in rows]
