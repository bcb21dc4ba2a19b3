"""The init of a rendition: what a decoder must know before the first segment.

Of what ffmpeg writes only the decoder's own configuration is kept. The rest is written here, so
it cannot differ between two chunks, two machines or two versions of ffmpeg.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from rushes.media.mp4.box import Box, box, find, find_among, full_box, invalid, whole_fields
from rushes.media.mp4.nal import is_unit

BRANDS = b"iso6" + bytes(4) + b"iso6cmfcmp41"
MATRIX = struct.pack(">9I", 1 << 16, 0, 0, 0, 1 << 16, 0, 0, 0, 1 << 30)
UNDETERMINED = 0x55C4  # a language, five bits a letter
SPS, PPS = 7, 8
AAC = 0x40
STREAM, DECODER, CONFIG, SYNC = 3, 4, 5, 6  # the descriptors of MPEG-4
RATES = (96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025)


@dataclass(frozen=True, slots=True, kw_only=True)
class Init:
    """One track. `config` is what its decoder reads: the body of `avcC`, or AAC's own."""

    timescale: int
    codecs: str
    config: bytes
    width: int = 0
    height: int = 0
    sample_rate: int = 0
    channels: int = 0


@whole_fields()
def parse_init(data: bytes) -> Init:
    """Read `ftyp` and `moov` with one track of H.264 or AAC."""
    media = find(data, "moov", "trak", "mdia")
    (timescale,) = struct.unpack_from(">I", data, find(data, "mdhd", within=media).body + 12)
    table = find(data, "minf", "stbl", "stsd", within=media)
    entry = find_among(data, table.body + 8, table.end, "avc1", "mp4a")
    read = _parse_pictures if entry.kind == "avc1" else _parse_sound
    return read(data, entry, timescale)


def write_init(init: Init) -> bytes:
    """Write `ftyp` and `moov` for one track, which is number 1."""
    volume = 1 << 8 if init.channels else 0
    movie = struct.pack(">8xII", 1000, 0) + struct.pack(">IH10x", 1 << 16, 1 << 8)
    track = struct.pack(">8xI4xI12xH2x", 1, 0, volume)
    size = struct.pack(">II", init.width << 16, init.height << 16)
    return box("ftyp", BRANDS) + box(
        "moov",
        full_box("mvhd", movie, MATRIX, struct.pack(">24xI", 2)),
        box("trak", full_box("tkhd", track, MATRIX, size, flags=3), _media(init)),
        box("mvex", full_box("trex", struct.pack(">II12x", 1, 1))),
    )


def _media(init: Init) -> bytes:
    kind = b"soun" if init.channels else b"vide"
    header = full_box("smhd", bytes(4)) if init.channels else full_box("vmhd", bytes(8), flags=1)
    here = full_box("dref", struct.pack(">I", 1), full_box("url ", flags=1))
    empty = [full_box(table, bytes(4)) for table in ("stts", "stsc", "stco")]
    entry = full_box("stsd", struct.pack(">I", 1), _entry(init))
    return box(
        "mdia",
        full_box("mdhd", struct.pack(">8xIIHH", init.timescale, 0, UNDETERMINED, 0)),
        full_box("hdlr", bytes(4), kind, bytes(13)),
        box(
            "minf",
            header,
            box("dinf", here),
            box("stbl", entry, *empty, full_box("stsz", bytes(8))),
        ),
    )


def _entry(init: Init) -> bytes:
    """Write how a frame or a packet of this track is coded."""
    source = struct.pack(">6xH", 1)
    if init.channels:
        sound = struct.pack(">8xHH4xHH", init.channels, 16, init.sample_rate, 0)
        return box("mp4a", source, sound, full_box("esds", _descriptors(init.config)))
    size = struct.pack(">16xHH", init.width, init.height)
    print_size = struct.pack(">II4xH32xHH", 72 << 16, 72 << 16, 1, 24, 0xFFFF)
    square = box("pasp", struct.pack(">II", 1, 1))
    return box("avc1", source, size, print_size, box("avcC", init.config), square)


def _parse_pictures(data: bytes, entry: Box, timescale: int) -> Init:
    width, height = struct.unpack_from(">HH", data, entry.body + 24)
    found = find_among(data, entry.body + 78, entry.end, "avcC")
    config = data[found.body : found.end]
    sps, end = _parameter_set(config, 6)
    pps, _ = _parameter_set(config, end + 1)
    # version 1, four bytes of length before each unit, one SPS and one PPS that are what they say
    told = (config[0], config[4], config[5] & 0x1F, config[end], sps[0] & 0x1F, pps[0] & 0x1F)
    if told != (1, 0xFF, 1, 1, SPS, PPS) or config[1:4] != sps[1:4]:
        raise _damaged()
    return Init(
        timescale=timescale,
        codecs=f"avc1.{config[1:4].hex()}",
        config=config,
        width=width,
        height=height,
    )


def _parameter_set(config: bytes, start: int) -> tuple[bytes, int]:
    end = start + 2 + int.from_bytes(config[start : start + 2], "big")
    unit = config[start + 2 : end]
    if end > len(config) or not is_unit(unit):
        raise _damaged()
    return unit, end


def _parse_sound(data: bytes, entry: Box, timescale: int) -> Init:
    (rate,) = struct.unpack_from(">H", data, entry.body + 24)
    esds = find_among(data, entry.body + 28, entry.end, "esds")
    stream = _descriptor(data, esds.body + 4, esds.end, STREAM)
    decoder = _descriptor(data, stream.start + 3, stream.stop, DECODER)
    place = _descriptor(data, decoder.start + 13, decoder.stop, CONFIG)
    config = data[place.start : place.stop]
    # five bits of object type, four of sample rate, four of channels; the entry itself may say
    # two channels where there is one
    bits = int.from_bytes(config[:2], "big")
    object_type, channels = bits >> 11, bits >> 3 & 0xF
    if data[decoder.start] != AAC or RATES[bits >> 7 & 0xF] != rate or not channels:
        raise _damaged()
    return Init(
        timescale=timescale,
        codecs=f"mp4a.{AAC:x}.{object_type}",
        config=config,
        sample_rate=rate,
        channels=channels,
    )


def _descriptors(config: bytes) -> bytes:
    decoder = struct.pack(">BB11x", AAC, 0x15) + _described(CONFIG, config)
    parts = _described(DECODER, decoder) + _described(SYNC, b"\2")
    return _described(STREAM, struct.pack(">HB", 1, 0) + parts)


def _described(tag: int, body: bytes) -> bytes:
    return struct.pack(">BB", tag, len(body)) + body


def _descriptor(data: bytes, start: int, end: int, tag: int) -> range:
    """Return where the body of a descriptor stands: behind a length of seven bits a byte."""
    if data[start] != tag:
        raise _damaged()
    size, more = 0, True
    while more:
        start += 1
        size, more = size << 7 | data[start] & 0x7F, bool(data[start] & 0x80)
    if not 0 < size <= end - start - 1:
        raise _damaged()
    return range(start + 1, start + 1 + size)


def _damaged() -> Exception:
    return invalid("the configuration of the decoder is damaged")
