"""What a person may do to a film besides making it: name it, delete it, take that back.

A deleted film is hidden at once and its jobs are stopped; its files stay until the time to restore
it is over (`collect.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from rushes.domain.asset import Asset
from rushes.domain.event import EventType
from rushes.domain.job import FINISHED, Status
from rushes.engine import operator
from rushes.engine.engine import millis
from rushes.engine.operator import Note, unnoted
from rushes.errors import ChangedMeanwhile, Conflict
from rushes.library import indexing
from rushes.library.library import Library
from rushes.library.news import tell
from rushes.library.upload import check_words
from rushes.store import assets
from rushes.store.database import Transaction


@dataclass(frozen=True, slots=True, kw_only=True)
class Deleted:
    """A film that is gone for now; `purged_at` is when it is gone for good."""

    asset: Asset
    purged_at: int
    stopped_job: str | None


def edit(
    library: Library,
    asset_id: str,
    *,
    title: str | None = None,
    tags: Sequence[str] | None = None,
    revision: int | None = None,
    now: int | None = None,
) -> Asset:
    """Change the title, the tags, or both. With `revision`, only if nobody did meanwhile."""
    check_words(title, tags or ())

    def work(tx: Transaction) -> Asset:
        asset = assets.get(tx, asset_id)
        if asset.deleted_at is not None:
            raise Conflict(f"video {asset_id} is deleted", hint="restore it first")
        changed = tx.rows(
            "edit_asset",
            id=asset_id,
            title=title or asset.title,
            tags=list(asset.tags if tags is None else dict.fromkeys(tags)),
            revision=revision,
        )
        if not changed:
            raise ChangedMeanwhile(
                f"video {asset_id} was changed meanwhile", revision=asset.revision
            )
        indexing.describe(tx, asset_id)
        tell(tx, EventType.VIDEO_CHANGED, asset_id)
        return assets.get(tx, asset_id)

    return library.db.transact(work, now=now)


def delete(
    library: Library,
    asset_id: str,
    *,
    by: str | None = None,
    note: Note = unnoted,
    now: int | None = None,
) -> Deleted:
    """Hide a film and stop the jobs that work on it. Raises Conflict if it is deleted.

    In this order: once it is hidden, nobody can begin another job.
    """

    def work(tx: Transaction) -> Asset:
        asset = assets.get(tx, asset_id)
        if not tx.rows("delete_asset", id=asset_id):
            raise Conflict(f"video {asset.id} is deleted already")
        indexing.hide(tx, asset_id)
        tell(tx, EventType.VIDEO_DELETED, asset_id)
        note(tx, f"video {asset_id}")
        return assets.get(tx, asset_id)

    asset = library.db.transact(work, now=now)
    stopped = active_job(library, asset_id)
    for job_id in filter(None, (stopped, *_clip_jobs(library, asset_id))):
        with suppress(Conflict):  # it ended by itself
            operator.kill(library.engine, job_id, name=by, reason="the video was deleted", now=now)
    return Deleted(asset=asset, purged_at=purged_at(library, asset), stopped_job=stopped)


def restore(
    library: Library, asset_id: str, *, note: Note = unnoted, now: int | None = None
) -> Asset:
    """Bring a deleted film back. Raises Conflict if it is not deleted."""

    def work(tx: Transaction) -> Asset:
        asset = assets.get(tx, asset_id)
        if not tx.rows("restore_asset", id=asset_id):
            raise Conflict(f"video {asset.id} is not deleted")
        indexing.show(tx, asset_id)
        tell(tx, EventType.VIDEO_RESTORED, asset_id)
        note(tx, f"video {asset_id}")
        return assets.get(tx, asset_id)

    return library.db.transact(work, now=now)


def purged_at(library: Library, asset: Asset) -> int:
    """Return when a deleted film is removed for good."""
    return (asset.deleted_at or 0) + millis(library.keep_deleted)


def active_job(library: Library, asset_id: str) -> str | None:
    """Return the one job that works on a film now."""

    def work(tx: Transaction) -> str | None:
        for version in tx.rows("versions", asset_id=asset_id):
            for job in tx.rows("job", id=version["job_id"]):
                if Status(job["status"]) not in FINISHED:
                    return str(job["id"])
        return None

    return library.db.read(work)


def _clip_jobs(library: Library, asset_id: str) -> list[str]:
    """Return the jobs that cut clips out of a film now."""
    return library.db.read(
        lambda tx: [row["id"] for row in tx.rows("open_clip_jobs", asset_id=asset_id)]
    )
