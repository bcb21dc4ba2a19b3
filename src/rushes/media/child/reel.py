"""Opens a film and hands out its pictures by time. Runs in a child (sandbox.py), never elsewhere.

Time 0 is the start of the film as a player shows it. A broken packet costs its picture and
nothing more; a film that breaks off simply ends there. Seeking may land too late where an index
lies, so it is checked by the first picture that comes, and begun again further back.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from types import TracebackType
from typing import Self

from av.error import FFmpegError
from av.packet import Packet
from av.video.frame import VideoFrame
from av.video.stream import VideoStream

from rushes.errors import Permanent
from rushes.media.child.reader import open_film, packets
from rushes.media.source import Caps
from rushes.media.view import View

Skips = Callable[[int], bool]

MAX_THREADS = 4
MICROSECONDS = 1_000_000
WHOLE_FILM_MS = 10**12
STEPS_BACK_MS = (0, 2_000, 10_000, 60_000, WHOLE_FILM_MS)


@dataclass(frozen=True, slots=True)
class Picture:
    """One decoded picture, as it is stored, and when it is shown."""

    time_us: int
    frame: VideoFrame

    @property
    def t_ms(self) -> int:
        return self.time_us // 1000


class Reel:
    """A film that is open. One reader at a time: every call seeks anew."""

    def __init__(self, path: str, view: View) -> None:
        self._path = path
        self._view = view
        self._open()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._container.close()

    def pictures(self, from_ms: int = 0, skips: Skips | None = None) -> Iterator[Picture]:
        """Yield every picture in order, beginning with one that is shown at `from_ms` or before.

        One that `skips` names by its time in microseconds may be missing: it is not decoded
        unless others need it.
        """
        for step in STEPS_BACK_MS:
            self._seek(from_ms - step)
            pictures = self._decode(skips)
            first = next(pictures, None)
            if from_ms <= step or (first is not None and first.t_ms <= from_ms):
                break
        if first is not None:
            yield first
        yield from pictures

    def showing(self, t_ms: int) -> Picture | None:
        """Return the picture that a person sees at `t_ms`: the last one that began by then."""
        shown: Picture | None = None
        for picture in self.pictures(t_ms):
            if shown is not None and picture.t_ms > t_ms:
                break
            shown = picture
        return shown

    def key_picture(self, t_ms: int) -> Picture | None:
        """Return the key picture at `t_ms` or before without decoding any other."""
        self._seek(t_ms)
        for packet in packets(self._container, self._stream):
            if packet.is_keyframe:
                frames = [*self._frames_of(packet), *self._frames_of(None)]
                return next(map(self._picture, frames), None)
        return None

    def _open(self) -> None:
        pixels = max(Caps().pixels, self._view.width * self._view.height)
        self._container = open_film(self._path, max_pixels=pixels)
        stream = self._container.streams[self._view.stream]
        if not isinstance(stream, VideoStream) or stream.time_base is None:
            raise Permanent("there is no picture in this file", error_code="SOURCE_NO_VIDEO")
        stream.thread_type = "AUTO"
        stream.codec_context.thread_count = min(MAX_THREADS, os.cpu_count() or 1)
        self._stream = stream
        self._base: Fraction = stream.time_base
        self._zero_us = self._container.start_time or 0

    def _seek(self, t_ms: int) -> None:
        """Go to the key frame at `t_ms` or before. To the start only opening again is sure."""
        if t_ms > 0:
            with suppress(FFmpegError):
                target_us = t_ms * 1000 + self._zero_us
                self._container.seek(
                    int(target_us / self._base / MICROSECONDS), stream=self._stream
                )
                return
        self._container.close()
        self._open()

    def _decode(self, skips: Skips | None) -> Iterator[Picture]:
        last_us: int | None = None
        decoder = self._stream.codec_context
        for packet in packets(self._container, self._stream):
            if skips is not None and packet.pts is not None:
                decoder.skip_frame = "NONREF" if skips(self._time_us(packet.pts)) else "DEFAULT"
            for frame in self._frames_of(packet):
                picture = self._picture(frame)
                if last_us is None or picture.time_us > last_us:
                    last_us = picture.time_us
                    yield picture

    def _frames_of(self, packet: Packet[VideoStream] | None) -> list[VideoFrame]:
        try:
            return self._stream.codec_context.decode(packet)
        except FFmpegError:
            return []

    def _picture(self, frame: VideoFrame) -> Picture:
        return Picture(self._time_us(frame.pts if frame.pts is not None else frame.dts or 0), frame)

    def _time_us(self, stamp: int) -> int:
        """Count in microseconds: that is how exact the film's own start is known."""
        return round(stamp * self._base * MICROSECONDS) - self._zero_us
