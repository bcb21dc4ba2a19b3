"""Takes a film in: one check at every door, the file to its place, then one transaction.

A file that arrived but whose transaction was not committed belongs to nobody and is collected
later. The original is never changed and never deleted by itself.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Literal

from rushes.domain.artifact import source_key
from rushes.domain.failure import clean
from rushes.domain.graph import NORMAL, JobRequest, check_text, validate
from rushes.domain.room import amount
from rushes.engine import submit
from rushes.errors import Conflict, DuplicateOf, Invalid, KeyReused, Permanent
from rushes.library import indexing, pipelines
from rushes.library.library import Library
from rushes.library.pipelines import VIDEO, Options
from rushes.media import admit
from rushes.observability import failpoints
from rushes.store.database import Transaction
from rushes.store.ids import new_id

CHUNK = 1 << 20
MAX_TAGS, MAX_TAG = 50, 100
EXTENSIONS = 10  # characters of an extension that is kept


@dataclass(frozen=True, slots=True, kw_only=True)
class Upload:
    """A film and what a person says about it. The file's own name is text, never a path.

    `sha256` is what its content must have.
    """

    path: Path
    filename: str | None = None
    title: str | None = None
    tags: tuple[str, ...] = ()
    owner: str = ""
    priority: int = NORMAL
    options: Options = field(default_factory=Options)
    idempotency_key: str | None = None
    duplicate: Literal["refuse", "allow"] = "refuse"
    sha256: str | None = None

    @property
    def name(self) -> str:
        return clean(self.filename or self.path.name, 255)

    def key(self, asset_id: str) -> str:
        """Where the original of this asset lies."""
        return source_key(asset_id, _extension(self.name))


@dataclass(frozen=True, slots=True, kw_only=True)
class Added:
    asset_id: str
    job_id: str
    created: bool = True


def add(library: Library, upload: Upload, *, now: int | None = None) -> Added:
    """Bring a film into the library and submit its job. Raises before anything is written.

    Permanent with an input code for a file that is refused, DuplicateOf for one that is there.
    """
    check(library, upload)
    asset_id = new_id()
    key = upload.key(asset_id)
    sha256, size = _bring(library, upload.path, key)
    failpoints.hit("upload.after_rename")
    try:
        check_content(upload, sha256)
        added = library.db.transact(entry(library, upload, asset_id, sha256, size), now=now)
    except (Conflict, Invalid, Permanent):  # after another error it may have been committed
        library.storage.delete(key)
        raise
    failpoints.hit("upload.after_db")
    if not added.created:
        library.storage.delete(key)
    return added


def entry(
    library: Library, upload: Upload, asset_id: str, sha256: str, size: int
) -> Callable[[Transaction], Added]:
    """Return the transaction that makes a film of an original that lies in its place."""
    key = upload.key(asset_id)
    return lambda tx: _add(tx, library, upload, asset_id, key, sha256, size)


def check(library: Library, upload: Upload) -> None:
    """Refuse what can be refused before a byte is copied: the one check of all doors."""
    check_wishes(library, upload)
    admit.check_file(upload.path, library.caps)
    check_room(library, upload.path.stat().st_size)


def check_wishes(library: Library, upload: Upload) -> None:
    """Refuse what a person asks for if it cannot become a job."""
    check_words(upload.title, upload.tags)
    nobody = new_id()
    validate(_request(upload, nobody, upload.key(nobody), nobody), library.engine.kinds)


def check_room(library: Library, need: int) -> None:
    """Refuse a film of so many bytes if the disk would then be full."""
    free = library.storage.free_bytes()
    need += library.reserve_bytes
    if free < need:
        raise Permanent(
            f"the disk has {amount(free)} free; this film needs {amount(need)}",
            error_code="DISK_FULL",
            hint="make room in the data folder, or set RUSHES_DATA to a larger disk",
        )


def check_content(upload: Upload, sha256: str) -> None:
    """Refuse a film that is not the one that was announced."""
    if upload.sha256 not in (None, sha256):
        raise Permanent(
            f"the film has SHA-256 {sha256}, not {upload.sha256} as announced",
            error_code="SOURCE_CORRUPT",
            hint="send it again",
        )


def check_words(title: str | None, tags: Sequence[str]) -> None:
    """Refuse a title or tags that cannot be kept."""
    check_text(title, "the title")
    if len(tags) > MAX_TAGS:
        raise Invalid(f"{len(tags)} tags; the limit is {MAX_TAGS}")
    for tag in tags:
        check_text(tag, "a tag", MAX_TAG)
        if not tag.strip():
            raise Invalid("a tag is empty")


def _bring(library: Library, source: Path, key: str) -> tuple[str, int]:
    """Copy the file to its place; it reaches the disk before its name does."""
    target = library.storage.path(key)
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(target.name + ".part")
    try:
        with source.open("rb") as incoming, part.open("wb") as outgoing:
            digest, size = _copy(incoming, outgoing)
            os.fsync(outgoing.fileno())
        part.replace(target)
        library.storage.sync_way_to(target)
    except BaseException:
        shutil.rmtree(target.parent, ignore_errors=True)
        raise
    return digest, size


def _copy(incoming: IO[bytes], outgoing: IO[bytes]) -> tuple[str, int]:
    digest, size = hashlib.sha256(), 0
    while chunk := incoming.read(CHUNK):
        digest.update(chunk)
        outgoing.write(chunk)
        size += len(chunk)
    outgoing.flush()
    return digest.hexdigest(), size


def _add(  # noqa: PLR0913  (what one row is made of)
    tx: Transaction,
    library: Library,
    upload: Upload,
    asset_id: str,
    key: str,
    sha256: str,
    size: int,
) -> Added:
    for version in tx.rows("versions", asset_id=asset_id):  # the answer to a commit was lost
        return Added(asset_id=asset_id, job_id=version["job_id"])
    known = _known_by_key(tx, upload, sha256)
    if known is not None:
        return known
    same = tx.rows("same_content", owner=upload.owner, sha256=sha256)
    if same and upload.duplicate == "refuse":
        raise DuplicateOf(
            f"this film is in the library as {same[0]['id']}",
            asset_id=same[0]["id"],
            hint="show it, or add it again with --duplicate allow",
        )
    tx.run(
        "add_asset",
        id=asset_id,
        owner=upload.owner,
        title=upload.title or Path(upload.name).stem or upload.name,
        tags=list(upload.tags),
        filename=upload.name,
        source_key=key,
        bytes=size,
        sha256=sha256,
    )
    indexing.describe(tx, asset_id)
    job_id = new_id()
    tx.rows("add_version", asset_id=asset_id, job_id=job_id, options=_dump(upload.options))
    submit.add(tx, library.engine, _request(upload, asset_id, key, job_id))
    return Added(asset_id=asset_id, job_id=job_id)


def _request(upload: Upload, asset_id: str, key: str, job_id: str) -> JobRequest:
    return JobRequest(
        id=job_id,
        kind=VIDEO,
        steps=pipelines.film(asset_id, key, upload.options),
        label=(upload.title or upload.name)[:500],
        owner=upload.owner or None,
        priority=upload.priority,
        spec={"asset": asset_id},
        dedupe_key=f"asset:{asset_id}",
        idempotency_key=upload.idempotency_key,
    )


def _known_by_key(tx: Transaction, upload: Upload, sha256: str) -> Added | None:
    """Return what the same request with the same key made before."""
    if upload.idempotency_key is None:
        return None
    rows = tx.rows("kept_key", owner=upload.owner, key=upload.idempotency_key)
    if not rows:
        return None
    job_id = rows[0]["job_id"]
    for version in tx.rows("version_of_job", job_id=job_id):
        [asset] = tx.rows("asset", id=version["asset_id"])
        if asset["sha256"] == sha256 and version["options"] == _dump(upload.options):
            return Added(asset_id=version["asset_id"], job_id=job_id, created=False)
    raise KeyReused(
        f"idempotency key {upload.idempotency_key!r} was used for another request",
        job_id=job_id,
        hint="use a new key for a new request",
    )


def _dump(options: Options) -> str:
    return json.dumps(asdict(options), separators=(",", ":"), sort_keys=True)


def _extension(filename: str) -> str:
    """Return the extension if it is a plain one; the content decides what the file is."""
    suffix = Path(filename).suffix.lower()
    plain = suffix[1:].isascii() and suffix[1:].isalnum() and len(suffix) <= EXTENSIONS
    return suffix if plain else ""
