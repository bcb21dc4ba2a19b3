"""Copies a library while it is worked on, and makes a library of such a copy.

    backup.json     written last: without it, the backup is not finished
    rushes.db       the database as it was at one moment
    originals/…     the files that it names, and no others
    objects/…

The database comes first, then the files that it names. A file is there before its name is
committed, so each name in the copy has its file; with the files first, those that are committed
meanwhile would be named and missing. Only the collector takes a named file away, and it waits
until the backup is done. What is being made at that moment has no name yet: it is not copied, and
its task runs again in the restored library.

Files never change once they are written, so a hard link is as good as a copy, and costs nothing.
"""

from __future__ import annotations

import errno
import json
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

from rushes import __version__
from rushes.engine import recovery
from rushes.errors import Conflict, Invalid, Permanent
from rushes.library import collect, layout
from rushes.library.library import Library
from rushes.storage.local import LocalStorage, bring
from rushes.store import sqlite
from rushes.store.database import Row, Transaction, open_database
from rushes.store.migrate import check_version, latest
from rushes.store.sqlite import SqliteDatabase

DATABASE = "rushes.db"
MANIFEST = "backup.json"


@dataclass(slots=True, kw_only=True)
class Summary:
    """What was brought from one place to the other; `missing` files were nowhere."""

    films: int = 0
    files: int = 0
    bytes: int = 0
    copied_bytes: int = 0
    missing: list[str] = field(default_factory=list)


def create(library: Library, target: Path) -> Summary:
    """Copy the library into an empty folder. Nobody has to stop working."""
    if not isinstance(library.db, SqliteDatabase):
        raise Invalid(
            "only a library on SQLite can be copied like this",
            hint="on PostgreSQL run pg_dump first, then copy originals/ and objects/ of the data"
            " folder, while no worker runs",
        )
    with _filling(target):
        with library.storage.locked(collect.LOCK, wait=True):
            sqlite.copy(library.db.path, target / DATABASE)
            summary = _bring_all(target / DATABASE, library.storage, LocalStorage(target))
        manifest = {
            "made_by": f"rushes {__version__}",
            "made_at": int(time.time() * 1000),
            "schema_version": latest(),
            **asdict(summary),
        }
        (target / MANIFEST).write_text(json.dumps(manifest, indent=2) + "\n", "utf-8")
        LocalStorage(target).seal([target / MANIFEST, target / DATABASE])
    return summary


def restore(source: Path, target: Path) -> Summary:
    """Make a library of a backup in an empty folder. Its database appears last."""
    _check_backup(source)
    with _filling(target):
        summary = _bring_all(source / DATABASE, LocalStorage(source), LocalStorage(target))
        unfinished = target / f"{DATABASE}.part"
        sqlite.copy(source / DATABASE, unfinished)
        with closing(open_database(f"sqlite:///{unfinished.absolute()}")) as db:
            db.migrate()
            db.transact(lambda tx: tx.run("lay_out_anew"))
        unfinished.rename(target / DATABASE)
        LocalStorage(target).seal([target / DATABASE])
    return summary


def settle(library: Library) -> None:
    """Make a restored library ready: nobody works in it yet, and its films are laid out."""
    owners = [row["owner"] for row in library.db.read(lambda tx: tx.rows("lease_owners"))]
    recovery.take_back(library.engine, owners)
    while layout.run_once(library):
        pass


def _bring_all(database: Path, source: LocalStorage, target: LocalStorage) -> Summary:
    """Bring all files that the database names."""
    summary = Summary()
    folders: dict[Path, Path] = {}
    with sqlite.reading(database) as tx:
        for row in _named(tx, summary):
            path = target.path(row["key"])
            try:
                is_link = bring(source.path(row["key"]), path)
            except FileNotFoundError:
                summary.missing.append(row["key"])
                continue
            summary.files += 1
            summary.bytes += row["bytes"]
            summary.copied_bytes += 0 if is_link else row["bytes"]
            folders[path.parent] = path
    target.sync_way_to(*folders.values())
    return summary


def _named(tx: Transaction, summary: Summary) -> Iterator[Row]:
    for asset in tx.rows("asset_ids"):
        summary.films += 1
        yield from tx.rows("files_of_asset", asset_id=asset["id"])


def _check_backup(source: Path) -> None:
    try:
        version = json.loads((source / MANIFEST).read_text("utf-8"))["schema_version"]
    except (OSError, ValueError, KeyError) as error:
        raise Invalid(
            f"{source} is not a finished backup", hint="rushes backup create FOLDER makes one"
        ) from error
    if version > latest():
        check_version(version)


@contextmanager
def _filling(folder: Path) -> Iterator[None]:
    """Refuse a folder that is not empty; say in a sentence why it cannot be filled."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise Conflict(f"{folder} is not empty", hint="name a folder that does not exist yet")
        yield
    except OSError as error:
        is_full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        raise Permanent(
            f"{folder} cannot be filled: {error.strerror}",
            error_code="DISK_FULL" if is_full else "STORAGE_DENIED",
            hint="remove what is there, and name a folder with enough room",
        ) from error
