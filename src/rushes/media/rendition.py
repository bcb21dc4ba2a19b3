"""One quality of a film, or one of its sound tracks, as it lies in its set of files.

Names are those of the set: `720p/init.mp4`, `720p/00003.m4s`, `audio/en/00003.m4s`. A chunk gives
a rendition with a few segments; `join` makes the whole of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from rushes.errors import Permanent

MASTER = "master.m3u8"


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    number: int
    name: str
    duration: Fraction
    size_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendition:
    """Segments that play after one init. The size is that of a picture, or zero for sound."""

    name: str
    codecs: str
    init_sha256: str
    segments: tuple[Segment, ...]
    width: int = 0
    height: int = 0
    channels: int = 0
    language: str | None = None

    @property
    def is_audio(self) -> bool:
        return self.channels > 0

    @property
    def init(self) -> str:
        return init_name(self.name)

    @property
    def files(self) -> tuple[str, ...]:
        """The names of all its files."""
        return (self.init, *(segment.name for segment in self.segments))

    @property
    def duration(self) -> Fraction:
        return sum((segment.duration for segment in self.segments), Fraction())


def init_name(rendition: str) -> str:
    return f"{rendition}/init.mp4"


def segment_name(rendition: str, number: int) -> str:
    return f"{rendition}/{number:05d}.m4s"


def playlist_name(rendition: str) -> str:
    return f"{rendition}/playlist.m3u8"


def join(parts: Iterable[Rendition]) -> Rendition:
    """Return the whole of what the chunks gave, in any order.

    Raises Permanent if they do not share one init: no player could go from one to the next.
    """
    first, *others = sorted(parts, key=lambda part: part.segments[0].number)
    for other in others:
        if replace(other, segments=()) != replace(first, segments=()):
            raise Permanent(
                f"two chunks of {first.name} cannot be played one after the other",
                error_code="OUTPUT_INVALID",
                hint="encode all chunks again, with the same version of ffmpeg",
            )
    segments = (segment for part in (first, *others) for segment in part.segments)
    return replace(first, segments=tuple(segments))


def common_prefix(renditions: Sequence[Rendition]) -> int:
    """Return how many segments from the start all of them have: so much can be published."""
    return min((_prefix(rendition) for rendition in renditions), default=0)


def _prefix(rendition: Rendition) -> int:
    numbers = {segment.number for segment in rendition.segments}
    return next(number for number in range(len(numbers) + 1) if number not in numbers)
