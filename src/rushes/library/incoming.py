"""A film on its way in: its row, its bytes, and who holds them.

    uploads/{id}                     while it arrives
    originals/{id}/source.{ext}      when it is whole: a film has the id of its upload

Whoever writes or finishes holds a lock on the file itself. The kernel gives it back when a process
dies, and a rename takes it along. The database counts only what is on the disk for certain; what
lies beyond is cut off before anybody goes on.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import IO, Literal, Self

from pydantic import TypeAdapter

from rushes.domain.failure import clean
from rushes.domain.graph import NORMAL
from rushes.domain.person import Principal
from rushes.engine.engine import millis
from rushes.errors import Conflict, DuplicateOf, Invalid, KeyReused, Permanent, RushesError
from rushes.library.library import Library
from rushes.library.pipelines import Options
from rushes.library.upload import Upload
from rushes.store import uploads
from rushes.store.database import Row, Transaction
from rushes.store.uploads import State

FOLDER = "uploads"
OPTIONS = TypeAdapter(Options)
SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What a person says about a film before it is here; `sha256` is what it must have.

    `metadata` is the same as a client wrote it. Two ways to write it are one wish.
    """

    size: int = 0
    filename: str | None = None
    title: str | None = None
    tags: tuple[str, ...] = ()
    priority: int = NORMAL
    options: Options = field(default_factory=Options)
    sha256: str | None = None
    duplicate: Literal["refuse", "allow"] = "refuse"
    idempotency_key: str | None = None
    metadata: str | None = field(default=None, compare=False)

    def tidy(self) -> Self:
        """Return it as it is kept. Raises Invalid for a SHA-256 that is none."""
        sha256 = (self.sha256 or "").lower()
        if sha256 and not SHA256.fullmatch(sha256):
            raise Invalid("the SHA-256 is not 64 hexadecimal digits")
        name = clean(self.filename or "", 255) or "untitled"
        return replace(self, filename=name, sha256=sha256 or None)

    def upload(self, path: Path, owner: str) -> Upload:
        said = [one.name for one in fields(Wish) if one.name not in ("size", "metadata")]
        return Upload(path=path, owner=owner, **{name: getattr(self, name) for name in said})


@dataclass(frozen=True, slots=True, kw_only=True)
class Incoming(Wish):
    """A film on its way in: `offset` bytes are here for certain.

    `asset_id` is the film that it became, or the one that it repeats if that is why it failed.
    """

    id: str
    owner: str
    state: State
    offset: int
    asset_id: str | None
    job_id: str | None
    error_code: str | None
    error: str | None
    created_at: int
    expires_at: int

    @property
    def wish(self) -> Wish:
        return Wish(**{one.name: getattr(self, one.name) for one in fields(Wish)})


def from_row(row: Row) -> Incoming:
    values = dict(row)
    tags = values.pop("tags")
    return Incoming(
        offset=values.pop("received"),
        state=State(values.pop("state")),
        tags=tuple(json.loads(tags) if isinstance(tags, str) else tags),
        options=OPTIONS.validate_json(values.pop("options")),
        **values,
    )


def get(library: Library, principal: Principal, id: str) -> Incoming:
    """Return an upload. Raises NotFound for one of somebody else."""
    return from_row(library.db.read(lambda tx: uploads.get(tx, id, principal.sees)))


def part(library: Library, id: str) -> Path:
    """Where the bytes lie while they arrive."""
    return library.storage.path(f"{FOLDER}/{id}")


def original(library: Library, incoming: Incoming) -> Path:
    """Where they go when they are whole."""
    key = incoming.upload(Path(incoming.id), incoming.owner).key(incoming.id)
    return library.storage.path(key)


def remove_bytes(library: Library, id: str) -> None:
    """Remove what arrived of an upload that will never be a film: in this order none is missed."""
    part(library, id).unlink(missing_ok=True)
    library.storage.remove(library.storage.root / "originals" / id)


def check_open(incoming: Incoming) -> None:
    """Raise what there is to say of an upload that has ended."""
    if incoming.state is State.FINISHED:
        raise Conflict(
            f"upload {incoming.id} is finished",
            asset_id=incoming.asset_id,
            job_id=incoming.job_id,
            hint="look at the video",
        )
    if incoming.state is State.FAILED:
        text, code = incoming.error or "", incoming.error_code or ""
        if code == DuplicateOf.code:
            raise DuplicateOf(text, asset_id=incoming.asset_id)
        if code == KeyReused.code:
            raise KeyReused(text)
        raise Permanent(text, error_code=code, hint="begin a new upload")


def fail(library: Library, incoming: Incoming, error: RushesError, now: int | None) -> None:
    """End an open upload: the row says why, then the bytes go. Raises if it has ended otherwise."""

    def work(tx: Transaction) -> Incoming | None:
        failed = tx.rows(
            "fail_upload",
            id=incoming.id,
            error_code=getattr(error, "error_code", error.code),
            error=error.message,
            asset_id=error.detail.get("asset_id"),
            keep_ms=millis(library.keep_abandoned),
        )
        return None if failed else from_row(uploads.get(tx, incoming.id, None))

    ended = library.db.transact(work, now=now)
    if ended is not None:
        check_open(ended)
    remove_bytes(library, incoming.id)


@contextmanager
def held(
    library: Library, principal: Principal, id: str, now: int | None
) -> Iterator[tuple[Incoming, IO[bytes]]]:
    """Hold an open upload, read when nobody else can change it, with nothing uncounted in it."""
    incoming = get(library, principal, id)
    check_open(incoming)
    file = _open(library, incoming)
    if file is None:
        raise _loss(library, incoming, now)
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise Conflict(
                f"somebody else is sending upload {id}", hint="try again when they are done"
            ) from error
        incoming = get(library, principal, id)
        check_open(incoming)
        if os.fstat(file.fileno()).st_size < incoming.offset:
            raise _loss(library, incoming, now)
        os.ftruncate(file.fileno(), incoming.offset)
        yield incoming, file


def _open(library: Library, incoming: Incoming) -> IO[bytes] | None:
    """Open the bytes of an upload: on their way, or already where the original goes."""
    for path in (part(library, incoming.id), original(library, incoming)):
        with suppress(FileNotFoundError):
            return path.open("r+b", buffering=0)
    return None


def _loss(library: Library, incoming: Incoming, now: int | None) -> Permanent:
    """Give an upload up whose bytes somebody took away. Returns the error to raise."""
    error = Permanent(
        "what had arrived of this film is gone", error_code="SOURCE_MISSING", hint="send it again"
    )
    fail(library, incoming, error, now)
    return error
