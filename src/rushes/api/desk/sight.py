"""A job and its film for whoever looks on, several times a second and with thousands of tasks."""

from __future__ import annotations

from rushes.api import views
from rushes.api.sight import Sight, sight
from rushes.domain.job import FINISHED, Job, Status
from rushes.library.library import Library
from rushes.media.rendition import MASTER
from rushes.store import assets, jobs
from rushes.store.database import Transaction


def look(tx: Transaction, library: Library, job: Job) -> Sight:
    """Return a job as it is now. A queued one has not much to be read."""
    if job.status is Status.QUEUED:
        return sight(views.job(job, percent=0), views.steps(job, ()))
    rows = tx.rows("step_states", job_id=job.id)
    steps = views.steps(job, ((row["step"], row["state"], row["n"]) for row in rows))
    told = views.job(job, percent=jobs.percent(tx, [job])[job.id])
    made = next(iter(tx.rows("version_of_job", job_id=job.id)), None)
    if made is None:
        return sight(told, steps)
    asset = assets.get(tx, made["asset_id"])
    playlist = library.storage.root / "assets" / asset.id / MASTER
    versions = tx.rows("versions", asset_id=asset.id)
    return sight(
        told,
        steps,
        views.video(asset),
        playlist=str(playlist) if playlist.exists() else None,
        is_laid_out=all(version["laid_out"] >= version["changes"] for version in versions),
        qualities=tuple(views.quality(one) for one in assets.qualities(tx, asset.id, made["n"])),
        texts=len(tx.rows("spans", asset_id=asset.id)) if job.status in FINISHED else 0,
    )
