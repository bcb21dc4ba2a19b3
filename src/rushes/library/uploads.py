"""Takes films in that arrive in parts, and makes assets of them when they are whole.

Rows decide. One is made after its file and removed before it, so a file without a row is rubbish,
and whoever is still at work on an upload that was removed loses. Where an original goes follows
from the id of its upload: after a death between the rename and the commit, `finish` is called
again and finds it there.
"""

from __future__ import annotations

import errno
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path

from rushes.domain.graph import check_id
from rushes.domain.person import LOCAL, Principal
from rushes.domain.room import amount
from rushes.engine.engine import millis
from rushes.errors import Conflict, Invalid, KeyReused, Permanent, RushesError
from rushes.library import upload
from rushes.library.incoming import (
    FOLDER,
    OPTIONS,
    Incoming,
    Wish,
    check_open,
    fail,
    from_row,
    get,
    held,
    original,
    part,
    remove_bytes,
)
from rushes.library.library import Library
from rushes.library.sink import Checksum, Sink, digests, storing
from rushes.library.upload import Added
from rushes.media import admit
from rushes.observability import failpoints
from rushes.storage.local import bring
from rushes.store import uploads
from rushes.store.database import Transaction
from rushes.store.ids import new_id
from rushes.store.uploads import State


class TooManyUploads(Conflict):
    """One owner has too much open at a time."""

    code = "TOO_MANY_UPLOADS"


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one owner may have open at a time."""

    uploads: int = 100
    bytes: int = 1024**4


LIMITS = Limits()
PATIENCE = timedelta(minutes=1)
"""How long whoever sent the last byte has the time to finish."""


def create(
    library: Library,
    principal: Principal,
    wish: Wish,
    *,
    limits: Limits = LIMITS,
    now: int | None = None,
) -> Incoming:
    """Expect a film. The same idempotency key finds the same upload again.

    Raises before anything is written: Permanent with an input code, Invalid, TooManyUploads.
    """
    wish, id, owner = wish.tidy(), new_id(), principal.owner
    path = part(library, id)
    _check_size(library, wish.size)
    upload.check_wishes(library, wish.upload(path, owner))
    look = partial(_expected, library=library, owner=owner, wish=wish, limits=limits)
    if (known := library.db.read(look)) is not None:
        return known
    with storing():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        library.storage.sync_way_to(path)

    def work(tx: Transaction) -> Incoming:
        for row in tx.rows("upload", id=id, owner=owner):  # the answer to a commit was lost
            return from_row(row)
        tx.run("lock_uploads")
        return look(tx) or _add(tx, library, owner, id, wish)

    try:
        incoming = library.db.transact(work, now=now)
    except (Conflict, Permanent):  # after another error it may have been committed
        path.unlink()
        raise
    if incoming.id != id:
        path.unlink()
    return incoming


@contextmanager
def receive(
    library: Library,
    principal: Principal,
    id: str,
    offset: int,
    checksum: str | None = None,
    *,
    now: int | None = None,
) -> Iterator[Sink]:
    """Take bytes in from `offset` on, from one at a time.

    What was written when the block ends is kept and counted, however it ends. With a checksum
    ("sha1 " and base64) it is all or nothing: a mismatch changes nothing.
    """
    expected = None if checksum is None else Checksum.parse(checksum)
    with held(library, principal, id, now) as (incoming, file):
        if offset != incoming.offset:
            raise Conflict(
                f"this upload goes on at {incoming.offset}, not at {offset}",
                offset=incoming.offset,
                hint="ask for its offset, and send from there",
            )
        sink = Sink(library, incoming, file, expected, now)
        try:
            yield sink
        except BaseException:
            with suppress(RushesError):  # the first error is the one to tell
                sink.keep()
            raise
        sink.close()


def finish(library: Library, principal: Principal, id: str, *, now: int | None = None) -> Added:
    """Make a film of an upload that is whole. Called again, it answers the same.

    A film that is refused ends the upload: its row says why, and its bytes are removed.
    """
    known = get(library, principal, id)
    if known.asset_id is not None and known.job_id is not None:
        return Added(asset_id=known.asset_id, job_id=known.job_id, created=False)
    with held(library, principal, id, now) as (incoming, _), storing():
        if incoming.offset < incoming.size:
            raise Conflict(
                f"{incoming.offset} of {incoming.size} bytes have arrived",
                offset=incoming.offset,
                hint="send the rest first",
            )
        try:
            return _enter(library, incoming, now)
        except (Conflict, Invalid, Permanent) as error:
            fail(library, incoming, error, now)
            raise


def terminate(library: Library, principal: Principal, id: str) -> None:
    """Remove an upload and its bytes, even while they arrive; a finished one is a Conflict."""
    get(library, principal, id)
    if not library.db.transact(lambda tx: tx.rows("delete_upload", id=id)):
        check_open(get(library, principal, id))
    remove_bytes(library, id)


def expire(library: Library, *, now: int | None = None) -> int:
    """Remove uploads whose time is over. Returns how many of them were still open.

    One that is whole becomes a film first: its server may have died, and its client believes that
    all is done. Those that have ended keep their answer for a while; then their rows go, too.
    """
    _finish_whole(library, now)
    gone = library.db.transact(lambda tx: tx.rows("expire_uploads"), now=now)
    for row in gone:
        if row["state"] == State.FINISHED:
            part(library, row["id"]).unlink(missing_ok=True)
        else:
            remove_bytes(library, row["id"])
    _sweep(library)
    return sum(row["state"] == State.OPEN for row in gone)


def _check_size(library: Library, size: int) -> None:
    if size <= 0:
        raise Permanent("the file is empty", error_code="SOURCE_EMPTY", hint="send it again")
    if size > library.caps.size_bytes:
        raise Permanent(
            f"the file is too large: {size} bytes, at most {library.caps.size_bytes}",
            error_code="SOURCE_TOO_LARGE",
            hint="make a smaller version, or ask the operator to raise the limit",
        )


def _expected(
    tx: Transaction, library: Library, owner: str, wish: Wish, limits: Limits
) -> Incoming | None:
    """Return the upload that the same request made before; refuse a new one that is too much."""
    if wish.idempotency_key is not None:
        for row in tx.rows("upload_of_key", owner=owner, key=wish.idempotency_key):
            if (known := from_row(row)).wish == wish:
                return known
            raise KeyReused(
                f"idempotency key {wish.idempotency_key!r} was used for another upload",
                hint="use a new key for a new upload",
            )
    _check_limits(tx, library, owner, wish.size, limits)
    return None


def _check_limits(tx: Transaction, library: Library, owner: str, size: int, limits: Limits) -> None:
    """Refuse one upload too many; what is still to come of the others has its room already."""
    [found] = tx.rows("open_uploads", owner=owner)
    if found["uploads"] >= limits.uploads or found["bytes"] + size > limits.bytes:
        raise TooManyUploads(
            f"{found['uploads']} uploads of {amount(found['bytes'])} are open; the limit is "
            f"{limits.uploads} of {amount(limits.bytes)}",
            hint="finish or remove one of them first",
        )
    upload.check_room(library, size + found["to_come"])


def _add(tx: Transaction, library: Library, owner: str, id: str, wish: Wish) -> Incoming:
    options = OPTIONS.dump_json(wish.options).decode()
    values = {**asdict(wish), "tags": list(wish.tags), "options": options}
    tx.run("add_upload", id=id, owner=owner, **values, keep_ms=_keep_ms(library))
    return from_row(uploads.get(tx, id, owner))


def _enter(library: Library, incoming: Incoming, now: int | None) -> Added:
    arriving, target = part(library, incoming.id), original(library, incoming)
    path = arriving if arriving.exists() else target
    film = incoming.upload(path, incoming.owner)
    admit.check_file(path, library.caps)
    digest = digests.at(incoming.id, incoming.size)
    sha256 = digest.hexdigest() if digest else library.storage.sha256(library.storage.key(path))
    upload.check_content(film, sha256)
    _move(library, path, target)
    failpoints.hit("upload.after_rename")
    make = upload.entry(library, film, incoming.id, sha256, incoming.size)

    def work(tx: Transaction) -> Added:
        added = make(tx)
        ids = {"asset_id": added.asset_id, "job_id": added.job_id}
        if not tx.rows("finish_upload", id=incoming.id, **ids, keep_ms=_keep_ms(library)):
            raise uploads.not_found(incoming.id)
        return added

    added = library.db.transact(work, now=now)
    failpoints.hit("upload.after_db")
    arriving.unlink(missing_ok=True)
    if not added.created:
        library.storage.unlink(target)
    return added


def _move(library: Library, path: Path, target: Path) -> None:
    """Bring the film to its place. On another disk it is copied, and keeps the old one for now."""
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        path.replace(target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        bring(path, target)
    library.storage.sync_way_to(target)


def _finish_whole(library: Library, now: int | None) -> None:
    left_ms = millis(library.keep_abandoned - PATIENCE)
    rows = library.db.read(lambda tx: tx.rows("whole_uploads", left_ms=left_ms), now=now)
    for row in rows:
        with suppress(RushesError, OSError):  # its row says why not, or it is tried again
            finish(library, LOCAL, row["id"], now=now)


def _sweep(library: Library) -> None:
    """Remove old files whose rows were never made, or were removed by a process that died."""
    oldest = time.time() - library.keep_abandoned.total_seconds()
    paths = (library.storage.root / FOLDER).glob("*")
    old = {path.name: path for path in paths if _is_ours(path) and path.stat().st_mtime < oldest}
    known = library.db.read(lambda tx: uploads.known(tx, old))
    for id in old.keys() - known:
        old[id].unlink(missing_ok=True)


def _is_ours(path: Path) -> bool:
    """Whether a file is that of an upload; what somebody else put there is theirs."""
    with suppress(Invalid):
        check_id(path.name)
        return path.is_file()
    return False


def _keep_ms(library: Library) -> int:
    return millis(library.keep_abandoned)
