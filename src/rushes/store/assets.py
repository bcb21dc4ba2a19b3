"""Reads assets, their versions, and the files and texts that belong to them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from rushes.domain.asset import Asset, AssetStatus, Quality, QualityStatus, status_of
from rushes.domain.job import Status
from rushes.errors import Invalid, NotFound
from rushes.store.database import Row, Transaction
from rushes.store.jobs import HEX, SHORTEST, WHOLE, is_id

HINT = "rushes list shows them"


def get(tx: Transaction, asset_id: str) -> Asset:
    rows = tx.rows("asset", id=asset_id)
    if not rows:
        raise NotFound(f"there is no video {asset_id}", hint=HINT)
    return from_row(rows[0])


def find(tx: Transaction, text: str, *, owner: str | None = None) -> str:
    """Return the id of the one asset whose id begins or ends with `text`; `@last` is the newest.

    With `owner`, of his assets: those of others are not there.
    """
    if text == "@last":
        rows: Sequence[Row] = tx.rows("newest_asset", owner=owner)
    elif len(text) < SHORTEST or not set(text) <= HEX:
        raise NotFound(f"{text!r} is not the id of a video", hint=HINT)
    elif len(text) >= WHOLE:
        rows = tx.rows("whole_asset", id=text, owner=owner) if is_id(text) else ()
    else:
        rows = tx.rows("find_assets", starts=f"{text}%", ends=f"%{text}", owner=owner)
    if not rows:
        raise NotFound(f"there is no video {text}", hint=HINT)
    if len(rows) > 1:
        raise Invalid(f"{text!r} fits more than one video; give more characters")
    return str(rows[0]["id"])


def list_page(
    tx: Transaction,
    *,
    deleted: bool = False,
    after: str | None = None,
    oldest: bool = False,
    owner: str | None = None,
    limit: int = 50,
) -> list[Asset]:
    """Return assets, newest first or `oldest`; `after` is the last one of the page before."""
    statement = "list_oldest_assets" if oldest else "list_assets"
    rows = tx.rows(statement, deleted=deleted, after=after, owner=owner, n=limit)
    return [from_row(row) for row in rows]


def counts(tx: Transaction, *, owner: str | None = None) -> tuple[Counter[AssetStatus], int]:
    """Return how many assets there are of each status, and how many ms they last together."""
    found, duration_ms = Counter(dict.fromkeys(AssetStatus, 0)), 0
    for row in tx.rows("count_assets", owner=owner):
        job_status = Status(row["job_status"]) if row["job_status"] else None
        found[status_of(job_status, is_ready=bool(row["is_ready"]))] += row["n"]
        duration_ms += row["duration_ms"]
    return found, duration_ms


def text_counts(tx: Transaction, asset_ids: Sequence[str]) -> dict[str, int]:
    """Return how many texts were read in each of these assets; those without one are left out."""
    wanted = [{"id": asset_id} for asset_id in asset_ids]
    return {str(row["asset_id"]): row["n"] for row in tx.rows("count_spans", assets=wanted)}


def qualities(tx: Transaction, asset_id: str, version: int) -> list[Quality]:
    """Return the qualities of a version, the best first."""
    rows = tx.rows("renditions", asset_id=asset_id, version=version)
    found = [_quality(row) for row in rows if row["channels"] == 0]
    if not tx.rows("chunk_in_work", asset_id=asset_id, n=version):
        return found
    begun = {QualityStatus.PENDING: QualityStatus.IN_PROGRESS}  # no segment is whole yet
    return [replace(one, status=begun.get(one.status, one.status)) for one in found]


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
