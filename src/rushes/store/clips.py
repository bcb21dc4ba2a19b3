"""Reads clips. Those of a video that is deleted are not there."""

from __future__ import annotations

from collections.abc import Sequence

from rushes.domain.clip import Clip
from rushes.domain.job import Status
from rushes.errors import Invalid, NotFound
from rushes.store.database import Row, Transaction
from rushes.store.jobs import HEX, SHORTEST, WHOLE, is_id

HINT = "rushes clips list shows them"


def get(tx: Transaction, clip_id: str, *, owner: str | None = None) -> Clip:
    rows = tx.rows("clip", id=clip_id, owner=owner) if is_id(clip_id) else ()
    if not rows:
        raise NotFound(f"there is no clip {clip_id}", hint=HINT)
    return from_row(rows[0])


def find(tx: Transaction, text: str, *, owner: str | None = None) -> str:
    """Return the id of the one clip whose id begins or ends with `text`; `@last` is the newest."""
    if text == "@last":
        rows: Sequence[Row] = tx.rows("newest_clip", owner=owner)
    elif len(text) < SHORTEST or not set(text) <= HEX:
        raise NotFound(f"{text!r} is not the id of a clip", hint=HINT)
    elif len(text) >= WHOLE:
        return get(tx, text, owner=owner).id
    else:
        rows = tx.rows("find_clips", starts=f"{text}%", ends=f"%{text}", owner=owner)
    if not rows:
        raise NotFound(f"there is no clip {text}", hint=HINT)
    if len(rows) > 1:
        raise Invalid(f"{text!r} fits more than one clip; give more characters")
    return str(rows[0]["id"])


def by_key(tx: Transaction, key: str) -> Clip | None:
    """Return the clip that stands for a request, if one does."""
    return next((from_row(row) for row in tx.rows("clip_by_key", key=key)), None)


def list_page(
    tx: Transaction,
    *,
    asset_id: str | None = None,
    before: str | None = None,
    owner: str | None = None,
    limit: int = 50,
) -> list[Clip]:
    """Return clips, newest first; `before` is the id of the last one of the page before."""
    rows = tx.rows("list_clips", asset_id=asset_id, before=before, owner=owner, n=limit)
    return [from_row(row) for row in rows]


def from_row(row: Row) -> Clip:
    read = {"status": Status(row["status"]), "is_over": bool(row["is_over"])}
    return Clip(**{**row, **read})
