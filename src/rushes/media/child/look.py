"""Decodes a few frames of a film, for what no header tells: turned, interlaced, undecodable.

Runs in the child, after the caps were checked.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from rushes.errors import Permanent
from rushes.media.child.reader import check_size, complaints, packets

if TYPE_CHECKING:
    from av.container import InputContainer
    from av.video.frame import VideoFrame
    from av.video.stream import VideoStream

FRAMES = 6
PACKETS = 400
FURTHER_ON = (Fraction(1, 3), Fraction(2, 3))


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """The first frame, and what a few others showed."""

    frame: VideoFrame
    interlaced: bool
    damaged: bool


def look(container: InputContainer, film: VideoStream) -> Look:
    """Decode a few frames at the start, and a few further on: a black start is never interlaced."""
    with complaints() as heard:
        first, errors = _decode(container, film)
    if not first:
        check_size(heard)
        raise Permanent(
            "not one frame of the film can be decoded",
            error_code="SOURCE_CORRUPT",
            hint="play it in another program to see whether it is whole",
        )
    duration = container.duration or 0
    later = [
        frame for share in FURTHER_ON for frame in _decode_at(container, film, share * duration)
    ]
    return Look(
        frame=first[0],
        interlaced=any(frame.interlaced_frame for frame in (*first, *later)),
        damaged=errors > 0 or any(frame.is_corrupt for frame in first),
    )


def _decode_at(container: InputContainer, film: VideoStream, time: Fraction) -> list[VideoFrame]:
    """Return frames near a time in microseconds; where seeking fails, none."""
    import av

    with suppress(av.FFmpegError):
        container.seek(int(time) + (container.start_time or 0))
        return _decode(container, film)[0]
    return []


def _decode(container: InputContainer, film: VideoStream) -> tuple[list[VideoFrame], int]:
    """Return the next few frames, and how many packets would not decode."""
    import av

    frames: list[VideoFrame] = []
    errors = 0
    for n, packet in enumerate(packets(container, film)):
        try:
            frames += film.decode(packet)
        except av.FFmpegError:
            errors += 1
        if n >= PACKETS or len(frames) >= FRAMES:
            break
    return frames, errors
