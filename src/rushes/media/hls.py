"""Encodes one chunk of a film: all rungs from one decode, in segments that fit their neighbours.

A chunk is cut out of the grid by frame numbers, encoded from a key frame to the last frame before
the next one, and then moved to its place in time by rewriting two numbers in each fragment. So
segments of chunks that were made on different machines play one after the other with one init.

Exit code 0 proves nothing: every file is read again (check.py) before it is handed out.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import IO

from rushes.errors import Retryable, StageError
from rushes.media import ffmpeg, filters
from rushes.media.cascade import cascade
from rushes.media.check import check_chunk
from rushes.media.encoders import USUAL, Tools, threads
from rushes.media.ladder import Rung
from rushes.media.mp4.box import invalid, open_made
from rushes.media.mp4.fragment import parse_fragment, read_fragments, read_init, shift_fragment
from rushes.media.mp4.init import parse_init, write_init
from rushes.media.plan import Chunk, Grid
from rushes.media.rendition import Rendition, Segment, init_name, segment_name
from rushes.media.sandbox import NICE, Limits
from rushes.media.source import Source, VideoStream

# Seeking should land on a key frame at or before the wanted place; in some files it does not
PREROLL_S, LONG_PREROLL_S = 1, 30
URGENT_NICE = 1  # gets seven times the processor of its neighbours
MP4 = (
    *("-map_metadata", "-1", "-map_chapters", "-1", "-fflags", "+bitexact", "-use_editlist", "0"),
    *("-f", "mp4", "-movflags"),
    "+frag_keyframe+empty_moov+default_base_moof+negative_cts_offsets+skip_trailer",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """What one task encodes: this chunk of this film, in these rungs."""

    video: VideoStream
    grid: Grid
    chunk: Chunk
    rungs: tuple[Rung, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A rung that could not be encoded while others could."""

    rung: str
    error_code: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Encoded:
    """The segments of a chunk, one rendition for each rung that was encoded."""

    renditions: tuple[Rendition, ...]
    failures: tuple[Failure, ...] = ()


def encode_chunk(
    path: Path, piece: Piece, *, folder: Path, separately: bool = False, tools: Tools = USUAL
) -> Encoded:
    """Encode a chunk into `folder`, under the names of the set. All or nothing.

    `separately` decodes anew for each rung, so that one which fails does not take the others
    with it; only a required one raises. A full disk is not the fault of a rung.
    """
    if not separately:
        return Encoded(renditions=_encode(path, piece, folder, tools))
    renditions: list[Rendition] = []
    failures: list[Failure] = []
    for rung in piece.rungs:
        try:
            renditions += _encode(path, replace(piece, rungs=(rung,)), folder, tools)
        except StageError as error:
            if rung.required or error.error_code == "DISK_FULL":
                raise
            failures.append(
                Failure(rung=rung.name, error_code=error.error_code, message=error.message)
            )
    return Encoded(renditions=tuple(renditions), failures=tuple(failures))


def remux(path: Path, source: Source, *, folder: Path, tools: Tools = USUAL) -> Path:
    """Copy the streams into a Matroska file, in which seeking can be trusted. Probe it again."""
    target = folder / "source.mkv"
    streams = (source.video.index, *(audio.index for audio in source.audio))
    arguments = [
        *(*ffmpeg.input_options(), "-i", ffmpeg.source(path)),
        *(word for index in streams for word in ("-map", f"0:{index}")),
        *("-c", "copy", "-f", "matroska", target.name),
    ]
    ffmpeg.run(
        arguments,
        folder=folder,
        reads=[path],
        duration_ms=source.duration_ms,
        limits=limits(Fraction(source.duration_ms, 1000)),
        watch=tools.watch,
        ffmpeg=tools.ffmpeg,
    )
    return target


@contextmanager
def workplace(folder: Path) -> Iterator[Path]:
    """Give ffmpeg a folder to write in, and remove it afterwards.

    It never sees the folder of the set: a film that takes it over could leave links there, and
    have us write somewhere else.
    """
    place = folder / "ffmpeg"
    place.mkdir(exist_ok=True)
    try:
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)


def limits(duration: Fraction, *, urgent: bool = False) -> Limits:
    """Return limits for work on that much film: generous, but finite."""
    wall_s = 900 + 20 * float(duration)
    return Limits(wall_s=wall_s, cpu_s=int(16 * wall_s), nice=URGENT_NICE if urgent else NICE)


