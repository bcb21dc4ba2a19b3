"""Subtitles that somebody brings → texts of a video that are found like all others."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rushes.domain.asset import Asset
from rushes.domain.event import EventType
from rushes.errors import Conflict, Invalid
from rushes.library import indexing
from rushes.library.indexing import Line, Source
from rushes.library.library import Library
from rushes.library.news import tell
from rushes.media import subtitles
from rushes.media.language import short
from rushes.media.subtitles import Cue
from rushes.store import assets
from rushes.store.database import Transaction

LANGUAGE = re.compile(r"[a-z]{2,3}(-[A-Za-z0-9]{1,8}){0,4}")


def put(library: Library, asset_id: str, language: str, content: bytes) -> int:
    """Give a video subtitles in a language; those it had are replaced. Returns how many cues."""
    language = language_of(language)
    cues = subtitles.read(content)

    def work(tx: Transaction) -> None:
        asset = assets.get(tx, asset_id)
        if asset.deleted_at is not None:
            raise Conflict(f"video {asset_id} is deleted", hint="restore it first")
        _check_times(asset, cues)
        indexing.drop(tx, asset_id, (Source.SUBTITLE,), language=language)
        indexing.put(tx, asset_id, [Line(Source.SUBTITLE, *cue, language) for cue in cues])
        tell(tx, EventType.VIDEO_CHANGED, asset_id)

    library.db.transact(work)
    return len(cues)


def remove(library: Library, asset_id: str, language: str) -> None:
    """Take the subtitles of a language away."""
    language = language_of(language)

    def work(tx: Transaction) -> None:
        indexing.drop(tx, asset_id, (Source.SUBTITLE,), language=language)
        tell(tx, EventType.VIDEO_CHANGED, asset_id)

    library.db.transact(work)


def language_of(text: str) -> str:
    """Return a language as texts have it: `eng` is `en`. Raises Invalid for what is none."""
    if not LANGUAGE.fullmatch(text):
        raise Invalid(f"{text[:40]!r} is not a language", hint="such as en, de or pt-BR")
    return short(text)


def _check_times(asset: Asset, cues: Sequence[Cue]) -> None:
    late = [cue for cue in cues if asset.duration_ms and cue.start_ms >= asset.duration_ms]
    if late:
        raise Invalid(
            f"{len(late):,} of {len(cues):,} cues begin after the end of the video",
            hint="are these the subtitles of this video?",
        )
