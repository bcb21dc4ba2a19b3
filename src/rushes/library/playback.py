"""What can be watched of a version at this moment: a view of the files that are committed.

All renditions show one prefix without a hole, cut to the sound, so that a player may switch at
any time. The end only adds a line. A quality that failed is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from pydantic import TypeAdapter

from rushes.domain.artifact import name_of
from rushes.domain.asset import QualityStatus
from rushes.media import playlist
from rushes.media.plan import PACKET_S, Grid
from rushes.media.rendition import (
    MASTER,
    Rendition,
    Segment,
    common_prefix,
    playlist_name,
    segment_name,
)
from rushes.store.database import Row, Transaction

GRID = TypeAdapter(Grid)
LEFT_OUT = (QualityStatus.FAILED, QualityStatus.SKIPPED)


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """A version as it is now. So many `segments` may be shown; `closed`: there will be no more."""

    grid: Grid
    renditions: tuple[Rendition, ...]
    planned: dict[str, int]
    segments: int
    closed: bool


def view(tx: Transaction, asset_id: str, version: int) -> View | None:
    """Return what is there of a version; None before it was planned."""
    found = [row for row in tx.rows("versions", asset_id=asset_id) if row["n"] == version]
    if not found or found[0]["grid"] is None:
        return None
    grid, closed = GRID.validate_json(found[0]["grid"]), found[0]["closed_at"] is not None
    sizes = {
        row["name"]: row["bytes"]
        for row in tx.rows("artifacts", asset_id=asset_id, version=version)
    }
    rows = [
        row
        for row in tx.rows("renditions", asset_id=asset_id, version=version)
        if row["status"] not in LEFT_OUT
    ]
    prefix = name_of(asset_id, version, "")
    known = {name.removeprefix(prefix): size for name, size in sizes.items()}
    renditions = tuple(_rendition(row, grid, known) for row in rows)
    return View(
        grid=grid,
        renditions=renditions,
        planned={row["name"]: row["maxrate_bps"] for row in rows},
        segments=common_prefix(renditions),
        closed=closed,
    )


def playlists(seen: View) -> dict[str, str]:
    """Return {name: text} of the playlists, the master last; none before the first segment."""
    if not seen.segments:
        return {}
    end = None if seen.closed else seen.segments
    texts = {
        playlist_name(rendition.name): playlist.media(rendition, seen.grid, end=end)
        for rendition in seen.renditions
    }
    planned = None if seen.closed else seen.planned
    return {**texts, MASTER: playlist.master(seen.renditions, seen.grid, planned=planned)}


def _rendition(row: Row, grid: Grid, sizes: dict[str, int]) -> Rendition:
    is_audio = row["channels"] > 0
    return Rendition(
        name=row["name"],
        codecs=row["codecs"] or "",
        init_sha256=row["init_sha256"] or "",
        segments=tuple(_segments(row["name"], grid, sizes, is_audio=is_audio)),
        width=row["width"],
        height=row["height"],
        channels=row["channels"],
        language=row["language"],
    )


def _segments(name: str, grid: Grid, sizes: dict[str, int], *, is_audio: bool) -> Sequence[Segment]:
    return [
        Segment(
            number=number,
            name=segment_name(name, number),
            duration=_duration(grid, number, is_audio=is_audio),
            size_bytes=sizes[segment_name(name, number)],
        )
        for number in range(grid.segments)
        if segment_name(name, number) in sizes
    ]


def _duration(grid: Grid, number: int, *, is_audio: bool) -> Fraction:
    if is_audio:
        return len(grid.audio_segment(number)) * PACKET_S
    return len(grid.segment(number)) / grid.fps
