"""Takes the pictures worth reading from a part of a film, in one pass over the original.

At `target_fps` a picture is kept if it looks different from the last one *kept*, so a slow fade
cannot slip through in small steps, or if `force_every_ms` have passed. Parts tile: cut anywhere,
the pictures looked at and the scene cuts are those of the whole film, none twice and none lost;
the first picture of a part is always kept. Files are named by their time in ms, and show what a
person sees (display.py), so boxes found in them fit the player.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from rushes.errors import Invalid
from rushes.media import output, sandbox
from rushes.media.mp4.box import invalid
from rushes.media.sandbox import Limits, Watch
from rushes.media.source import VideoStream
from rushes.media.view import view_of

PART_MS = 300_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """The stretch of a film from `start_ms` up to, and without, `end_ms`."""

    start_ms: int
    end_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """How often to look, and what counts as alike. `tiles` off loses small text; for comparison."""

    target_fps: float = 10
    dedupe_threshold: float = 0.95
    tiles: bool = True
    force_every_ms: int = 10_000
    quality: int = 85


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """One picture that was kept. It stands for the film from its time until the next one's."""

    t_ms: int
    path: str
    width: int
    height: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """What a part gave. `looked_at` counts the pictures at `target_fps`, kept or not."""

    part: Part
    frames: tuple[Frame, ...]
    cuts_ms: tuple[int, ...]
    looked_at: int


def parts(duration_ms: int, length_ms: int = PART_MS, *, linear: bool = False) -> tuple[Part, ...]:
    """Return the parts of a film, one per task; a film in which one cannot seek is one part.

    >>> [(part.start_ms, part.end_ms) for part in parts(700_000)]
    [(0, 300000), (300000, 600000), (600000, 700000)]
    """
    end = max(1, duration_ms)
    step = end if linear else length_ms
    return tuple(
        Part(start_ms=start, end_ms=min(start + step, end)) for start in range(0, end, step)
    )


def frame_name(t_ms: int) -> str:
    """Return the name of the picture at that time.

    >>> frame_name(12_300)
    '000012300.jpg'
    """
    return f"{t_ms:09d}.jpg"


def sample(
    path: Path,
    video: VideoStream,
    part: Part,
    *,
    folder: Path,
    rules: Rules = Rules(),  # noqa: B008 - a frozen value
    watch: Watch = sandbox.SILENT,
) -> Sample:
    """Write the pictures worth reading into `folder` and return them in order."""
    _check(part, rules)
    frames: list[Frame] = []
    answer = sandbox.call(
        "rushes.media.child.sampler:run",
        {
            "path": str(path.absolute()),
            "view": view_of(video),
            "part": asdict(part),
            "rules": asdict(rules),
            "folder": str(folder.absolute()),
        },
        folder=folder,
        reads=[path],
        limits=_limits(part),
        watch=watch,
        on_message=_hear(part, folder, frames, watch),
    )
    match answer:
        case {"looked_at": int(looked_at), "cuts_ms": list(cuts)}:
            cuts_ms = tuple(int(cut) for cut in cuts)
            return Sample(part=part, frames=tuple(frames), cuts_ms=cuts_ms, looked_at=looked_at)
    raise invalid("the sampler gave no counts")


def _check(part: Part, rules: Rules) -> None:
    if not 0 <= part.start_ms < part.end_ms:
        raise Invalid(f"there is no part from {part.start_ms} to {part.end_ms} ms")
    if rules.target_fps <= 0 or rules.force_every_ms <= 0:
        raise Invalid("target_fps and force_every_ms must be more than 0")
    if not 0 <= rules.dedupe_threshold <= 1:
        raise Invalid(f"dedupe_threshold is between 0 and 1, not {rules.dedupe_threshold}")


def _limits(part: Part) -> Limits:
    """Return room for the slowest decoder on the largest picture, yet an end."""
    seconds = 120 + (part.end_ms - part.start_ms) // 1000 * 20
    return Limits(wall_s=seconds, cpu_s=seconds * 4)


def _hear(part: Part, folder: Path, frames: list[Frame], watch: Watch) -> Callable[[object], None]:
    """Return what to do with a picture that the child tells of: look at the file, take it."""

    def hear(message: object) -> None:
        match message:
            case {"t_ms": int(t_ms), "kept": [int(width), int(height)]}:
                path = folder / frame_name(t_ms)
                output.require(path)
                frames.append(Frame(t_ms=t_ms, path=str(path), width=width, height=height))
            case {"t_ms": int(t_ms)}:
                watch.progress((t_ms - part.start_ms) / (part.end_ms - part.start_ms))

    return hear
