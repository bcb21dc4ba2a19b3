"""Makes the poster of a film: the best of a dozen of its pictures, or the one at a given time.

Candidates are found by seeking, so a film of three hours costs as much as one of three minutes.
A film that is black throughout still gets a poster: the least bad picture.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rushes.errors import Invalid
from rushes.media import output, sandbox
from rushes.media.mp4.box import invalid
from rushes.media.sandbox import Limits, Watch
from rushes.media.source import Source
from rushes.media.view import view_of

CANDIDATES = 12
BOXES_PX = (1280, 320)
LIMITS = Limits(wall_s=600, cpu_s=1200)


@dataclass(frozen=True, slots=True, kw_only=True)
class Still:
    """One JPEG."""

    path: str
    width: int
    height: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Poster:
    """The picture of the film at `t_ms`, in several sizes, the largest first. Score: 0 to 1."""

    t_ms: int
    score: float
    stills: tuple[Still, ...]


def candidate_times(duration_ms: int, count: int = CANDIDATES) -> tuple[int, ...]:
    """Return where to look: the middles of equal stretches, so neither the start nor the end.

    >>> candidate_times(60_000, 3)
    (10000, 30000, 50000)
    """
    return tuple(duration_ms * (2 * place + 1) // (2 * count) for place in range(count))


def thumbnail(
    path: Path,
    source: Source,
    *,
    folder: Path,
    at_ms: int | None = None,
    boxes_px: tuple[int, ...] = BOXES_PX,
    watch: Watch = sandbox.SILENT,
) -> Poster:
    """Write poster.jpg, and poster-{box}.jpg for the other sizes, into `folder`."""
    if at_ms is not None and not 0 <= at_ms < source.duration_ms:
        raise Invalid(f"the film has no picture at {at_ms} ms: it ends at {source.duration_ms} ms")
    if not boxes_px or min(boxes_px) < 2:
        raise Invalid("a poster needs at least one size of 2 pixels or more")
    answer = sandbox.call(
        "rushes.media.child.poster:run",
        {
            "path": str(path.absolute()),
            "view": view_of(source.video),
            "times_ms": candidate_times(source.duration_ms) if at_ms is None else [at_ms],
            "exact": at_ms is not None,
            "targets": {_name(box, boxes_px): box for box in boxes_px},
        },
        folder=folder,
        reads=[path],
        limits=LIMITS,
        watch=watch,
    )
    paths = [folder / _name(box, boxes_px) for box in boxes_px]
    output.require(*paths)
    return _poster(answer, paths)


def _name(box: int, boxes_px: tuple[int, ...]) -> str:
    return "poster.jpg" if box == boxes_px[0] else f"poster-{box}.jpg"


def _poster(answer: object, paths: list[Path]) -> Poster:
    match answer:
        case {"t_ms": int(t_ms), "score": float(score), "sizes": list(sizes)}:
            stills = tuple(
                Still(path=str(path), width=int(width), height=int(height))
                for path, (width, height) in zip(paths, sizes, strict=True)
            )
            return Poster(t_ms=t_ms, score=score, stills=stills)
    raise invalid("nothing is known of the poster")
