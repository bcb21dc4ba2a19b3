"""Adds up the packets of a film, without decoding: how many, how far apart, how whole.

Memory is flat whatever the length: frames come almost in order, so a small heap sorts them, and
only the distances are counted.
"""

from __future__ import annotations

import heapq
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from rushes.media.child.entry import tell
from rushes.media.child.reader import packets

if TYPE_CHECKING:
    from av.container import InputContainer
    from av.packet import Packet
    from av.stream import Stream

REORDER = 64  # no codec moves a frame further than 16 places
DISTINCT_GAPS = 10_000
JUMP_S = 10
TELL_EVERY_S = 0.5
# formats whose time is only what the packets say: a long gap is a clock that was set anew
CLOCKED = frozenset({"mpegts", "mpeg"})


@dataclass(slots=True)
class Track:
    """What the packets of one stream add up to; times in ticks of the stream."""

    tick: Fraction
    clocked: bool = False
    packets: int = 0
    broken: int = 0
    ends_broken: bool = False
    first: int | None = None
    jumps: int = 0
    gaps: Counter[int] = field(default_factory=Counter)
    longest_gop: int = 0
    _seen: int = 0
    _counted: int = 0
    _last: int | None = None
    _last_duration: int = 0
    _key: int | None = None
    _heap: list[tuple[int, int]] = field(default_factory=list)

    def add(self, packet: Packet[Any]) -> None:
        """Count one packet; call `close` after the last."""
        at = packet.pts if packet.pts is not None else packet.dts
        self.packets += 1
        self.broken += packet.is_corrupt
        self.ends_broken = packet.is_corrupt
        if at is None:
            return
        self.first = at if self.first is None else min(self.first, at)
        if packet.is_keyframe:
            self._key_frame(at)
        heapq.heappush(self._heap, (at, packet.duration or 0))
        if len(self._heap) > REORDER:
            self._show(*heapq.heappop(self._heap))

    def close(self) -> None:
        """Count what still waits for its turn."""
        while self._heap:
            self._show(*heapq.heappop(self._heap))
        if self._last is not None:
            self._key_frame(self._last)

    def seconds(self) -> Fraction:
        """How long the stream runs. A jump of its clock counts as one frame."""
        mean = Fraction(self._seen, self._counted) if self._counted else Fraction(0)
        return (self._seen + mean * self.jumps + (self._last_duration or mean)) * self.tick

    def _key_frame(self, at: int) -> None:
        if self._key is not None:
            self.longest_gop = max(self.longest_gop, at - self._key)
        self._key = at

    def _show(self, at: int, duration: int) -> None:
        if self._last is not None:
            self._count(at - self._last)
        self._last, self._last_duration = at, duration

    def _count(self, gap: int) -> None:
        if gap < 0 or (self.clocked and gap * self.tick > JUMP_S):
            self.jumps += 1
            return
        self._seen += gap
        if gap == 0:
            return
        self._counted += 1
        if gap in self.gaps or len(self.gaps) < DISTINCT_GAPS:
            self.gaps[gap] += 1


def index(container: InputContainer, streams: Iterable[Stream]) -> dict[int, Track]:
    """Read the whole film once; tell the parent how far it is."""
    clocked = container.format.name in CLOCKED
    wanted = {stream.index: stream for stream in streams}
    tracks = {
        number: Track(tick=stream.time_base or Fraction(1, 1000), clocked=clocked)
        for number, stream in wanted.items()
    }
    told, size = time.monotonic(), container.size
    for packet in packets(container, *wanted.values()):
        if packet.size == 0 or packet.is_discard:
            continue
        tracks[packet.stream_index].add(packet)
        if time.monotonic() - told > TELL_EVERY_S:
            told = time.monotonic()
            tell((packet.pos or 0) / max(size, 1))
    for track in tracks.values():
        track.close()
    return tracks
