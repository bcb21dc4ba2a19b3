"""The child's side of clip.py: finds key frames, copies packets, reads again what was made."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import suppress
from fractions import Fraction
from math import floor
from pathlib import Path
from typing import Any

import av
from av.container import InputContainer
from av.error import FFmpegError
from av.packet import Packet
from av.stream import Stream

from rushes.errors import Permanent
from rushes.media.child.reader import open_film, packets
from rushes.media.source import Caps

STEPS_BACK_S = (0, 2, 30, 10**9)
FAR_APART_S = 10  # how far sound may lie behind its picture in a file
HALF_MS = Fraction(1, 2000)  # a time is told as the nearest millisecond, and asked for by that


def key_before(path: str, stream: int, start_ms: int) -> int:
    """Return the time of the key frame at `start_ms` or before."""
    with open_film(path, max_pixels=Caps().pixels) as film:
        return _millis(_key_time(film, film.streams[stream], start_ms))


def copy(
    path: str, streams: list[int], start_ms: int, end_ms: int, target: str
) -> dict[str, object]:
    """Copy the packets from the key frame before `start_ms` up to `end_ms`; picture first."""
    try:
        begin, end = _copy(path, streams, start_ms, end_ms, target)
    except FFmpegError as error:
        raise Permanent(
            f"the film cannot be copied: {error.strerror}",
            error_code="SOURCE_UNSUPPORTED",
            hint="cut it exactly",
        ) from error
    return {"start_ms": _millis(begin), "end_ms": _millis(end), "tools": _versions()}


def measure(path: str, decode: bool) -> dict[str, object]:
    """Return what a clip holds. With `decode` its pictures are decoded, not only counted."""
    with open_film(path, max_pixels=Caps().pixels) as clip:
        video = clip.streams.video[0]
        pictures = [
            (_time(packet, clip), packet.is_keyframe)
            for packet in packets(clip, video)
            if packet.size
        ]
        whole = pictures[:1] == [(Fraction(0), True)]
        return {
            "frames": _decoded(path) if decode else len(pictures),
            "begins": whole and _index_first(path),
            "size": (video.codec_context.width, video.codec_context.height),
            "video_ms": _length_ms(video),
            "audio_ms": [_length_ms(stream) for stream in clip.streams.audio],
        }


def _copy(
    path: str, streams: list[int], start_ms: int, end_ms: int, target: str
) -> tuple[Fraction, Fraction]:
    """Return when the first picture begins, which is always taken, and when the last one ends.

    The length that the copy tells of itself is counted in the order of decoding: of a film whose
    rate changes it may be too short.
    """
    with (
        open_film(path, max_pixels=Caps().pixels) as film,
        av.open(target, "w", format="mp4", options={"movflags": "faststart"}) as clip,
    ):
        taken = [film.streams[index] for index in streams]
        copies = {stream.index: clip.add_stream_from_template(stream) for stream in taken}
        end = begin = _key_time(film, taken[0], start_ms)
        until = max(Fraction(end_ms, 1000) - HALF_MS, begin + HALF_MS)
        for packet in _between(film, taken, begin, until):
            if packet.stream is taken[0]:
                end = max(end, _time(packet, film) + (packet.duration or 0) * packet.time_base)
            shift = int((begin + _zero(film)) / packet.time_base)
            packet.pts = (packet.pts or 0) - shift
            packet.dts = None if packet.dts is None else packet.dts - shift
            packet.stream = copies[packet.stream.index]
            clip.mux(packet)
        return begin, end


def _versions() -> list[str]:
    numbers = av.library_versions["libavformat"]
    return [f"PyAV {av.__version__}", f"libavformat {'.'.join(map(str, numbers))}"]


def _decoded(path: str) -> int:
    """Return how many pictures can be decoded before the first fault."""
    count = 0
    with open_film(path, max_pixels=Caps().pixels) as clip, suppress(FFmpegError):
        clip.streams.video[0].codec_context.options = {"err_detect": "explode"}
        for frame in clip.decode(video=0):
            count += not frame.is_corrupt
    return count


def _index_first(path: str) -> bool:
    """Say whether a player finds the index before the pictures, and need not load them first."""
    with Path(path).open("rb") as file:
        while len(head := file.read(8)) == 8:
            size, kind = struct.unpack(">I4s", head)
            if kind in {b"moov", b"mdat"}:
                return bool(kind == b"moov")
            file.seek(size - 8, 1)
    return False


def _key_time(film: InputContainer, video: Stream, start_ms: int) -> Fraction:
    """Return the time of the key frame at `start_ms` or before. A seek may land after it."""
    wanted = Fraction(start_ms, 1000) + HALF_MS
    for step in STEPS_BACK_S:
        _seek(film, video, wanted - step)
        key = next((packet for packet in packets(film, video) if packet.is_keyframe), None)
        if key is not None and (_time(key, film) < wanted or step >= wanted):
            return _time(key, film)
    raise Permanent("the film has no key frame", error_code="SOURCE_CORRUPT")


def _between(
    film: InputContainer, streams: list[Stream], begin: Fraction, end: Fraction
) -> Iterator[Packet[Stream]]:
    """Yield the packets shown from `begin` to `end`, and the few that these are decoded from.

    A picture shown after the end is held until one comes that is shown before it: only then is it
    needed. Pictures shown before the key frame, but stored after it, cannot be decoded.
    """
    video, unfinished = streams[0], {stream.index for stream in streams}
    held: list[Packet[Stream]] = []
    _seek(film, video, begin)
    for packet in packets(film, *streams):
        if packet.pts is None or _time(packet, film) < begin:
            continue
        stored = (packet.pts if packet.dts is None else packet.dts) * packet.time_base - _zero(film)
        if stored >= end:
            unfinished.discard(packet.stream.index)
        if not unfinished or stored >= end + FAR_APART_S:
            return
        needed = _time(packet, film) < end
        if packet.stream is video:
            held.append(packet)
            if needed:
                yield from held
                held = []
        elif needed:
            yield packet


def _seek(film: InputContainer, video: Stream, time: Fraction) -> None:
    assert video.time_base is not None
    film.seek(int((max(Fraction(), time) + _zero(film)) / video.time_base), stream=video)


def _time(packet: Packet[Any], film: InputContainer) -> Fraction:
    return (packet.pts or 0) * packet.time_base - _zero(film)


def _zero(film: InputContainer) -> Fraction:
    return Fraction(film.start_time or 0, av.time_base)


def _millis(seconds: Fraction) -> int:
    return floor((seconds + HALF_MS) * 1000)


def _length_ms(stream: Stream) -> int:
    return int((stream.duration or 0) * (stream.time_base or 0) * 1000)
