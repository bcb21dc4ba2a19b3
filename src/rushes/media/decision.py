"""Says in words what will be done with a film, and why. Pure; shown to people as it is."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from rushes.media.source import Decision, Source, VideoStream

TRUNCATED = "truncated"
BROKEN = "broken packets"
JUMPS = "the clock jumps"
UNDECODABLE = "frames that cannot be decoded"
LONGEST_GOP_S = 60


def decide(
    source: Source, *, measured: Fraction, declared_ms: int, longest_gop: Fraction
) -> tuple[Decision, ...]:
    """Return what happens to this film and would not happen to a plain one."""
    pairs = (
        *_shape(source.video),
        *_picture(source.video),
        *_timing(source.video, measured),
        *_file(source, declared_ms, longest_gop),
        *_sound(source),
    )
    return tuple(Decision(what=what, why=why) for what, why in pairs)


def _shape(video: VideoStream) -> Iterator[tuple[str, str]]:
    if video.rotation:
        yield (
            f"turned by {video.rotation}° to {video.display_width}x{video.display_height}",
            "the file says that the camera was held that way",
        )
    if video.sar != 1:
        yield (
            f"stretched to square pixels, {video.display_width}x{video.display_height}",
            f"its pixels are {video.sar.numerator}:{video.sar.denominator} wide",
        )
    if video.display_width % 2 or video.display_height % 2:
        yield (
            "made even in width and height",
            f"{video.display_width}x{video.display_height} cannot be coded for every player",
        )


def _picture(video: VideoStream) -> Iterator[tuple[str, str]]:
    if video.interlaced:
        yield "deinterlaced", "its frames are two half pictures taken one after the other"
    if video.hdr:
        yield (
            "converted to standard dynamic range",
            f"it is {video.hdr.upper()}, which most players show washed out",
        )
    elif video.bit_depth > 8:
        yield "reduced to 8 bits a colour", f"few players show {video.bit_depth} bits"


def _timing(video: VideoStream, measured: Fraction) -> Iterator[tuple[str, str]]:
    if video.variable:
        yield (
            f"put on a constant grid of {_rate(video.fps)} frames a second",
            "its frame rate varies",
        )
    if video.fps < measured:
        yield (
            f"reduced to {_rate(video.fps)} frames a second",
            f"it has {_rate(measured)}, more than screens show",
        )
    elif video.fps > measured:
        yield f"raised to {_rate(video.fps)} frame a second", f"it has {_rate(measured)}"


def _file(source: Source, declared_ms: int, longest_gop: Fraction) -> Iterator[tuple[str, str]]:
    if TRUNCATED in source.damage:
        yield (
            f"processed as far as it goes, {_seconds(source.duration_ms)}",
            f"the file ends early; it says {_seconds(declared_ms)}",
        )
    others = [damage for damage in source.damage if damage != TRUNCATED]
    if others:
        yield "encoded in one piece", f"it is damaged ({', '.join(others)})"
    elif longest_gop > LONGEST_GOP_S:
        yield (
            "encoded in one piece",
            f"it has no key frame for {int(longest_gop)} s, so each part would start far back",
        )
    if source.remux:
        yield "copied into Matroska first", f"{source.container} cannot be cut at exact frames"


def _sound(source: Source) -> Iterator[tuple[str, str]]:
    if not source.audio:
        yield "made without sound", "it has no sound that can be read"


def _rate(rate: Fraction) -> str:
    """Write a frame rate the way people do.

    >>> _rate(Fraction(30000, 1001)), _rate(Fraction(25))
    ('29.97', '25')
    """
    return f"{float(rate):.3f}".rstrip("0").rstrip(".")


def _seconds(milliseconds: int) -> str:
    return f"{milliseconds / 1000:.1f} s"
