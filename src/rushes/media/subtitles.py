"""Subtitles as text with times: read from SubRip or WebVTT, or taken out of a film.

Read strictly: what is not one of the two, or says something impossible, is refused with the line
where it does. Of what a film has, such cues are left out: nobody could correct them.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from rushes.errors import Invalid
from rushes.media import ffmpeg, sandbox
from rushes.media.hls import workplace
from rushes.media.sandbox import Watch
from rushes.media.source import Source, SubtitleStream
from rushes.media.text import clean

LARGEST = 1_000_000  # bytes
MOST = 20_000  # cues
CODECS = ("subrip", "srt", "ass", "ssa", "mov_text", "webvtt", "text")
"""Subtitles that are text; others are pictures."""

TIME = r"(?:(\d{1,3}):)?([0-5]\d):([0-5]\d)[.,](\d{3})"
TIMES = re.compile(rf"{TIME}[ \t]+-->[ \t]+{TIME}(?:[ \t].*)?")
MARKUP = re.compile(r"<[^<>]{0,200}>|\{\\[^{}]{0,200}\}")
ASIDE = ("NOTE", "STYLE", "REGION")


class Cue(NamedTuple):
    start_ms: int
    end_ms: int
    text: str


def read(content: bytes) -> list[Cue]:
    """Return the cues of a file, without markup. Raises Invalid for what is neither format."""
    if len(content) > LARGEST:
        raise Invalid(f"the subtitles have more than {LARGEST:,} bytes")
    try:
        lines = content.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise Invalid("the subtitles are not UTF-8", hint="save them as UTF-8") from error
    cues = list(_cues(lines))
    if not cues:
        raise Invalid(
            "there is no cue in the subtitles", hint="send SubRip (.srt) or WebVTT (.vtt)"
        )
    if len(cues) > MOST:
        raise Invalid(f"{len(cues):,} cues; the limit is {MOST:,}")
    return cues


def tracks(source: Source) -> tuple[SubtitleStream, ...]:
    """Return the subtitles of a film that are text."""
    return tuple(stream for stream in source.subtitles if stream.codec in CODECS)


def extract(
    path: Path,
    streams: Sequence[SubtitleStream],
    *,
    folder: Path,
    watch: Watch = sandbox.SILENT,
) -> list[list[Cue]]:
    """Return the cues of these streams of a film, which is read once."""
    with workplace(folder) as place:
        targets = [place / f"{stream.index}.vtt" for stream in streams]
        outputs = [
            argument
            for stream, target in zip(streams, targets, strict=True)
            for argument in ("-map", f"0:{stream.index}", "-f", "webvtt", str(target))
        ]
        decoders = ",".join((ffmpeg.DECODERS, *CODECS))
        options = [*ffmpeg.input_options(), "-codec_whitelist", decoders]
        ffmpeg.run(
            [*options, "-i", ffmpeg.source(path), *outputs],
            folder=place,
            reads=[path],
            watch=watch,
        )
        return [_found(target.read_bytes()) for target in targets]


def _found(content: bytes) -> list[Cue]:
    """Return the cues of what was taken out of a film, as far as they can be."""
    cues: list[Cue] = []
    for number, block in _blocks(content[:LARGEST].decode("utf-8", "ignore").splitlines()):
        with suppress(Invalid):
            cues += _in_block(number, block)
    return cues[:MOST]


def _cues(lines: list[str]) -> Iterator[Cue]:
    for number, block in _blocks(lines):
        yield from _in_block(number, block)


def _in_block(number: int, block: list[str]) -> Iterator[Cue]:
    """Yield the cue of a block, if it is one."""
    where = next((n for n, line in enumerate(block[:2]) if "-->" in line), None)
    if where is not None:
        yield from _cue(number + where, block[where], block[where + 1 :])
    elif not _is_aside(number, block[0]):
        raise Invalid(f"line {number} of the subtitles begins no cue: {block[0][:60]!r}")


def _is_aside(number: int, line: str) -> bool:
    return (number == 1 and line.startswith("WEBVTT")) or line.partition(" ")[0] in ASIDE


def _blocks(lines: list[str]) -> Iterator[tuple[int, list[str]]]:
    """Yield what stands between empty lines, with the number of its first line."""
    block: list[str] = []
    for number, line in enumerate([*lines, ""], 1):
        if line.strip():
            block.append(line.strip())
        elif block:
            yield number - len(block), block
            block = []


def _cue(number: int, times: str, lines: list[str]) -> Iterator[Cue]:
    found = TIMES.fullmatch(times)
    if found is None:
        raise Invalid(f"line {number} of the subtitles is no time: {times[:60]!r}")
    start, end = (_millis(found.groups()[at : at + 4]) for at in (0, 4))
    if start >= end:
        raise Invalid(f"line {number} of the subtitles ends before it begins: {times[:60]!r}")
    shown = clean(html.unescape(MARKUP.sub("", " ".join(lines))))
    if shown:
        yield Cue(start, end, shown)


def _millis(parts: tuple[str | None, ...]) -> int:
    hours, minutes, seconds, millis = (int(part or 0) for part in parts)
    return ((hours * 60 + minutes) * 60 + seconds) * 1000 + millis
