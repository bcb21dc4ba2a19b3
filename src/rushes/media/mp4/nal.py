"""NAL units: the pieces of an H.264 stream, as MP4 stores them behind their lengths."""

from __future__ import annotations

KEY_SLICE, SLICE = 5, 1
# Inside a unit these would look like the start of the next one, so an encoder never writes them
FORBIDDEN = (b"\0\0\0", b"\0\0\1", b"\0\0\2")


def is_unit(data: bytes) -> bool:
    """Say whether these bytes can be a NAL unit. Zeros that a disk or a crash left cannot."""
    return bool(data) and data[-1] != 0 and not any(code in data for code in FORBIDDEN)


def unit_kinds(sample: bytes) -> set[int]:
    """Return the kinds of the units in one frame; none if it is not made of whole units."""
    kinds: set[int] = set()
    start = 0
    while start < len(sample):
        end = start + 4 + int.from_bytes(sample[start : start + 4], "big")
        unit = sample[start + 4 : end]
        if end > len(sample) or not is_unit(unit):
            return set()
        kinds.add(unit[0] & 0x1F)
        start = end
    return kinds
