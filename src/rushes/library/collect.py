"""Removes files that nobody needs any more, each kind after its own time.

- versions that another one has taken the place of: their names first, then their files;
- what attempts wrote that was never committed, or that lost its last name;
- clips whose time is over;
- deleted films, originals and all, when the time to restore them is over;
- originals that arrived but whose transaction was not committed;
- what is left of a film or a version that a process was removing when it died.

Whether a file is needed is asked of the database: a name goes before its file. Nothing is removed
while a backup is taken.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path
from uuid import UUID

from rushes.engine.engine import millis
from rushes.library import clips
from rushes.library.library import Library
from rushes.store.database import Row, Transaction

BATCH = 100
LOCK = "files"
"""Whoever holds it may take named files away, or rely on nobody doing so."""

TOPS = ("assets", "frames", "text", "clips", "objects", "originals")
ATTEMPT = re.compile(r"(\d+)-(\d+)")


@dataclass(slots=True, kw_only=True)
class Collected:
    versions: int = 0
    attempts: int = 0
    clips: int = 0
    assets: int = 0
    originals: int = 0


def run_once(library: Library, *, now: int | None = None) -> Collected:
    """Make one pass over everything."""
    with library.storage.locked(LOCK) as is_ours:
        if not is_ours:
            return Collected()
        library.storage.empty_trash()
        report = Collected(versions=_superseded(library, now), assets=_deleted(library, now))
        report.clips = clips.expire(library, now=now)
        _leftovers(library)
        for folder, paths in abandoned(library, library.keep_abandoned):
            _sweep(library, folder, paths)
            report.attempts += 1
        report.originals = _originals(library)
        return report


def abandoned(library: Library, keep: timedelta) -> Iterator[tuple[Path, list[Path]]]:
    """Return the folders of attempts that hold more than what has a name, and what that is.

    Only where nothing was written for so long, and nobody can be at work any more.
    """
    for folder in library.storage.folders("objects"):
        match = ATTEMPT.fullmatch(folder.name)
        if match is None or not _is_old(library, folder, keep):
            continue
        files = {library.storage.key(path): path for path in library.storage.files(folder)}
        needed = library.db.read(partial(_needed, list(files), int(match[1]), int(match[2])))
        if needed is not None and (needed < files.keys() or not files):
            yield folder, [path for key, path in files.items() if key not in needed]


def ownerless(library: Library, keep: timedelta) -> Iterator[Path]:
    """Return the folders of originals that are of no film, and were not written to for so long."""
    for folder in _by_asset(library, "originals"):
        if _is_old(library, folder, keep) and not _rows(library, "asset", id=folder.name):
            yield folder


def _needed(keys: list[str], task_id: int, epoch: int, tx: Transaction) -> set[str] | None:
    """Return which of an attempt's files have a name; None while the attempt may go on."""
    if tx.rows("attempt_is_live", task_id=task_id, epoch=epoch):
        return None
    return {row["key"] for row in tx.rows("keys_in_use", keys=[{"key": key} for key in keys])}


def _superseded(library: Library, now: int | None) -> int:
    keep_ms = millis(library.keep_superseded)

    def work(tx: Transaction) -> list[tuple[str, int]]:
        rows = tx.rows("superseded_versions", keep_ms=keep_ms, n=BATCH)
        for row in rows:
            for statement in ("drop_artifacts", "drop_renditions", "drop_version"):
                tx.run(statement, asset_id=row["asset_id"], n=row["n"])
        return [(row["asset_id"], row["n"]) for row in rows]

    dropped = library.db.transact(work, now=now)
    for asset_id, version in dropped:
        library.storage.remove(library.storage.root / "assets" / asset_id / f"v{version}")
    return len(dropped)


def _deleted(library: Library, now: int | None) -> int:
    keep_ms = millis(library.keep_deleted)

    def work(tx: Transaction) -> list[str]:
        rows = tx.rows("purgeable_assets", keep_ms=keep_ms, n=BATCH)
        for row in rows:
            for table in ("spans", "clips", "artifacts", "renditions", "versions", "asset"):
                tx.run(f"purge_{table}", id=row["id"])
        return [row["id"] for row in rows]

    purged = library.db.transact(work, now=now)
    for asset_id in purged:
        for top in TOPS:
            library.storage.remove(library.storage.root / top / asset_id)
    return len(purged)


def _leftovers(library: Library) -> None:
    """Remove what is laid out of a film or a version that is no more: a row comes first."""
    for folder in _by_asset(library, "assets"):
        rows = _rows(library, "versions", asset_id=folder.name)
        if not rows:
            library.storage.remove(folder)
            continue
        known = {f"v{row['n']}" for row in rows}
        for laid_out in folder.glob("v*/"):
            if laid_out.name not in known:
                library.storage.remove(laid_out)


def _sweep(library: Library, folder: Path, paths: list[Path]) -> None:
    for path in paths:
        library.storage.unlink(path)
    if not library.storage.files(folder):
        library.storage.remove(folder)


def _originals(library: Library) -> int:
    """Remove what arrived but was never committed."""
    removed = 0
    for folder in ownerless(library, library.keep_abandoned):
        library.storage.remove(folder)
        removed += 1
    return removed


def _rows(library: Library, statement: str, **params: object) -> list[Row]:
    return library.db.read(lambda tx: list(tx.rows(statement, **params)))


def _by_asset(library: Library, top: str) -> Iterator[Path]:
    """Return the folders of assets; what somebody else put there is not ours to remove."""
    for folder in (library.storage.root / top).glob("*/"):
        try:
            UUID(folder.name)
        except ValueError:
            continue
        yield folder


def _is_old(library: Library, folder: Path, keep: timedelta) -> bool:
    """Whether nothing was written into the folder for so long."""
    try:
        paths = (folder, *library.storage.files(folder))
        newest = max(path.stat().st_mtime for path in paths)
    except FileNotFoundError:  # somebody is at work there
        return False
    return time.time() - newest > keep.total_seconds()
