"""The boxes that an MP4 file is made of: how to find them, and how to write them."""

from __future__ import annotations

import os
import stat
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import IO, NamedTuple

from rushes.errors import Retryable

HEADER = 8
LARGEST = 1 << 29
READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK


class Box(NamedTuple):
    """Where a box stands: its header begins at `start`, what it holds at `body`."""

    kind: str
    start: int
    body: int
    end: int


def invalid(message: str) -> Retryable:
    """Return the error for output that is not what was asked for, whatever the exit code was."""
    return Retryable(message, error_code="OUTPUT_INVALID")


def open_made(path: Path) -> BufferedReader:
    """Open a file that a program should have written: no link, and nothing that would block."""
    try:
        stream = open(os.open(path, READ), "rb")  # noqa: PTH123, SIM115  the caller closes it
    except OSError as error:
        raise invalid(f"{path.name} was not written") from error
    if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
        stream.close()
        raise invalid(f"{path.name} is not a file")
    return stream


@contextmanager
def whole_fields() -> Iterator[None]:
    """Raise `invalid` where a box turns out too short for what should stand in it."""
    try:
        yield
    except (struct.error, IndexError) as error:
        raise invalid("a box is too short for its fields") from error


def read_boxes(stream: IO[bytes], *, growing: bool = False) -> Iterator[tuple[str, bytes]]:
    """Yield the kind and the bytes of each box, one in memory at a time.

    A file that still grows ends at its last whole box; a finished one must end with it.
    """
    while header := stream.read(HEADER):
        size, kind = _head(header) if len(header) == HEADER else (HEADER, "")
        if not HEADER <= size <= LARGEST:
            raise invalid(f"a box {kind!r} claims {size} bytes")
        data = header + stream.read(size - HEADER)
        if len(data) < size:
            if growing:
                return
            raise invalid("the file ends in the middle of a box")
        yield kind, data


def find(data: bytes, *path: str, within: Box | None = None) -> Box:
    """Return the box at the end of a path, of which each part stands once in its parent."""
    found = within or Box("", 0, 0, len(data))
    for kind in path:
        found = find_among(data, found.body, found.end, kind)
    return found


def find_among(data: bytes, start: int, end: int, *kinds: str) -> Box:
    """Return the only box of these kinds between two places."""
    found = [box for box in _boxes(data, start, end) if box.kind in kinds]
    if len(found) != 1:
        raise invalid(f"{len(found)} boxes {' or '.join(kinds)} where one should be")
    return found[0]


def box(kind: str, *parts: bytes) -> bytes:
    body = b"".join(parts)
    return struct.pack(">I4s", HEADER + len(body), kind.encode()) + body


def full_box(kind: str, *parts: bytes, version: int = 0, flags: int = 0) -> bytes:
    return box(kind, struct.pack(">I", version << 24 | flags), *parts)


def _boxes(data: bytes, start: int, end: int) -> Iterator[Box]:
    while start < end:
        size, kind = _head(data, start) if end - start >= HEADER else (0, "")
        if not HEADER <= size <= end - start:
            raise invalid(f"a box {kind!r} does not end within its parent")
        yield Box(kind, start, start + HEADER, start + size)
        start += size


def _head(data: bytes, start: int = 0) -> tuple[int, str]:
    size, kind = struct.unpack_from(">I4s", data, start)
    return size, kind.decode("latin-1")
