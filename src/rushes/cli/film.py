"""One video in full, as `rushes show` reads it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rushes.cli.progress import playlist_path
from rushes.cli.reading import clock
from rushes.domain.artifact import name_of
from rushes.domain.asset import Asset, Quality
from rushes.library.edit import purged_at
from rushes.store import assets, jobs

if TYPE_CHECKING:
    from rushes.app import App
    from rushes.store.database import Row, Transaction


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """One version of a video: published, being made, or given up."""

    n: int
    job_id: str
    created_at: int
    published_at: int | None
    superseded_at: int | None
    qualities: list[Quality]


@dataclass(frozen=True, slots=True, kw_only=True)
class Film:
    """A video at one moment; `files` and `bytes` are those of the version to watch."""

    asset: Asset
    percent: int | None
    versions: list[Version]
    decisions: list[tuple[str, str]]
    size: tuple[int, int] | None
    original: Path
    playlist: Path | None
    folder: Path | None
    files: int
    bytes: int
    texts: int
    purged_at: int | None
    now: int


def read(app: App, asset_id: str) -> Film:
    return app.db.read(lambda tx: _read(tx, app, asset_id))


def _read(tx: Transaction, app: App, asset_id: str) -> Film:
    asset = assets.get(tx, asset_id)
    source = json.loads(asset.source) if asset.source else None
    watched = asset.watchable
    files = tx.rows("artifacts", asset_id=asset_id, version=watched) if watched else []
    root, playlist = app.library.storage.root, playlist_path(app.library, asset_id)
    return Film(
        asset=asset,
        percent=_percent(tx, asset),
        versions=[_version(tx, asset_id, row) for row in tx.rows("versions", asset_id=asset_id)],
        decisions=[(one["what"], one["why"]) for one in source["decisions"]] if source else [],
        size=_size(source["video"]) if source else None,
        original=root / asset.source_key,
        playlist=playlist if playlist.exists() else None,
        folder=root / name_of(asset_id, watched, "") if watched else None,
        files=len(files),
        bytes=sum(row["bytes"] for row in files),
        texts=len(tx.rows("spans", asset_id=asset_id)),
        purged_at=purged_at(app.library, asset) if asset.deleted_at is not None else None,
        now=clock(tx),
    )


def _percent(tx: Transaction, asset: Asset) -> int | None:
    if asset.job_id is None or not tx.rows("job", id=asset.job_id):
        return None
    return jobs.percent(tx, [jobs.get(tx, asset.job_id)])[asset.job_id]


def _version(tx: Transaction, asset_id: str, row: Row) -> Version:
    return Version(
        n=row["n"],
        job_id=row["job_id"],
        created_at=row["created_at"],
        published_at=row["published_at"],
        superseded_at=row["superseded_at"],
        qualities=assets.qualities(tx, asset_id, row["n"]),
    )


def _size(video: dict[str, int]) -> tuple[int, int]:
    return video["display_width"], video["display_height"]
