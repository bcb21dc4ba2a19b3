"""A film as it came: what `probe` found in it and what will be done about it. Values only."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

HOUR_MS = 3_600_000


@dataclass(frozen=True, slots=True, kw_only=True)
class VideoStream:
    """The picture. `width` and `height` are as stored, `display_…` upright and in square pixels.

    `fps` is the constant grid that everything made of it lies on; `frames` is how many places
    of that grid the picture fills from its own first frame on, counted from the packets.
    """

    index: int
    codec: str
    width: int
    height: int
    display_width: int
    display_height: int
    fps: Fraction
    variable: bool
    frames: int
    start_ms: int
    rotation: int
    sar: Fraction
    interlaced: bool
    pixel_format: str
    bit_depth: int
    primaries: str | None = None
    transfer: str | None = None
    matrix: str | None = None
    range: str | None = None
    hdr: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AudioStream:
    """One sound track. Times count from the start of the file."""

    index: int
    codec: str
    channels: int
    layout: str
    sample_rate: int
    language: str | None
    start_ms: int
    duration_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SubtitleStream:
    index: int
    codec: str
    language: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Chapter:
    start_ms: int
    end_ms: int
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What will be done with the film, and why, in words for people."""

    what: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A film that can be processed.

    `linear`: it must not be cut into chunks. `remux`: copy it into Matroska before seeking in it.
    """

    container: str
    duration_ms: int
    size_bytes: int
    video: VideoStream
    audio: tuple[AudioStream, ...] = ()
    subtitles: tuple[SubtitleStream, ...] = ()
    chapters: tuple[Chapter, ...] = ()
    damage: tuple[str, ...] = ()
    linear: bool = False
    remux: bool = False
    decisions: tuple[Decision, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Caps:
    """What is refused as too large, before anything is decoded."""

    duration_ms: int = 24 * HOUR_MS
    pixels: int = 8192 * 4320
    streams: int = 100
    chapters: int = 1000
    size_bytes: int = 1024**4