def _encode(path: Path, piece: Piece, folder: Path, tools: Tools) -> tuple[Rendition, ...]:
    try:
        return _encode_from(path, piece, PREROLL_S, folder, tools)
    except Retryable as error:
        if error.error_code != "OUTPUT_INVALID" or piece.chunk.first_frame == 0:
            raise
    return _encode_from(path, piece, LONG_PREROLL_S, folder, tools)


def _encode_from(
    path: Path, piece: Piece, preroll: int, folder: Path, tools: Tools
) -> tuple[Rendition, ...]:
    frames = piece.chunk.end_frame - piece.chunk.first_frame
    duration = frames / piece.grid.fps
    with workplace(folder) as place:
        ffmpeg.run(
            _arguments(path, piece, preroll, tools),
            folder=place,
            reads=[path],
            duration_ms=int(duration * 1000),
            limits=limits(duration, urgent=piece.chunk.is_urgent),
            watch=tools.watch,
            ffmpeg=tools.ffmpeg,
        )
        renditions = tuple(_cut(rung, piece, place, folder) for rung in piece.rungs)
    check_chunk(folder, piece.grid, piece.chunk, piece.rungs, renditions)
    tools.watch.progress(1.0)
    return renditions


def _arguments(path: Path, piece: Piece, preroll: int, tools: Tools) -> list[str]:
    arguments = [
        *(*ffmpeg.input_options(), *_seek(piece, preroll), "-i", ffmpeg.source(path)),
        *("-filter_complex", cascade(piece.video, piece.grid, piece.chunk, piece.rungs)),
    ]
    for rung in piece.rungs:
        arguments += [
            *("-map", f"[{rung.name}]", "-fps_mode", "passthrough"),
            *("-enc_time_base", filters.ratio(1 / piece.grid.fps)),
            *tools.encoder.options(rung, piece.grid),
            *threads(rung, urgent=piece.chunk.is_urgent),
            *("-video_track_timescale", str(piece.grid.timescale)),
            *(*MP4, f"{rung.name}.mp4"),
        ]
    return arguments


def _seek(piece: Piece, preroll: int) -> list[str]:
    """Begin a little earlier, and keep the frames that come with it.

    The picture that is shown when a chunk begins may have begun long before, so none is dropped
    until the grid is filled. A damaged film is read in one go: ffmpeg may repair its times, and
    one thread decodes it, for with several the pictures that break are never the same.
    """
    if piece.grid.linear:
        return ["-threads", "1"]
    start = max(Fraction(0), piece.chunk.first_frame / piece.grid.fps - preroll)
    return ["-copyts", "-start_at_zero", "-noaccurate_seek", "-ss", f"{float(start):.6f}"]


def _cut(rung: Rung, piece: Piece, place: Path, folder: Path) -> Rendition:
    """Cut what ffmpeg wrote for one rung into its init and its segments."""
    (folder / rung.name).mkdir(exist_ok=True)
    with open_made(place / f"{rung.name}.mp4") as stream:
        init = parse_init(read_init(stream))
        written = write_init(init)
        (folder / init_name(rung.name)).write_bytes(written)
        segments = tuple(
            _write(rung, number, data, piece.grid, folder)
            for number, data in _segments(stream, rung, piece)
        )
    return Rendition(
        name=rung.name,
        codecs=init.codecs,
        init_sha256=hashlib.sha256(written).hexdigest(),
        segments=segments,
        width=init.width,
        height=init.height,
    )


def _segments(stream: IO[bytes], rung: Rung, piece: Piece) -> Iterator[tuple[int, bytes]]:
    """Yield the number and the bytes of each segment, moved to its place in the film."""
    grid, chunk = piece.grid, piece.chunk
    fragments = read_fragments(stream)
    for number in chunk.numbers:
        missing = len(grid.segment(number))
        parts: list[bytes] = []
        while missing > 0:
            data = next(fragments, None)
            if data is None:
                raise invalid(f"segment {number} of {rung.name} lacks {missing} frames")
            missing -= len(parse_fragment(data).samples)
            parts.append(
                shift_fragment(
                    data,
                    sequence=chunk.first_frame // grid.gop_frames,
                    ticks=chunk.first_frame * grid.frame_ticks,
                )
            )
        yield number, b"".join(parts)
    if next(fragments, None) is not None:
        raise invalid(f"{rung.name} has more frames than were asked for")


def _write(rung: Rung, number: int, data: bytes, grid: Grid, folder: Path) -> Segment:
    name = segment_name(rung.name, number)
    (folder / name).write_bytes(data)
    duration = len(grid.segment(number)) / grid.fps
    return Segment(number=number, name=name, duration=duration, size_bytes=len(data))
