"""Where a film is cut: frames of a constant grid, segments of about 6 s, chunks of whole segments.

All times are frame numbers, so that two machines that encode neighbouring chunks can never round
differently. A chunk is what one task encodes. The first is one segment long, so that somebody can
watch soon; a damaged film is one single chunk, because seeking in it cannot be trusted.

Sound is cut at most once. Its second chunk is encoded from the beginning of the film all the same,
and only what follows the first is kept: an encoder that has heard the same goes on in the same
way, to the bit, so that no seam is heard. It costs the first minute twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor

from rushes.media.source import Source

SEGMENT_S = Fraction(6)
KEY_FRAME_S = Fraction(2)
CHUNK_SEGMENTS = 5
FIRST_CHUNK_SEGMENTS = 1
FIRST_SOUND_SEGMENTS = 10
MIN_TIMESCALE = 10_000
AUDIO_RATE = 48_000
PACKET_SAMPLES = 1024  # in one packet of AAC
PACKET_S = Fraction(PACKET_SAMPLES, AUDIO_RATE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """The frames of the finished film, and where key frames and segments begin among them."""

    fps: Fraction
    frames: int
    gop_frames: int
    segment_frames: int
    linear: bool = False

    @property
    def segments(self) -> int:
        return -(-self.frames // self.segment_frames)

    @property
    def duration(self) -> Fraction:
        return self.frames / self.fps

    @property
    def target_s(self) -> int:
        """The whole seconds above which no segment is rounded, be it of pictures or of sound."""
        longest = min(self.segment_frames, self.frames) / self.fps + PACKET_S
        return max(1, int(longest + Fraction(1, 2)))

    @property
    def frame_ticks(self) -> int:
        """The length of a frame in units of the timescale."""
        return self.fps.denominator * -(-MIN_TIMESCALE // self.fps.numerator)

    @property
    def timescale(self) -> int:
        return int(self.frame_ticks * self.fps)

    def segment(self, number: int) -> range:
        """Return the frames of a segment."""
        first = number * self.segment_frames
        return range(first, min(first + self.segment_frames, self.frames))

    def audio_segment(self, number: int) -> range:
        """Return the AAC packets of a segment: they begin at most one packet before its frames.

        The last segment ends with the first packet boundary at or after the last frame's end.
        """
        return range(self._packets_before(number), self._packets_before(number + 1))

    def _packets_before(self, number: int) -> int:
        if number >= self.segments:
            return ceil(self.duration / PACKET_S)
        return floor(number * self.segment_frames / self.fps / PACKET_S)


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """Whole segments that one task encodes. Frames are counted from the start of the film."""

    index: int
    first_frame: int
    end_frame: int
    first_segment: int
    segments: int

    @property
    def numbers(self) -> range:
        """The numbers of its segments."""
        return range(self.first_segment, self.first_segment + self.segments)

    @property
    def is_urgent(self) -> bool:
        """Whether somebody may wait for it: the beginning of a film, or of its sound."""
        return self.index == 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The grid of a film and the chunks that cover it without a hole."""

    grid: Grid
    chunks: tuple[Chunk, ...]
    sounds: tuple[Chunk, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """How long the parts are wished. Real ones are whole frames, and whole groups of pictures."""

    segment_s: Fraction = SEGMENT_S
    key_frame_s: Fraction = KEY_FRAME_S
    chunk_segments: int = CHUNK_SEGMENTS
    first_chunk_segments: int = FIRST_CHUNK_SEGMENTS
    first_sound_segments: int = FIRST_SOUND_SEGMENTS


USUAL = Cut()


def plan(source: Source, cut: Cut = USUAL) -> Plan:
    """Return where to cut this film.

    Pictures that begin after the sound are preceded by the first of them, to stay beside it.
    """
    video = source.video
    lead = max(0, round(Fraction(video.start_ms, 1000) * video.fps))
    grid = make_grid(video.fps, lead + video.frames, cut, linear=source.linear)
    return Plan(grid=grid, chunks=tuple(_chunks(grid, cut)), sounds=tuple(_sounds(grid, cut)))


def make_grid(fps: Fraction, frames: int, cut: Cut, *, linear: bool = False) -> Grid:
    """Return the grid for a frame rate.

    >>> make_grid(Fraction(24000, 1001), 1000, Cut()).segment_frames
    144
    """
    gop = max(1, round(cut.key_frame_s * fps))
    groups = max(1, round(cut.segment_s * fps / gop))
    return Grid(fps=fps, frames=frames, gop_frames=gop, segment_frames=gop * groups, linear=linear)


def _chunks(grid: Grid, cut: Cut) -> Iterator[Chunk]:
    index = first = 0
    while first < grid.segments:
        wanted = cut.chunk_segments if first else cut.first_chunk_segments
        end = grid.segments if grid.linear else min(first + wanted, grid.segments)
        yield _chunk(grid, index, range(first, end))
        index, first = index + 1, end


def _sounds(grid: Grid, cut: Cut) -> Iterator[Chunk]:
    first = cut.first_sound_segments
    if grid.linear or grid.segments <= 2 * first:
        yield _chunk(grid, 0, range(grid.segments))
    else:
        yield _chunk(grid, 0, range(first))
        yield _chunk(grid, 1, range(first, grid.segments))


def _chunk(grid: Grid, index: int, numbers: range) -> Chunk:
    return Chunk(
        index=index,
        first_frame=grid.segment(numbers.start).start,
        end_frame=grid.segment(numbers.stop - 1).stop,
        first_segment=numbers.start,
        segments=len(numbers),
    )
