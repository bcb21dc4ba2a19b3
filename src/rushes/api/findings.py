"""What a search is answered with, at every door."""

from __future__ import annotations

from collections.abc import Iterator

from rushes.api.models import Model, Video
from rushes.library.indexing import Source


class Box(Model):
    """Where a text stands, in pixels of the original."""

    x: int
    y: int
    width: int
    height: int


class Hit(Model):
    """A moment. `offsets` are the characters of `text` that answer: from, and up to. They
    are counted as code points of Unicode, which strings of JavaScript and Java are not.

    `url` is the page of the video at that moment; `frame_url` the picture that shows the text.
    """

    span_id: int
    asset_id: str
    title: str
    source: Source
    start_ms: int
    end_ms: int
    text: str
    offsets: list[tuple[int, int]]
    confidence: float
    language: str
    box: Box | None
    frame_url: str | None
    url: str


class FoundVideo(Model):
    """A video of this page, and how many of its moments answer."""

    asset_id: str
    title: str
    moments: int


class Found(Model):
    """Hits, the best first and those of a video together.

    `moments` and `video_count` count all pages. `cut`: more would answer than the newest thousand
    that were ranked. Without any hit, `near` are texts that may be misread, and `unread` videos
    whose text is not there yet.
    """

    items: list[Hit]
    next_cursor: str | None = None
    moments: int
    video_count: int
    videos: list[FoundVideo]
    cut: bool
    near: list[Hit]
    unread: list[Video]

    def __iter__(self) -> Iterator[Hit]:  # type: ignore[override]
        return iter(self.items)


class Suggestions(Model):
    items: list[str]


class Heatmap(Model):
    """How many texts are seen in each part of a video and, with a question, how many answer."""

    asset_id: str
    duration_ms: int | None
    texts: list[int]
    hits: list[int] | None


class Track(Model):
    """Subtitles of a video in one language, given by somebody or found in the file."""

    language: str
    source: Source
    cues: int
