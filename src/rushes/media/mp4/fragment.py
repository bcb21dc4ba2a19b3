"""Fragments: the pairs of `moof` and `mdat` that a segment is made of.

This is no parser for foreign files: it knows what ffmpeg writes for us and what we write, and
refuses everything else. Each fragment holds one track, and counts its data from its own `moof`,
so it can be moved to another place in the file and, by two numbers, in time.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import IO, NamedTuple

from rushes.media.mp4.box import (
    Box,
    box,
    find,
    find_among,
    full_box,
    invalid,
    read_boxes,
    whole_fields,
)

NON_SYNC = 0x0001_0000
INDEPENDENT = 0x0200_0000
BASE_IS_MOOF = 0x02_0000
SAMPLE_FIELDS = {0x100: "duration", 0x200: "size", 0x400: "flags", 0x800: "offset"}
DEFAULT_FIELDS = {0x08: "duration", 0x10: "size", 0x20: "flags"}


class Sample(NamedTuple):
    """A frame or a packet of AAC. `offset` leads from its decoding time to its showing time."""

    size: int
    duration: int
    flags: int
    offset: int

    @property
    def is_key(self) -> bool:
        return not self.flags & NON_SYNC


@dataclass(frozen=True, slots=True, kw_only=True)
class Fragment:
    """Times are in units of the track's timescale."""

    sequence: int
    decode_time: int
    samples: tuple[Sample, ...]
    payload: bytes

    @property
    def end_time(self) -> int:
        return self.decode_time + sum(sample.duration for sample in self.samples)

    def show_times(self) -> list[int]:
        """Return when each sample is shown, in the order of the file."""
        times, clock = [], self.decode_time
        for sample in self.samples:
            times.append(clock + sample.offset)
            clock += sample.duration
        return times

    def pieces(self) -> Iterator[bytes]:
        """Yield the bytes of each sample."""
        start = 0
        for sample in self.samples:
            yield self.payload[start : start + sample.size]
            start += sample.size


def read_init(stream: IO[bytes], *, growing: bool = False) -> bytes:
    """Read `ftyp` and `moov`; the stream stands at the first fragment afterwards.

    Returns nothing if they are not there yet.
    """
    found = b""
    for kind, data in read_boxes(stream, growing=growing):
        found += data
        if kind == "moov":
            return found
    if growing:
        return b""
    raise invalid("the file has no moov box")


def read_fragments(stream: IO[bytes], *, growing: bool = False) -> Iterator[bytes]:
    """Yield the bytes of each pair of `moof` and `mdat`."""
    moof = b""
    for kind, data in read_boxes(stream, growing=growing):
        if kind != ("mdat" if moof else "moof"):
            raise invalid(f"a box {kind!r} stands where a fragment should be")
        if moof:
            yield moof + data
        moof = b"" if moof else data
    if moof and not growing:
        raise invalid("the last fragment has no mdat box")


@whole_fields()
def parse_fragment(data: bytes) -> Fragment:
    """Read one pair of `moof` and `mdat`."""
    moof, mdat = (find_among(data, 0, len(data), kind) for kind in ("moof", "mdat"))
    traf = find(data, "traf", within=moof)
    (sequence,) = struct.unpack_from(">I", data, find(data, "mfhd", within=moof).body + 4)
    (decode_time,) = struct.unpack_from(">Q", data, _decode_time(data, moof))
    defaults = _defaults(data, find(data, "tfhd", within=traf))
    samples, offset = _samples(data, find(data, "trun", within=traf), defaults)
    if offset != mdat.body or sum(sample.size for sample in samples) != mdat.end - mdat.body:
        raise invalid("a fragment does not hold the bytes of its samples")
    return Fragment(
        sequence=sequence, decode_time=decode_time, samples=samples, payload=data[mdat.body :]
    )


@whole_fields()
def shift_fragment(data: bytes, *, sequence: int, ticks: int) -> bytes:
    """Move a fragment: add to its sequence number and to its decoding time."""
    moved = bytearray(data)
    moof = find_among(data, 0, len(data), "moof")
    number, clock = find(data, "mfhd", within=moof).body + 4, _decode_time(data, moof)
    struct.pack_into(">I", moved, number, struct.unpack_from(">I", data, number)[0] + sequence)
    struct.pack_into(">Q", moved, clock, struct.unpack_from(">Q", data, clock)[0] + ticks)
    return bytes(moved)


def write_fragment(
    pieces: Sequence[bytes], *, sequence: int, decode_time: int, duration: int
) -> bytes:
    """Write a fragment of key samples that all last equally long, such as packets of AAC."""
    mfhd = full_box("mfhd", struct.pack(">I", sequence))
    shared = struct.pack(">III", 1, duration, INDEPENDENT)
    tfhd = full_box("tfhd", shared, flags=BASE_IS_MOOF | 0x28)
    tfdt = full_box("tfdt", struct.pack(">Q", decode_time), version=1)
    sizes = struct.pack(f">{len(pieces)}I", *map(len, pieces))

    def moof(offset: int) -> bytes:
        trun = full_box("trun", struct.pack(">Ii", len(pieces), offset), sizes, flags=0x201)
        return box("moof", mfhd, box("traf", tfhd, tfdt, trun))

    return moof(len(moof(0)) + 8) + box("mdat", *pieces)


def _decode_time(data: bytes, moof: Box) -> int:
    """Return where the 64 bits of the decoding time stand."""
    tfdt = find(data, "traf", "tfdt", within=moof)
    if data[tfdt.body] != 1:
        raise invalid("a fragment has a decoding time of 32 bits")
    return tfdt.body + 4


def _defaults(data: bytes, tfhd: Box) -> dict[str, int]:
    """Return the fields that samples without their own share."""
    flags, track = struct.unpack_from(">II", data, tfhd.body)
    if not flags & BASE_IS_MOOF or flags & 0x03 or track != 1:
        raise invalid("a fragment is of another track, or does not count from its own moof")
    names = [name for bit, name in DEFAULT_FIELDS.items() if flags & bit]
    return dict(zip(names, _integers(data, tfhd.body + 8, len(names)), strict=True))


def _samples(data: bytes, trun: Box, defaults: dict[str, int]) -> tuple[tuple[Sample, ...], int]:
    """Return the samples of a run, and where in the fragment their bytes begin."""
    flags, count = struct.unpack_from(">II", data, trun.body)
    names = [name for bit, name in SAMPLE_FIELDS.items() if flags & bit]
    extra = 1 + bool(flags & 0x04)
    table = trun.body + 8 + 4 * extra
    if not flags & 0x01 or table + 4 * count * len(names) != trun.end:
        raise invalid("the table of samples has the wrong length")
    offset, *first = _integers(data, trun.body + 8, extra)
    samples = []
    for number in range(count):
        row = _integers(data, table + 4 * number * len(names), len(names))
        given = {"offset": 0, **defaults, **dict(zip(names, row, strict=True))}
        if first and number == 0:
            given["flags"] = first[0]
        samples.append(_sample(given))
    return tuple(samples), offset


def _sample(given: dict[str, int]) -> Sample:
    try:
        size, duration, flags = given["size"], given["duration"], given["flags"]
    except KeyError as error:
        raise invalid(f"a sample has no {error.args[0]}") from error
    offset = given["offset"]
    return Sample(size, duration, flags, offset - (1 << 32) if offset >> 31 else offset)


def _integers(data: bytes, start: int, count: int) -> tuple[int, ...]:
    return struct.unpack_from(f">{count}I", data, start)
