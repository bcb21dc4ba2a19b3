"""Subtitles of a video: given, listed, read, taken away."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rushes.api.findings import Track
from rushes.api.models import Page
from rushes.domain.person import Principal, Scope
from rushes.errors import NotFound
from rushes.library import subtitles
from rushes.library.indexing import Source
from rushes.library.library import Library
from rushes.library.subtitles import language_of
from rushes.store import assets
from rushes.store.database import Transaction


@dataclass(frozen=True, slots=True)
class Subtitles:
    library: Library
    who: Principal

    def list(self, video_id: str) -> Page[Track]:
        """Return the subtitles that a video has."""
        self.who.need(Scope.READ)

        def work(tx: Transaction) -> Page[Track]:
            rows = tx.rows("subtitle_tracks", asset_id=self._find(tx, video_id))
            return Page(
                items=[
                    Track(language=row["language"], source=row["kind"], cues=row["cues"])
                    for row in rows
                ]
            )

        return self.library.db.read(work)

    def put(self, video_id: str, language: str, content: bytes) -> Track:
        """Give a video subtitles in a language; those it had are replaced."""
        self.who.need(Scope.WRITE)
        found = self.library.db.read(lambda tx: self._find(tx, video_id))
        cues = subtitles.put(self.library, found, language, content)
        return Track(language=language_of(language), source=Source.SUBTITLE, cues=cues)

    def cues(self, video_id: str, language: str) -> Sequence[dict[str, Any]]:
        """Return the subtitles of a language: given ones, else those of the file."""
        self.who.need(Scope.READ)
        wanted = language_of(language)

        def work(tx: Transaction) -> Sequence[dict[str, Any]]:
            found = self._find(tx, video_id)
            for kind in (Source.SUBTITLE, Source.EMBEDDED):
                rows = tx.rows("track_spans", asset_id=found, kind=kind, language=wanted)
                if rows:
                    return [dict(row) for row in rows]
            raise NotFound(f"video {found} has no subtitles in {wanted!r}")

        return self.library.db.read(work)

    def remove(self, video_id: str, language: str) -> None:
        """Take the subtitles of a language away that somebody gave."""
        self.who.need(Scope.WRITE)
        found = self.library.db.read(lambda tx: self._find(tx, video_id))
        subtitles.remove(self.library, found, language)

    def _find(self, tx: Transaction, text: str) -> str:
        return assets.find(tx, text, owner=self.who.sees)
