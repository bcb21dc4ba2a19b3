"""Cuts a clip out of the original: exactly, by encoding it anew, or fast, by copying packets.

An exact clip holds the frames whose time is at its start or later, and before its end, so that two
clips that meet share no frame and lose none. Frames are those of the film's constant grid, and the
time of a frame is a whole millisecond, the nearest: whoever asks for what a clip says of itself
gets the same clip. A fast clip can only begin at a key frame; `fast_start` says where that is
before anything is cut, and the clip says it again. Either is read once more before it is handed
out: exit code 0 proves nothing.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from math import ceil, floor
from pathlib import Path

from rushes.errors import Invalid, StageError
from rushes.media import ffmpeg, measured, sandbox, trim
from rushes.media.measured import Measured
from rushes.media.mp4.box import invalid
from rushes.media.sandbox import Limits, Watch
from rushes.media.source import Source

PADDING_MS = 2_000
LONGEST_PADDING_MS = 60_000
LONGEST_MS = 30 * 60_000
HALF_MS = Fraction(1, 2)
PREROLLS_MS = (2_000, 30_000, 10**12)
# how it ends when nothing could be decoded: too few frames, or ffmpeg 7 fails an assertion
LATE = frozenset({"OUTPUT_INVALID", "SOURCE_CORRUPT", "FFMPEG_FAILED"})
QUICK = Limits(wall_s=120, cpu_s=120)
COPY = "rushes.media.child.cutter:copy"
COPIED_VIDEO = frozenset({"h264", "hevc", "av1", "vp9", "mpeg4"})
COPIED_AUDIO = frozenset({"aac", "mp3", "ac3", "eac3", "opus", "flac", "alac"})


class Mode(StrEnum):
    EXACT = "exact"
    FAST = "fast"


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """What to cut out of a film: from `start_ms` up to, and without, `end_ms`."""

    start_ms: int
    end_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """How a clip was made: the command, and the programs with their versions."""

    command: tuple[str, ...]
    tools: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Clip:
    """A clip that was checked. Its times are the real ones, in the film it was cut from."""

    path: str
    mode: Mode
    start_ms: int
    end_ms: int
    frames: int
    width: int
    height: int
    audio: bool
    provenance: Provenance


def window(
    start_ms: int,
    end_ms: int,
    duration_ms: int,
    *,
    padding_ms: int = PADDING_MS,
    longest_ms: int = LONGEST_MS,
) -> Window:
    """Return what to cut for a request: padded on both sides, but never over the film's ends.

    >>> window(1_000, 5_000, 6_000)
    Window(start_ms=0, end_ms=6000)
    """
    if not 0 <= start_ms < end_ms:
        raise Invalid(f"a clip cannot go from {start_ms} to {end_ms} ms")
    if end_ms > duration_ms:
        raise Invalid(f"the clip ends at {end_ms} ms, the film at {duration_ms} ms")
    if not 0 <= padding_ms <= LONGEST_PADDING_MS:
        raise Invalid(f"padding is 0 to {LONGEST_PADDING_MS} ms, not {padding_ms}")
    if end_ms - start_ms > longest_ms:
        raise Invalid(
            f"the clip is {end_ms - start_ms} ms long; the limit is {longest_ms} ms",
            hint="cut several clips, or ask the operator for a higher limit",
        )
    return Window(
        start_ms=max(0, start_ms - padding_ms), end_ms=min(duration_ms, end_ms + padding_ms)
    )


def clip_key(version: str, asked: Window, *, padding_ms: int, profile: str) -> str:
    """Return the name of a clip: the same request for the same version is the same clip."""
    parts = (version, str(asked.start_ms), str(asked.end_ms), str(padding_ms), profile)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]


def frame_range(source: Source, wanted: Window) -> range:
    """Return the frames of the film's grid within the window. Raises Invalid if there are none."""
    fps, end = source.video.fps, _end_frame(source)
    found = range(first_frame(wanted.start_ms, fps), min(end, first_frame(wanted.end_ms, fps)))
    if not found:
        raise Invalid(
            f"no frame of the film begins between {wanted.start_ms} and {wanted.end_ms} ms",
            hint="ask for a longer clip, or an earlier one",
        )
    return found


def first_frame(time_ms: int, fps: Fraction) -> int:
    """Return the first frame whose time is `time_ms` or later.

    >>> [first_frame(time_ms, Fraction(30)) for time_ms in (733, 734, 767, 768)]
    [22, 23, 23, 24]
    """
    return max(0, ceil((time_ms - HALF_MS) * fps / 1000))


def frame_ms(number: int, fps: Fraction) -> int:
    """Return the time of a frame, to the nearest millisecond.

    >>> [frame_ms(number, Fraction(30)) for number in (22, 23)]
    [733, 767]
    """
    return floor(number / fps * 1000 + HALF_MS)


def film_end_ms(source: Source) -> int:
    """Return where the film ends for a player: the last frame may outlast what the file says."""
    return max(source.duration_ms, frame_ms(_end_frame(source), source.video.fps))


