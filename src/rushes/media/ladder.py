"""The qualities that are made of a film: by its short side, and never above the film itself."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from rushes.errors import Permanent
from rushes.media.source import Source, VideoStream

SMALLEST_PX = 16
CRF = 23
BUFFER_S = 2
FAST_FPS = 40
FAST_FACTOR = Fraction(3, 2)

# short side, and the most bits per second that 30 frames of it may take
CAPS = {
    2160: 20_000_000,
    1440: 11_000_000,
    1080: 6_000_000,
    720: 3_500_000,
    480: 1_800_000,
    360: 1_000_000,
}


class _Level(NamedTuple):
    """What a decoder of this H.264 level can do; Table A-1 of the standard."""

    name: str
    macroblocks_per_s: int
    macroblocks: int
    high_profile_bps: int


LEVELS = (
    _Level("3.0", 40_500, 1_620, 12_500_000),
    _Level("3.1", 108_000, 3_600, 17_500_000),
    _Level("3.2", 216_000, 5_120, 25_000_000),
    _Level("4.0", 245_760, 8_192, 25_000_000),
    _Level("4.1", 245_760, 8_192, 62_500_000),
    _Level("4.2", 522_240, 8_704, 62_500_000),
    _Level("5.0", 589_824, 22_080, 168_750_000),
    _Level("5.1", 983_040, 36_864, 300_000_000),
    _Level("5.2", 2_073_600, 36_864, 300_000_000),
    _Level("6.0", 4_177_920, 139_264, 300_000_000),
    _Level("6.1", 8_355_840, 139_264, 600_000_000),
    _Level("6.2", 16_711_680, 139_264, 1_000_000_000),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rung:
    """One quality. A film without a required rung is not playable; without another, it is."""

    name: str
    width: int
    height: int
    crf: int
    maxrate_bps: int
    bufsize_bits: int
    level: str
    required: bool = False


def rungs(source: Source) -> tuple[Rung, ...]:
    """Return the ladder of a film, the best quality first. The last one is required."""
    video = source.video
    short = min(video.display_width, video.display_height)
    if short < SMALLEST_PX:
        raise Permanent(
            f"the picture has {video.display_width}x{video.display_height} pixels; "
            f"less than {SMALLEST_PX} cannot be encoded",
            error_code="SOURCE_UNSUPPORTED",
        )
    sides = [side for side in CAPS if side <= short] or [short // 2 * 2]
    return tuple(_rung(video, side, required=side == sides[-1]) for side in sides)


def level_of(width: int, height: int, fps: Fraction, maxrate_bps: int) -> str:
    """Return the lowest level that allows this picture; the highest if none does.

    >>> level_of(1920, 1080, Fraction(30), 6_000_000)
    '4.0'
    """
    blocks = -(-width // 16) * -(-height // 16)
    for level in LEVELS:
        if (
            blocks <= level.macroblocks
            and max(width, height) ** 2 <= 8 * 256 * level.macroblocks
            and blocks * fps <= level.macroblocks_per_s
            and maxrate_bps <= level.high_profile_bps
        ):
            return level.name
    return LEVELS[-1].name


def _rung(video: VideoStream, side: int, *, required: bool) -> Rung:
    short, long = sorted((video.display_width, video.display_height))
    length = _even(Fraction(long * side, short), long)
    width, height = (side, length) if video.display_height > video.display_width else (length, side)
    cap = CAPS.get(side, CAPS[360])
    if video.fps > FAST_FPS:
        cap = int(cap * FAST_FACTOR)
    return Rung(
        name=f"{side}p",
        width=width,
        height=height,
        crf=CRF,
        maxrate_bps=cap,
        bufsize_bits=cap * BUFFER_S,
        level=level_of(width, height, video.fps, cap),
        required=required,
    )


def _even(length: Fraction, most: int) -> int:
    """Return the nearest even number up to `most`: pictures are made of blocks of two by two."""
    return min(2 * max(1, round(length / 2)), most // 2 * 2)
