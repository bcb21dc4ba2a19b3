"""Reads a tar.gz from a worker, strictly: plain files with plain names, and nothing else.

Not with `tarfile`: what that can be talked into fills a list of advisories. Here a header is a file
of a known size with an allowed name, or the whole archive is refused; links, devices, sparse files,
extended headers and second names for the same file do not exist. It is read as it comes, in one
pass, and the sum of what is unpacked is limited.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass

from rushes.errors import Invalid

BLOCK = 512
GZIP = 16 + zlib.MAX_WBITS
FILE_TYPES = (b"0", b"\x00")
PLAIN = b"ustar"


@dataclass(frozen=True, slots=True, kw_only=True)
class Caps:
    files: int = 20_000
    bytes: int = 200_000_000_000
    ratio: int = 200
    """How much larger than what came the content may be. Video hardly shrinks."""


CAPS = Caps()
SLACK = 10_000_000
"""So much may come out of any archive, however small."""


@dataclass(frozen=True, slots=True)
class Header:
    name: str
    size: int


class Unpacked:
    """Feed it what comes; it yields headers, and after each the pieces of its file."""

    def __init__(self, caps: Caps = CAPS) -> None:
        self._caps = caps
        self._gzip = zlib.decompressobj(GZIP)
        self._rest = bytearray()
        self._came = self._unpacked = self._files = 0
        self._left = self._padding = 0
        self._zeros = 0
        self._names: set[str] = set()

    def feed(self, chunk: bytes) -> Iterator[Header | bytes]:
        """Yield what is in the next bytes. Raises Invalid for what no archive of ours has."""
        self._came += len(chunk)
        while chunk:
            try:
                piece = self._gzip.decompress(chunk, 1 << 20)
            except zlib.error as error:
                raise Invalid("this is not a tar.gz") from error
            chunk = self._gzip.unconsumed_tail
            self._count(len(piece))
            yield from self._parse(piece)
            if self._gzip.eof:
                if self._gzip.unused_data:
                    raise Invalid("there is something behind the archive")
                return

    def close(self) -> None:
        """Raise Invalid unless the archive is complete."""
        if not self._gzip.eof or self._left or self._padding or self._zeros < 2 or any(self._rest):
            raise Invalid("the archive is cut off")

    def _count(self, n: int) -> None:
        self._unpacked += n
        if self._unpacked > min(self._caps.bytes, SLACK + self._caps.ratio * self._came):
            raise Invalid("the archive is too large when it is unpacked")

    def _parse(self, piece: bytes) -> Iterator[Header | bytes]:
        self._rest += piece
        while self._rest:
            if self._left:
                part = bytes(self._rest[: self._left])
                del self._rest[: len(part)]
                self._left -= len(part)
                yield part
            elif self._padding:
                n = min(self._padding, len(self._rest))
                if any(self._rest[:n]):
                    raise Invalid("the archive has bytes where none belong")
                del self._rest[:n]
                self._padding -= n
            elif len(self._rest) < BLOCK:
                return
            else:
                block = bytes(self._rest[:BLOCK])
                del self._rest[:BLOCK]
                header = self._header(block)
                if header is not None:
                    yield header

    def _header(self, block: bytes) -> Header | None:
        if not any(block):
            self._zeros += 1
            return None
        if self._zeros:
            raise Invalid("there is something behind the end of the archive")
        if block[257:262] != PLAIN or block[156:157] not in FILE_TYPES:
            raise Invalid("the archive holds something else than plain files")
        if _octal(block[148:156]) != sum(block[:148]) + 8 * 32 + sum(block[156:]):
            raise Invalid("a header of the archive is damaged")
        name = _text(block[345:500], block[0:100])
        size = _octal(block[124:136])
        if name.casefold() in self._names:
            raise Invalid(f"the archive holds {name[:100]!r} twice")
        self._files += 1
        if self._files > self._caps.files:
            raise Invalid(f"the archive holds more than {self._caps.files} files")
        self._names.add(name.casefold())
        self._left, self._padding = size, -size % BLOCK
        return Header(name, size)


def _octal(field: bytes) -> int:
    text = field.rstrip(b"\x00 ").lstrip(b" ")
    if not text or not all(48 <= digit <= 55 for digit in text):
        raise Invalid("a header of the archive is damaged")
    return int(text, 8)


def _text(prefix: bytes, name: bytes) -> str:
    parts = [part.split(b"\x00", 1)[0] for part in (prefix, name)]
    try:
        return "/".join(part.decode("ascii") for part in parts if part)
    except UnicodeDecodeError as error:
        raise Invalid("a name in the archive is not plain") from error
