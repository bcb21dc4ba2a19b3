"""Reads uploads as they stand, and remembers the files of watched folders."""

from __future__ import annotations

import os
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from rushes.domain.graph import check_id
from rushes.errors import Invalid, NotFound
from rushes.store.database import Row, Transaction


class State(StrEnum):
    OPEN = "open"  # more may come, or it is whole and waits to be finished
    FINISHED = "finished"  # it is a film
    FAILED = "failed"  # it was refused, and its bytes are gone


class Look(NamedTuple):
    """What tells whether a file was changed."""

    size: int
    mtime_ns: int


def get(tx: Transaction, upload_id: str, owner: str | None) -> Row:
    """Return an upload of this owner, or anybody's. Raises NotFound for all others alike."""
    try:
        check_id(upload_id)
        rows = tx.rows("upload", id=upload_id, owner=owner)
    except Invalid:
        rows = []
    if not rows:
        raise not_found(upload_id)
    return rows[0]


def known(tx: Transaction, ids: Iterable[str]) -> set[str]:
    """Return which of these uploads there are."""
    return {row["id"] for row in tx.rows("known_uploads", ids=[{"id": id} for id in ids])}


def not_found(upload_id: str) -> NotFound:
    return NotFound(f"there is no upload {upload_id[:64]}", hint="it may have expired: begin anew")


def is_done(tx: Transaction, owner: str, path: Path, look: Look) -> bool:
    """Whether a file was dealt with as it is now."""
    rows = tx.rows("inbox_file", owner=owner, path=_text(path))
    return any(Look(row["size"], row["mtime_ns"]) == look for row in rows)


def note(
    tx: Transaction,
    owner: str,
    path: Path,
    look: Look,
    *,
    asset_id: str | None = None,
    error_code: str | None = None,
) -> None:
    """Remember that a file was dealt with."""
    tx.run(
        "note_inbox_file",
        owner=owner,
        path=_text(path),
        **look._asdict(),
        asset_id=asset_id,
        error_code=error_code,
    )


def _text(path: Path) -> str:
    return quote(os.fsencode(path))
