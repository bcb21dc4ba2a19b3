"""Where the bytes of a request go: to the disk first, then into the count.

Nothing here knows who sends them. A film that arrives in one process, in order, is hashed on the
way and need not be read again.
"""

from __future__ import annotations

import base64
import binascii
import errno
import hashlib
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO, Any, NamedTuple

from rushes.engine.engine import millis
from rushes.errors import Conflict, Invalid, Permanent
from rushes.library.incoming import Incoming
from rushes.library.library import Library
from rushes.observability import failpoints
from rushes.store import uploads
from rushes.store.database import Transaction

ALGORITHMS = ("md5", "sha1", "sha256")
COUNT_BYTES, COUNT_SECONDS = 8 << 20, 1.0
"""So much, or so long, may have to be sent again when the process dies."""
DIGESTS = 1_000
KEPT = "what has arrived is kept; go on when the disk has room"

sync = getattr(os, "fdatasync", os.fsync)  # macOS has only the latter


class ChecksumMismatch(Invalid):
    """A part arrived damaged; nothing of it was kept."""

    code, status = "CHECKSUM_MISMATCH", 460  # the number is that of tus


class Checksum(NamedTuple):
    digest: Any
    expected: bytes

    @classmethod
    def parse(cls, text: str) -> Checksum:
        """Read the name of an algorithm and a digest in base64."""
        name, _, encoded = text.partition(" ")
        if name not in ALGORITHMS:
            known = ", ".join(ALGORITHMS)
            raise Invalid(f"checksum algorithm {name[:20]!r} is not known", hint=f"known: {known}")
        digest = hashlib.new(name, usedforsecurity=False)
        with suppress(binascii.Error, ValueError):
            expected = base64.b64decode(encoded, validate=True)
            if len(expected) == digest.digest_size:
                return cls(digest, expected)
        raise Invalid(f"this is not a {name} checksum in base64")

    @property
    def is_right(self) -> bool:
        return bool(self.digest.digest() == self.expected)


class Sink:
    """Where the bytes of one request go. `offset` is where the next one belongs."""

    def __init__(
        self,
        library: Library,
        incoming: Incoming,
        file: IO[bytes],
        checksum: Checksum | None,
        now: int | None,
    ) -> None:
        self.offset = incoming.offset
        self._counted = incoming.offset
        self._counted_at = time.monotonic()
        self._library, self._incoming, self._now = library, incoming, now
        self._file = file.fileno()
        self._checksum = checksum
        self._sha256 = digests.at(incoming.id, incoming.offset)
        os.lseek(self._file, incoming.offset, os.SEEK_SET)

    def write(self, data: bytes) -> None:
        """Take bytes in. Raises Invalid for more than were announced, and then takes none."""
        if self.offset + len(data) > self._incoming.size:
            raise Invalid(
                f"this upload was announced with {self._incoming.size} bytes; more arrive",
                offset=self.offset,
                hint="begin a new one with the right size",
            )
        with storing():
            rest = memoryview(data)
            while rest:
                rest = rest[self._append(rest) :]
        waited = time.monotonic() - self._counted_at
        if self.offset - self._counted >= COUNT_BYTES or waited >= COUNT_SECONDS:
            self.keep()

    def keep(self) -> None:
        """Count what has come so far, unless it is to be all or nothing."""
        if self._checksum is None:
            self._count()

    def close(self) -> None:
        """Count all that came. Raises ChecksumMismatch if it is not what was sent."""
        if self._checksum is not None and not self._checksum.is_right:
            os.ftruncate(self._file, self._counted)
            raise ChecksumMismatch(
                "the part does not have the checksum that came with it",
                offset=self._counted,
                hint="send it again",
            )
        self._count()

    def _append(self, data: memoryview) -> int:
        written = os.write(self._file, data)
        for digest in (self._sha256, self._checksum and self._checksum.digest):
            if digest is not None:
                digest.update(data[:written])
        self.offset += written
        return written

    def _count(self) -> None:
        """Bring the bytes to the disk, and only then say so."""
        with storing():
            sync(self._file)
        failpoints.hit("upload.after_write")
        self._library.db.transact(self._say, now=self._now)
        self._counted, self._counted_at = self.offset, time.monotonic()
        digests.keep(self._incoming.id, self.offset, self._sha256)

    def _say(self, tx: Transaction) -> None:
        id, keep_ms = self._incoming.id, millis(self._library.keep_abandoned)
        span = {"start": self._counted, "end": self.offset}
        if not tx.rows("count_bytes", id=id, **span, keep_ms=keep_ms):
            now_at = uploads.get(tx, id, None)["received"]
            raise Conflict(f"somebody else has gone on with upload {id}", offset=now_at)


class Digests:
    """SHA-256 of what has come so far, of films that arrive in this process from their start."""

    def __init__(self) -> None:
        self._kept: dict[str, tuple[int, Any]] = {}
        self._lock = threading.Lock()

    def at(self, id: str, offset: int) -> Any:
        """Return the digest of the first `offset` bytes, to go on with; None if it is not known."""
        if offset == 0:
            return hashlib.sha256()
        with self._lock:
            known, digest = self._kept.get(id, (-1, hashlib.sha256()))
        return digest.copy() if known == offset else None

    def keep(self, id: str, offset: int, digest: Any) -> None:
        with self._lock:
            self._kept.pop(id, None)
            if digest is not None:
                self._kept[id] = (offset, digest.copy())
            while len(self._kept) > DIGESTS:  # the one that was left alone for longest
                del self._kept[next(iter(self._kept))]


digests = Digests()


@contextmanager
def storing(hint: str = KEPT) -> Iterator[None]:
    """Say in a sentence why bytes cannot be written."""
    try:
        yield
    except OSError as error:
        is_full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        raise Permanent(
            f"the film cannot be stored: {error.strerror}",
            error_code="DISK_FULL" if is_full else "STORAGE_DENIED",
            hint=hint,
        ) from error
