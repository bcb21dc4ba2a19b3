"""What a worker on another machine may read, and what it brings.

It reads the files that its task names, or that the tasks before it made, through addresses that
are signed for one task, one epoch and a few minutes. What it brings goes into the folder of its
attempt, where nobody looks until the result is accepted; a file that is whole is never written
again. Nothing that it says of its files is believed: they are read again before a result counts.
"""

from __future__ import annotations

import base64
import fcntl
import hashlib
import hmac
import json
import os
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import IO, Any

from pydantic import TypeAdapter, ValidationError

from rushes.domain.artifact import SOURCES, Artifact, attempt_folder, is_key, is_source
from rushes.domain.failure import failure
from rushes.domain.outcome import Done, Failed, Outcome
from rushes.domain.readable import readable
from rushes.engine.engine import millis
from rushes.errors import Conflict, Forbidden, Invalid, LeaseLost, NotFound, Permanent
from rushes.library import archive, upload
from rushes.library.archive import Header, Unpacked
from rushes.library.library import Library
from rushes.library.sink import storing
from rushes.store.database import Row, Transaction

SECRET = "worker files"
"""The name of the secret that addresses are signed with."""
LIFE = timedelta(minutes=15)
CHUNK = 1 << 20
PART = ".part"
MOST_FILES = 20_000
SHA256 = re.compile(r"[0-9a-f]{64}")
TICKET = re.compile(r"(?P<told>[A-Za-z0-9_-]{1,1200})\.(?P<signature>[A-Za-z0-9_-]{43})")
HEADS: dict[str, tuple[int, tuple[bytes, ...]]] = {
    ".mp4": (4, (b"ftyp",)),
    ".m4s": (4, (b"styp", b"moof", b"sidx")),
    ".mkv": (0, (b"\x1a\x45\xdf\xa3",)),
    ".jpg": (0, (b"\xff\xd8\xff",)),
    ".vtt": (0, (b"WEBVTT",)),
    ".jsonl": (0, (b"{",)),
}
"""How the files begin that stages make: at which byte, and with what."""
ARTIFACTS = TypeAdapter(list[Artifact])


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """A task that a worker holds, as it says itself."""

    owner: str
    task_id: int
    epoch: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A file to read, and the text of the ticket for it."""

    key: str
    bytes: int
    ticket: str


def sources(library: Library, secret: bytes, held: Held, keys: list[str]) -> list[Source]:
    """Return where files are to be had. Raises Forbidden for one that the task does not name."""
    named = library.db.read(lambda tx: _named(tx, held))
    expires = time.time_ns() // 1_000_000 + millis(LIFE)
    found = []
    for key in keys:
        if not is_source(key) or not (key in named or key.rpartition("/")[0] in named):
            raise Forbidden(f"task {held.task_id} does not name the file {key[:200]!r}")
        size = library.storage.existing(key).stat().st_size
        found.append(Source(key=key, bytes=size, ticket=_sign(secret, held, key, expires)))
    return found


def source_of(library: Library, secret: bytes, text: str) -> Path:
    """Return the file of a ticket whose task is still held. Raises Forbidden, LeaseLost."""
    given = TICKET.fullmatch(text)
    told = given["told"] if given else ""
    if given is None or not hmac.compare_digest(
        given["signature"].encode(), _signature(secret, told).encode()
    ):
        raise Forbidden("the address is not valid", hint="ask for a new one")
    owner, task_id, epoch, key, expires = json.loads(
        base64.urlsafe_b64decode(told + "=" * (-len(told) % 4))
    )
    if expires <= time.time_ns() // 1_000_000:
        raise Forbidden("the address has expired", hint="ask for a new one")
    library.db.read(lambda tx: task_of(tx, Held(owner=owner, task_id=task_id, epoch=epoch)))
    return library.storage.existing(key)


def task_of(tx: Transaction, held: Held) -> Row:
    """Return a task that a worker holds. Raises NotFound, or LeaseLost if it does not hold it."""
    for row in tx.rows("held_task", id=held.task_id, owner=held.owner, epoch=held.epoch):
        return row
    if not tx.rows("is_ahead_of", id=held.task_id):
        raise NotFound(f"there is no task {held.task_id}")
    raise LeaseLost(f"task {held.task_id} is not held with epoch {held.epoch} any more")


class Delivery:
    """One file on its way in, from one sender at a time."""

    def __init__(self, library: Library, folder: Path, name: str) -> None:
        self._library = library
        self.path = folder / name
        self._part = self.path.with_name(self.path.name + PART)

    @property
    def key(self) -> str:
        return self._library.storage.key(self.path)

    @property
    def is_whole(self) -> bool:
        return self.path.is_file()

    @property
    def offset(self) -> int:
        """How much of it has come."""
        with suppress(FileNotFoundError):
            return (self.path if self.is_whole else self._part).stat().st_size
        return 0

    @contextmanager
    def open(self, offset: int) -> Iterator[IO[bytes]]:
        """Take more from `offset` on. Raises Conflict for another one, or if somebody sends it."""
        upload.check_room(self._library, 0)
        with storing():
            self._part.parent.mkdir(parents=True, exist_ok=True)
            file = self._part.open("ab")
        with storing(), file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise Conflict("somebody else is sending this file") from error
            if file.tell() != offset:
                raise Conflict(f"this file goes on at {file.tell()}", offset=file.tell())
            yield file

    def begin(self) -> None:
        """Take it from the start, whatever has come of it."""
        with storing():
            self._part.parent.mkdir(parents=True, exist_ok=True)
            self._part.write_bytes(b"")

    def append(self, piece: bytes) -> None:
        with storing(), self._part.open("ab") as file:
            file.write(piece)

    def sha256(self) -> str:
        return self._library.storage.sha256(self.key)

    def finish(self, size: int, sha256: str | None = None) -> None:
        """Make the file whole. Raises Invalid, and forgets it, if it is not what was sent."""
        with storing(), self._part.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
            if file.tell() != size or sha256 not in (None, found):
                self._part.unlink()
                raise Invalid("the file does not have the size and SHA-256 that came with it")
            os.fsync(file.fileno())
            if self.is_whole and self.sha256() != found:
                raise Conflict(f"{self.path.name} is there already, and is another file")
            self._part.replace(self.path)
        self._library.storage.sync_way_to(self.path)


class Unpacking:
    """All files of a task in one archive: each is stored as if it had come by itself."""

    def __init__(self, library: Library, held: Held) -> None:
        self._library, self._held = library, held
        self._archive = Unpacked(archive.Caps(files=MOST_FILES, bytes=library.caps.size_bytes))
        self._header: Header | None = None
        self._coming: Delivery | None = None
        self.stored: list[Delivery] = []

    def take(self, chunk: bytes) -> None:
        """Store what is in the next bytes. Raises Invalid for what no archive of ours has."""
        for piece in self._archive.feed(chunk):
            if isinstance(piece, Header):
                self._end_file()
                self._header = piece
                self._coming = delivery(self._library, self._held, piece.name)
                self._coming.begin()
            elif self._coming is not None:
                self._coming.append(piece)

    def end(self) -> None:
        """Raise Invalid unless the archive was whole."""
        self._archive.close()
        self._end_file()

    def _end_file(self) -> None:
        if self._coming is not None and self._header is not None:
            self._coming.finish(self._header.size)
            self.stored.append(self._coming)
        self._coming = None


def delivery(library: Library, held: Held, name: str) -> Delivery:
    """Return where a file of a held task goes. Raises Invalid for a name that can be none."""
    row = library.db.read(lambda tx: task_of(tx, held))
    folder = _folder(library, row)
    if not is_key(f"x/{name}") or name.endswith(PART) or len(name) > 200:
        raise Invalid(f"{name[:200]!r} cannot be the name of a file")
    if folder.is_dir() and sum(len(names) for _, _, names in os.walk(folder)) >= MOST_FILES:
        raise Invalid(f"an attempt brings at most {MOST_FILES} files")
    return Delivery(library, folder, name)


def checked(library: Library, owner: str, outcome: Outcome) -> Outcome:
    """Return an outcome as it may count: a result with wrong files is a failure, to be retried."""
    if not isinstance(outcome, Done):
        return outcome
    held = Held(owner=owner, task_id=outcome.id, epoch=outcome.epoch)
    try:
        row = library.db.read(lambda tx: task_of(tx, held))
    except (LeaseLost, NotFound):
        return outcome  # the engine says what became of it
    try:
        _check_files(library, row, outcome.result)
    except (Invalid, NotFound, Permanent, ValidationError, OSError, ValueError) as error:
        record = failure("OUTPUT_INVALID", f"{error}", error_type="OutputInvalid", retryable=True)
        return Failed(outcome.id, outcome.epoch, record)
    return outcome


def _check_files(library: Library, row: Row, result: str) -> None:
    told = json.loads(result)
    folder = library.storage.key(_folder(library, row)) if _asset(row) else None
    files = told.get("artifacts") if isinstance(told, Mapping) else None
    listed = ARTIFACTS.validate_python(files or [])
    for file in listed:
        if folder is None or file.key != f"{folder}/{file.key.removeprefix(f'{folder}/')}":
            raise Invalid(f"{file.key!r} is not a file of this attempt")
        path = library.storage.existing(file.key)
        if (path.stat().st_size, library.storage.sha256(file.key)) != (file.bytes, file.sha256):
            raise Invalid(f"{file.key} is not the file that the result says")
        _check_kind(path)
    others = {key for key in _strings(told) if key.startswith(SOURCES)}
    ours = {file.key for file in listed} | {file.key.rpartition("/")[0] for file in listed}
    foreign = others - ours - _texts(row["params"])
    if foreign:
        raise Invalid(f"the result names files that are not its own: {min(foreign)[:200]!r}")


def _check_kind(path: Path) -> None:
    """Refuse a file whose beginning does not fit its name."""
    at, heads = HEADS.get(path.suffix, (0, ()))
    with path.open("rb") as file:
        head = file.read(12)[at:]
    if not head.startswith(heads):
        raise Invalid(f"{path.name} is not what its name says")


def _folder(library: Library, row: Row) -> Path:
    asset = _asset(row)
    if asset is None:
        raise Invalid(f"tasks of the kind {row['kind']} have no files")
    return library.storage.path(attempt_folder(asset, row["id"], row["epoch"]))


def _asset(row: Row) -> str | None:
    params = readable(row["params"], {})
    found = params.get("asset") if isinstance(params, dict) else None
    return found if isinstance(found, str) and is_key(f"objects/{found}") else None


def _named(tx: Transaction, held: Held) -> set[str]:
    """Return all texts in what a task was given: among them the keys and folders it may read."""
    row = task_of(tx, held)
    told = _texts(row["params"])
    for parent in tx.rows("parent_results", id=held.task_id, owner=held.owner, epoch=held.epoch):
        told |= _texts(parent["result"] or "null")
    return told


def _texts(text: str) -> set[str]:
    return set(_strings(readable(text, None)))


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for one in value.values():
            yield from _strings(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _strings(one)


def _sign(secret: bytes, held: Held, key: str, expires: int) -> str:
    fields = [held.owner, held.task_id, held.epoch, key, expires]
    told = _base64(json.dumps(fields, separators=(",", ":")).encode())
    return f"{told}.{_signature(secret, told)}"


def _signature(secret: bytes, told: str) -> str:
    return _base64(hmac.digest(secret, told.encode(), "sha256"))


def _base64(given: bytes) -> str:
    return base64.urlsafe_b64encode(given).rstrip(b"=").decode()