def fast_start(
    path: Path, source: Source, start_ms: int, *, folder: Path, watch: Watch = sandbox.SILENT
) -> int:
    """Return where a fast clip would really begin: at the key frame at `start_ms` or before."""
    _check_copyable(source)
    arguments = {"path": str(path.absolute()), "stream": source.video.index, "start_ms": start_ms}
    answer = sandbox.call(
        "rushes.media.child.cutter:key_before",
        arguments,
        folder=folder,
        reads=[path],
        limits=QUICK,
        watch=watch,
    )
    if not isinstance(answer, int):
        raise invalid("the key frame was not found")
    return answer


def cut(
    path: Path,
    source: Source,
    wanted: Window,
    *,
    target: Path,
    mode: Mode = Mode.EXACT,
    watch: Watch = sandbox.SILENT,
) -> Clip:
    """Write the clip to `target` and return what was really cut, or leave nothing behind.

    `source` must describe the very file at `path`: a film that was copied into Matroska first is
    probed again.
    """
    order = _Order(path=path, source=source, wanted=wanted, target=target, watch=watch)
    try:
        return _copy(order) if mode is Mode.FAST else _encode(order)
    except BaseException:
        target.unlink(missing_ok=True)
        raise


def _end_frame(source: Source) -> int:
    return round(source.video.start_ms * source.video.fps / 1000) + source.video.frames


@dataclass(frozen=True, slots=True, kw_only=True)
class _Order:
    path: Path
    source: Source
    wanted: Window
    target: Path
    watch: Watch

    @property
    def folder(self) -> Path:
        return self.target.parent

    @property
    def limits(self) -> Limits:
        """Room for a slow machine, and for a film that must be read from its start; yet an end."""
        seconds = 900 + self.source.duration_ms // 1000 * 4
        return Limits(wall_s=seconds, cpu_s=seconds * 16)


def _encode(order: _Order) -> Clip:
    """Encode the frames of the window; from further back if seeking landed too late."""
    frames = frame_range(order.source, order.wanted)
    begin_ms = frames.start / order.source.video.fps * 1000
    for preroll_ms in PREROLLS_MS:
        try:
            return _encode_from(order, frames, preroll_ms)
        except StageError as error:
            from_the_start = order.source.linear or preroll_ms >= begin_ms
            if error.error_code not in LATE or from_the_start:
                raise
    raise AssertionError("the last preroll reaches the start of every film")


def _encode_from(order: _Order, frames: range, preroll_ms: int) -> Clip:
    source, fps = order.source, order.source.video.fps
    output = ffmpeg.run(
        trim.arguments(order.path, source, frames, preroll_ms=preroll_ms, target=order.target.name),
        folder=order.folder,
        reads=[order.path],
        duration_ms=int(len(frames) / fps * 1000),
        limits=order.limits,
        watch=order.watch,
    )
    made = _measure(order, decode=True)
    measured.check_exact(made, source, frames)
    return _clip(
        order,
        made,
        mode=Mode.EXACT,
        start_ms=frame_ms(frames.start, fps),
        end_ms=frame_ms(frames.start + made.frames, fps),
        provenance=Provenance(command=output.command, tools=(f"ffmpeg {ffmpeg.find().version}",)),
    )


def _copy(order: _Order) -> Clip:
    """Copy the packets from the key frame before the window on."""
    source = order.source
    _check_copyable(source)
    streams = [source.video.index, *(audio.index for audio in source.audio[:1])]
    command = {
        "path": str(order.path.absolute()),
        "streams": streams,
        "start_ms": order.wanted.start_ms,
        "end_ms": order.wanted.end_ms,
        "target": order.target.name,
    }
    answer = sandbox.call(
        COPY,
        command,
        folder=order.folder,
        reads=[order.path],
        limits=order.limits,
        watch=order.watch,
    )
    made = _measure(order, decode=False)
    measured.check(made, source)
    match answer:
        case {"start_ms": int(start_ms), "end_ms": int(end_ms), "tools": list(tools)}:
            words = (f"{key}={value}" for key, value in command.items())
            provenance = Provenance(command=(COPY, *words), tools=tuple(map(str, tools)))
            return _clip(
                order,
                made,
                mode=Mode.FAST,
                start_ms=start_ms,
                end_ms=max(end_ms, start_ms + made.video_ms),
                provenance=provenance,
            )
    raise invalid("the copy did not say where it starts")


def _clip(
    order: _Order,
    made: Measured,
    *,
    mode: Mode,
    start_ms: int,
    end_ms: int,
    provenance: Provenance,
) -> Clip:
    return Clip(
        path=str(order.target),
        mode=mode,
        start_ms=start_ms,
        end_ms=end_ms,
        frames=made.frames,
        width=made.size[0],
        height=made.size[1],
        audio=bool(made.audio_ms),
        provenance=provenance,
    )


def _measure(order: _Order, *, decode: bool) -> Measured:
    return measured.measure(order.target, decode=decode, limits=order.limits, watch=order.watch)


def _check_copyable(source: Source) -> None:
    codecs = {source.video.codec} - COPIED_VIDEO
    codecs |= {audio.codec for audio in source.audio[:1]} - COPIED_AUDIO
    if codecs or source.linear or source.remux:
        reason = f"{', '.join(sorted(codecs))} does not fit" if codecs else "it has no sure index"
        raise Invalid(
            f"this film cannot be cut without encoding it: {reason}", hint="cut it exactly"
        )
