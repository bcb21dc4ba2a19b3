"""Searching a server, and giving its videos subtitles: over HTTP."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Unpack

from rushes.api.desk.search import Where
from rushes.api.findings import Found, FoundVideo, Heatmap, Suggestions, Track
from rushes.api.models import Page
from rushes.client.remote import LARGEST_PAGE, video_path
from rushes.wire.http import Http, segment

NAMES = {"language": "lang", "since": "from", "until": "to"}


@dataclass(frozen=True, slots=True)
class Search:
    http: Http

    def __call__(
        self, text: str, *, limit: int = 50, cursor: str | None = None, **where: Unpack[Where]
    ) -> Found:
        """Return as many moments as were asked for: a server gives less at a time."""
        asked = {NAMES.get(name, name): _text(value) for name, value in where.items()}
        pages: list[Found] = []
        while True:
            n = min(LARGEST_PAGE, limit)
            page = self.http.get("/search", Found, q=text, cursor=cursor, limit=n, **asked)
            pages.append(page)
            limit, cursor = limit - len(page.items), page.next_cursor
            if cursor is None or limit <= 0:
                return _together(pages)

    def suggest(self, text: str, *, limit: int = 10) -> Suggestions:
        return self.http.get("/search/suggest", Suggestions, q=text, limit=limit)

    def heatmap(self, video_id: str, *, text: str | None = None, bins: int = 100) -> Heatmap:
        return self.http.get(video_path(video_id, "/heatmap"), Heatmap, q=text, bins=bins)


@dataclass(frozen=True, slots=True)
class Subtitles:
    http: Http

    def list(self, video_id: str) -> Page[Track]:
        return self.http.get(video_path(video_id, "/subtitles"), Page[Track])

    def put(self, video_id: str, language: str, content: bytes) -> Track:
        headers = {"Content-Type": "text/plain; charset=utf-8"}
        path = self._path(video_id, language)
        return self.http.change("PUT", path, Track, content=content, headers=headers)

    def remove(self, video_id: str, language: str) -> None:
        self.http.send("DELETE", self._path(video_id, language))

    def _path(self, video_id: str, language: str) -> str:
        return video_path(video_id, f"/subtitles/{segment(language, 'language')}")


def _together(pages: list[Found]) -> Found:
    """Return several pages as one."""
    videos: dict[str, FoundVideo] = {one.asset_id: one for page in pages for one in page.videos}
    return pages[0].model_copy(
        update={
            "items": [hit for page in pages for hit in page.items],
            "videos": list(videos.values()),
            "next_cursor": pages[-1].next_cursor,
        }
    )


def _text(value: Any) -> object:
    return value.isoformat() if isinstance(value, datetime) else value
