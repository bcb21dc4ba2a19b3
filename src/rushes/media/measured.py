"""What a finished clip really holds, read from the file, and whether that is what was asked for."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rushes.errors import Permanent, ToolFailed
from rushes.media import output, sandbox, trim
from rushes.media.mp4.box import invalid
from rushes.media.sandbox import Limits, Watch
from rushes.media.source import Source

SOUND_OFF_MS = 100
ROUNDING_MS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """`begins`: the first picture is whole, at 0, and a player finds the index before it."""

    frames: int
    begins: bool
    size: tuple[int, int]
    video_ms: int
    audio_ms: tuple[int, ...]


def measure(path: Path, *, decode: bool, limits: Limits, watch: Watch) -> Measured:
    """Read a clip; with `decode` count only the pictures that can be decoded."""
    output.require(path)
    try:
        answer = sandbox.call(
            "rushes.media.child.cutter:measure",
            {"path": str(path.absolute()), "decode": decode},
            folder=path.parent,
            reads=[path],
            limits=limits,
            watch=watch,
        )
    except (Permanent, ToolFailed) as error:
        raise invalid(f"the clip cannot be read: {error.message}") from error
    match answer:
        case {
            "frames": int(frames),
            "begins": bool(begins),
            "size": [int(width), int(height)],
            "video_ms": int(video_ms),
            "audio_ms": list(audio_ms),
        }:
            return Measured(
                frames=frames,
                begins=begins,
                size=(width, height),
                video_ms=video_ms,
                audio_ms=tuple(map(int, audio_ms)),
            )
    raise invalid("the clip cannot be read")


def check(made: Measured, source: Source) -> None:
    """Raise unless a clip of this film begins as it should and has its sound."""
    if not made.begins or made.frames == 0:
        raise invalid("the clip does not begin with a whole picture")
    if len(made.audio_ms) != len(source.audio[:1]):
        raise invalid("the clip has lost its sound")


def check_exact(made: Measured, source: Source, frames: range) -> None:
    """Raise unless a clip holds exactly these frames, each as long as it should be.

    Of a damaged film some may be missing at the end.
    """
    check(made, source)
    if made.frames != len(frames) and not (source.damage and made.frames < len(frames)):
        raise invalid(f"the clip has {made.frames} frames instead of {len(frames)}")
    if abs(made.video_ms - made.frames / source.video.fps * 1000) > ROUNDING_MS:
        raise invalid(f"{made.frames} frames of the clip last {made.video_ms} ms")
    if made.size != trim.even_size(source):
        raise invalid(f"the clip is {made.size[0]} by {made.size[1]} pixels")
    if any(abs(audio_ms - made.video_ms) > SOUND_OFF_MS for audio_ms in made.audio_ms):
        raise invalid(f"the clip has {made.video_ms} ms of picture, {made.audio_ms[0]} of sound")
