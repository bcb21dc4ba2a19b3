"""Looks whether the library is what its rows say: each name has its file, each film is whole.

Reads only. A film is read at one moment and its files are looked at afterwards, so what is missing
by then counts only if something still names it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import timedelta
from functools import partial
from typing import NamedTuple

from rushes.domain.artifact import name_of
from rushes.engine.doctor import (
    SAMPLE,
    Check,
    Hit,
    Report,
    Severity,
    findings_of,
    run_checks,
)
from rushes.errors import Permanent
from rushes.library import audit, collect, playback
from rushes.library.library import Library
from rushes.media.check import check_set, named_by
from rushes.media.rendition import segment_name
from rushes.store.database import Row, Transaction

INVARIANTS = {
    "I2": "a file is of the attempt that was accepted, and of no other",
    "I7": "a film that is ready has a version that is published",
    "I8": "no playlist names a file that is not there",
    "I9": "every name has its file, and every file a name",
    "I10": "what is counted as finished is committed",
    "I11": "nobody has changed the record of who did what",
    "I15": "what can be found is what is there",
}
CHECKS = (
    Check("doctor_unaccepted", "I2", "holds a file of no attempt that was accepted"),
    Check("doctor_pointers", "I7", "the published version is not there, or not closed"),
    Check("doctor_unowned", "I9", "belongs to no film, or to no version of it"),
    Check("doctor_texts", "I15", "belongs to no film, or to no text of it"),
    Check("doctor_index", "I15", "is in the texts or in the index of the search, not in both"),
)
THOROUGH = (Check("doctor_vocabulary", "I15", "is a word that is miscounted, by so many texts"),)
"""Reads all texts."""
LATE = timedelta(hours=1)
"""So long after its time a file should be collected, if anybody does it."""


class Film(NamedTuple):
    """What is wrong with the rows of a film, and the files that they name."""

    hits: list[Hit]
    files: Sequence[Row]


def examine(library: Library, *, strict: bool, deep: bool = False) -> Report:
    """Check a sample of films, or with `strict` everything; `deep` reads every file."""
    checks = (*CHECKS, *THOROUGH) if strict else CHECKS
    hits = library.db.read(lambda tx: run_checks(tx, checks))
    checked = Counter(checks=len(checks))
    for row in library.db.read(_all if strict else _newest):
        film = library.db.read(partial(_look_at, id=row["id"]))
        hits += film.hits
        hits += _wrong_files(library, film.files, deep=deep)
        checked += Counter(films=1, files=len(film.files))
    if strict:
        hits += [*_uncollected(library), *_broken_playlists(library), *_changed_record(library)]
    return Report(strict=strict, findings=findings_of(hits), checked=dict(checked))


def _all(tx: Transaction) -> Sequence[Row]:
    return tx.rows("asset_ids")


def _newest(tx: Transaction) -> Sequence[Row]:
    return tx.rows("list_assets", deleted=False, after=None, owner=None, n=SAMPLE)


def _look_at(tx: Transaction, id: str) -> Film:
    tx.run("doctor_snapshot")
    hits: list[Hit] = []
    for row in tx.rows("versions", asset_id=id):
        hits += _miscounted(tx, id, row["n"])
    for row in tx.rows("asset", id=id):
        hits += _holes(tx, id, row["version"]) if row["version"] else []
    return Film(hits, tx.rows("files_of_asset", asset_id=id))


def _holes(tx: Transaction, id: str, version: int) -> Iterator[Hit]:
    text = "the published version cannot be played from beginning to end"
    try:
        seen = playback.view(tx, id, version)
    except ValueError:
        yield Hit("I8", Severity.VIOLATION, text, f"{id} (its plan cannot be read)")
        return
    if seen is None:
        yield Hit("I8", Severity.VIOLATION, text, f"{id} (nothing is planned)")
        return
    prefix = name_of(id, version, "")
    rows = tx.rows("artifacts", asset_id=id, version=version)
    sizes = {row["name"].removeprefix(prefix): row["bytes"] for row in rows}
    try:
        check_set(seen.grid, seen.renditions, sizes, playback.playlists(seen))
    except Permanent as error:
        yield Hit("I8", Severity.VIOLATION, text, f"{id} ({error.message})")


def _miscounted(tx: Transaction, id: str, version: int) -> Iterator[Hit]:
    text = "the count of finished segments is not that of the committed ones"
    names = {row["name"] for row in tx.rows("artifacts", asset_id=id, version=version)}
    for row in tx.rows("renditions", asset_id=id, version=version):
        segments = [segment_name(row["name"], n) for n in range(row["segments_total"])]
        committed = sum(name_of(id, version, segment) in names for segment in segments)
        if row["segments_completed"] != committed:
            where = f"{id} (v{version}/{row['name']}: {row['segments_completed']}, not {committed})"
            yield Hit("I10", Severity.VIOLATION, text, where)


def _wrong_files(library: Library, files: Sequence[Row], *, deep: bool) -> Iterator[Hit]:
    for row in files:
        text = _problem(library, row, deep=deep)
        if text and library.db.read(lambda tx, key=row["key"]: tx.rows("is_named", key=key)):  # type: ignore[misc]
            yield Hit("I9", Severity.VIOLATION, text, row["key"])


def _problem(library: Library, row: Row, *, deep: bool) -> str | None:
    try:
        if library.storage.path(row["key"]).stat().st_size != row["bytes"]:
            return "a file has another size than it was committed with"
        if deep and library.storage.sha256(row["key"]) != row["sha256"]:
            return "a file has another content than it was committed with"
    except FileNotFoundError:
        return "a file is missing"
    except OSError:
        return "a file cannot be read"
    return None


def _uncollected(library: Library) -> Iterator[Hit]:
    text, keep = "a file without a name, and nobody collects it", library.keep_abandoned + LATE
    for _, paths in collect.abandoned(library, keep):
        for path in paths:
            yield Hit("I9", Severity.WARNING, text, library.storage.key(path))
    for folder in collect.ownerless(library, keep):
        for path in library.storage.files(folder):
            yield Hit("I9", Severity.WARNING, text, library.storage.key(path))


def _broken_playlists(library: Library) -> Iterator[Hit]:
    text = "a playlist names a file that is not there"
    root = library.storage.root
    for playlist in sorted((root / "assets").rglob("*.m3u8")):
        name = library.storage.key(playlist)
        try:
            named = named_by(name, playlist.read_text("utf-8"))
        except FileNotFoundError:
            continue
        missing = [target for target in named if not (root / target).is_file()]
        if missing and playlist.exists():
            yield Hit("I8", Severity.VIOLATION, text, f"{name} ({missing[0]})")


def _changed_record(library: Library) -> Iterator[Hit]:
    first = audit.verify(library.db)
    if first is not None:
        text = "the audit log is not as it was written, from this row on"
        yield Hit("I11", Severity.VIOLATION, text, str(first))
