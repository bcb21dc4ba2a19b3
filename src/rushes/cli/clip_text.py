"""Clips as lines on a terminal. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from rushes.api.clips import Clip
from rushes.cli.output import (
    between,
    clock,
    duration,
    lasted,
    printable,
    shortened,
    status_word,
    table,
)
from rushes.cli.text import short_id
from rushes.domain.room import amount


def timecode(milliseconds: int) -> str:
    """Return a time in a film as people write it.

    >>> timecode(62_500), timecode(3_600_000)
    ('1:02.500', '1:00:00.000')
    """
    minutes, rest = divmod(milliseconds, 60_000)
    hours, minutes = divmod(minutes, 60)
    seconds = f"{rest // 1000:02}.{rest % 1000:03}"
    return f"{hours}:{minutes:02}:{seconds}" if hours else f"{minutes}:{seconds}"


def clip_list(page: Sequence[Clip], *, now: datetime) -> list[str]:
    if not page:
        return ["no clips"]
    rows = [
        (
            short_id(clip.clip_id),
            status_word(clip.status),
            short_id(clip.video_id),
            timecode(clip.actual_start),
            timecode(end_of(clip)),
            clip.mode,
            None if clip.bytes is None else amount(clip.bytes),
            shortened(clip.title or "", 40),
            duration(between(now, clip.expires_at)),
        )
        for clip in page
    ]
    headers = ("clip", "status", "video", "from", "to", "mode", "size", "title", "expires in")
    return table(headers, rows)


def clip_page(clip: Clip, *, now: datetime) -> list[str]:
    """Return one clip in full."""
    title = f"  {shortened(clip.title, 100)}" if clip.title else ""
    lines = [
        f"{status_word(clip.status)}{title}",
        f"   {clip.clip_id}",
        f"   {span(clip)} of video {clip.video_id}, {clip.mode}, padding {clip.padding_ms} ms",
        f"   expires {clock(clip.expires_at)} UTC, in {duration(between(now, clip.expires_at))}",
    ]
    if clip.error is not None:
        lines.append(f"   {clip.error_code}: {shortened(clip.error, 300)}")
    if clip.hint:
        lines.append(f"   hint: {shortened(clip.hint, 300)}")
    if clip.frames is not None and clip.bytes is not None:
        size = f"{clip.width}x{clip.height}"
        lines.append(
            f"   {clip.frames} frames, {size}, {amount(clip.bytes)}, SHA-256 {clip.sha256}"
        )
    if clip.provenance is not None:
        lines += [
            f"   source SHA-256 {clip.provenance.source_sha256}",
            f"   made by {printable(', '.join(clip.provenance.tools))}",
            f"   {printable(' '.join(clip.provenance.command))}",
        ]
    return lines


def made_line(clip: Clip, path: Path | None) -> str:
    """Return what became of a request."""
    what = f"{span(clip)} · {lasted(end_of(clip) - clip.actual_start)} · {amount(clip.bytes or 0)}"
    where = f" · {printable(str(path))}" if path else ""
    return f"{status_word(clip.status)}  {what} · {short_id(clip.clip_id)}{where}"


def span(clip: Clip) -> str:
    """Return from when to when a clip really is, or is to be."""
    return f"{timecode(clip.actual_start)} to {timecode(end_of(clip))}"


def end_of(clip: Clip) -> int:
    return clip.end_ms if clip.actual_end is None else clip.actual_end
