"""Turns PyAV's streams into our values. Nothing from the file is passed on unchecked."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING

from rushes.media.admit import codec_name
from rushes.media.child.index import Track
from rushes.media.child.look import Look
from rushes.media.child.rate import Rate
from rushes.media.source import AudioStream, Chapter, SubtitleStream, VideoStream

if TYPE_CHECKING:
    from av.audio.stream import AudioStream as Sound
    from av.container import InputContainer
    from av.stream import Stream
    from av.video.stream import VideoStream as Film

LANGUAGE = re.compile(r"[a-z]{2,3}(-[A-Za-z0-9]{1,8})*")
UNKNOWN_LANGUAGES = {"und", "mis", "mul", "zxx"}
UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]+")
TITLE_LENGTH = 200
WIDEST_PIXEL = 4
HALF = Fraction(1, 2)
# the numbers of ITU-T H.273 in the words that ffmpeg's filters take
PRIMARIES = {
    1: "bt709", 4: "bt470m", 5: "bt470bg", 6: "smpte170m", 7: "smpte240m", 8: "film",
    9: "bt2020", 10: "smpte428", 11: "smpte431", 12: "smpte432", 22: "ebu3213",
}  # fmt: skip
TRANSFERS = {
    1: "bt709", 4: "bt470m", 5: "bt470bg", 6: "smpte170m", 7: "smpte240m", 8: "linear",
    9: "log100", 10: "log316", 11: "iec61966-2-4", 12: "bt1361e", 13: "iec61966-2-1",
    14: "bt2020-10", 15: "bt2020-12", 16: "smpte2084", 17: "smpte428", 18: "arib-std-b67",
}  # fmt: skip
MATRICES = {
    0: "gbr", 1: "bt709", 4: "fcc", 5: "bt470bg", 6: "smpte170m", 7: "smpte240m", 8: "ycgco",
    9: "bt2020nc", 10: "bt2020c", 14: "ictcp",
}  # fmt: skip
RANGES = {1: "tv", 2: "pc"}
HDR = {"smpte2084": "pq", "arib-std-b67": "hlg"}


def video(film: Film, track: Track, seen: Look, rate: Rate, start: Fraction) -> VideoStream:
    """Describe the picture; `start` is when the file starts, in seconds."""
    frame = seen.frame
    sar = _sar(film.sample_aspect_ratio)
    rotation = round(-frame.rotation / 90) * 90 % 360
    width, height = max(1, _round(frame.width * sar)), frame.height
    transfer = TRANSFERS.get(frame.color_trc)
    return VideoStream(
        index=film.index,
        codec=codec_name(film),
        width=frame.width,
        height=frame.height,
        display_width=height if rotation in {90, 270} else width,
        display_height=width if rotation in {90, 270} else height,
        fps=rate.grid,
        variable=rate.variable,
        frames=max(1, _round(track.seconds() * rate.grid)),
        start_ms=max(0, _start_ms(track, start)),
        rotation=rotation,
        sar=sar,
        interlaced=seen.interlaced,
        pixel_format=frame.format.name,
        bit_depth=frame.format.components[0].bits,
        primaries=PRIMARIES.get(frame.color_primaries),
        transfer=transfer,
        matrix=MATRICES.get(frame.colorspace),
        range=RANGES.get(frame.color_range),
        hdr=HDR.get(transfer or ""),
    )


def audio(sound: Sound, track: Track, start: Fraction) -> AudioStream:
    """Describe one sound track. What lies before the start is the decoder's run-up."""
    begin = _start_ms(track, start)
    end = begin + _round(track.seconds() * 1000)
    return AudioStream(
        index=sound.index,
        codec=codec_name(sound),
        channels=sound.codec_context.channels,
        layout=sound.codec_context.layout.name,
        sample_rate=sound.codec_context.sample_rate,
        language=_language(sound),
        start_ms=max(0, begin),
        duration_ms=max(0, end - max(0, begin)),
    )


def subtitles(stream: Stream) -> SubtitleStream:
    """Describe one track of subtitles."""
    return SubtitleStream(index=stream.index, codec=codec_name(stream), language=_language(stream))


def chapters(container: InputContainer, most: int) -> Iterator[Chapter]:
    """Yield the first chapters, with titles that can be shown."""
    for chapter in container.chapters()[:most]:
        tick = Fraction(chapter["time_base"] or 0)
        title = str(chapter["metadata"].get("title", ""))[: 10 * TITLE_LENGTH]
        yield Chapter(
            start_ms=max(0, _round(chapter["start"] * tick * 1000)),
            end_ms=max(0, _round(chapter["end"] * tick * 1000)),
            title=UNPRINTABLE.sub(" ", title).strip()[:TITLE_LENGTH],
        )


def _start_ms(track: Track, start: Fraction) -> int:
    return _round(((track.first or 0) * track.tick - start) * 1000)


def _language(stream: Stream) -> str | None:
    said = (stream.language or "")[:35]
    known = LANGUAGE.fullmatch(said) and said not in UNKNOWN_LANGUAGES
    return said if known else None


def _sar(said: Fraction | None) -> Fraction:
    """A pixel of another shape than people have ever filmed with is a mistake in the file."""
    if not said or not 1 / Fraction(WIDEST_PIXEL) <= said <= WIDEST_PIXEL:
        return Fraction(1)
    return said.limit_denominator(1000)


def _round(value: Fraction) -> int:
    return math.floor(value + HALF)
