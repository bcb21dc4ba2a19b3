"""A film as `probe` describes it, for tests that need no file."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from rushes.media.source import AudioStream, Source, VideoStream

SOURCE = Source(
    container="mp4",
    duration_ms=10_000,
    size_bytes=1_000_000,
    video=VideoStream(
        index=0,
        codec="h264",
        width=1920,
        height=1080,
        display_width=1920,
        display_height=1080,
        fps=Fraction(30),
        variable=False,
        frames=300,
        start_ms=0,
        rotation=0,
        sar=Fraction(1),
        interlaced=False,
        pixel_format="yuv420p",
        bit_depth=8,
        primaries="bt709",
        transfer="bt709",
        matrix="bt709",
        range="tv",
        hdr=None,
    ),
    audio=(
        AudioStream(
            index=1,
            codec="aac",
            channels=2,
            layout="stereo",
            sample_rate=48_000,
            language="en",
            start_ms=0,
            duration_ms=10_000,
        ),
    ),
    subtitles=(),
    chapters=(),
    damage=(),
    linear=False,
    remux=False,
    decisions=(),
)


def film(source: Source, **changes: object) -> Source:
    """Return the same film with another video stream."""
    return replace(source, video=replace(source.video, **changes))
