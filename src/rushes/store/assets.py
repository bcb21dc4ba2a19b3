"""Reads assets, their versions, and the files and texts that belong to them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from rushes.domain.asset import Asset, Quality, QualityStatus
from rushes.domain.job import Status
from rushes.errors import Invalid, NotFound
from rushes.store.database import Row, Transaction
from rushes.store.jobs import HEX, SHORTEST

HINT = "rushes list shows them"


def get(tx: Transaction, asset_id: str) -> Asset:
    rows = tx.rows("asset", id=asset_id)
    if not rows:
        raise NotFound(f"there is no video {asset_id}", hint=HINT)
    return from_row(rows[0])


def find(tx: Transaction, text: str) -> str:
    """Return the id of the one asset whose id begins or ends with `text`; `@last` is the newest."""
    if text == "@last":
        rows: Sequence[Row] = tx.rows("newest_asset")
    elif len(text) < SHORTEST or not set(text) <= HEX:
        raise NotFound(f"{text!r} is not the id of a video", hint=HINT)
    else:
        rows = tx.rows("find_assets", starts=f"{text}%", ends=f"%{text}")
    if not rows:
        raise NotFound(f"there is no video {text}", hint=HINT)
    if len(rows) > 1:
        raise Invalid(f"{text!r} fits more than one video; give more characters")
    return str(rows[0]["id"])


def list_page(
    tx: Transaction, *, deleted: bool = False, before: str | None = None, limit: int = 50
) -> list[Asset]:
    """Return assets, newest first; `before` is the id of the last one of the page before."""
    rows = tx.rows("list_assets", deleted=deleted, before=before, n=limit)
    return [from_row(row) for row in rows]


def qualities(tx: Transaction, asset_id: str, version: int) -> list[Quality]:
    """Return the qualities of a version, the best first."""
    rows = tx.rows("renditions", asset_id=asset_id, version=version)
    return [_quality(row) for row in rows if row["channels"] == 0]


def texts(tx: Transaction, asset_id: str) -> list[dict[str, Any]]:
    """Return what was on the screen, in the order of time, each with its entities."""
    entities: dict[int, list[dict[str, Any]]] = {}
    for row in tx.rows("entities", asset_id=asset_id):
        entities.setdefault(row["span_id"], []).append(dict(row))
    rows = tx.rows("spans", asset_id=asset_id)
    return [{**dict(row), "entities": entities.get(row["id"], [])} for row in rows]


def from_row(row: Row) -> Asset:
    values = dict(row)
    tags = row["tags"]
    status = row["job_status"]
    return Asset(
        **{
            **values,
            "tags": tuple(json.loads(tags) if isinstance(tags, str) else tags),
            "newest": row["newest"] or 0,
            "job_status": None if status is None else Status(status),
        }
    )


def _quality(row: Row) -> Quality:
    return Quality(
        quality=row["name"],
        width=row["width"],
        height=row["height"],
        status=QualityStatus(row["status"]),
        segments_total=row["segments_total"],
        segments_completed=row["segments_completed"],
        started_at=row["started_at"],
        completed_at=row["completed_at"],
        error=row["error"],
    )
