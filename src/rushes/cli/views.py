"""Jobs, tasks, workers, events and videos as the JSON that every door answers with. Pure.

A job's answer is one record for the list and for the single job: always its status, and by its
status the progress, the result, the failure or the kill. Times are RFC 3339 in UTC.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from rushes.domain.asset import Asset, Quality
from rushes.domain.event import Event
from rushes.domain.job import Job, Status
from rushes.domain.task import State, Task, claim_state
from rushes.domain.waiting import Waiting
from rushes.domain.worker import Worker, presence

if TYPE_CHECKING:
    from rushes.cli.film import Film, Version
    from rushes.cli.progress import Sight

View = dict[str, object]

PROGRESS = (
    *("current", "total", "percent", "message", "phase"),
    *("batches_completed", "batches_total"),
)
FAILURE = (
    *("error", "error_code", "error_type", "failed_at", "failed_phase", "failed_batch"),
    *("progress_at_failure", "hint", "stack_trace"),
)
MILESTONES = (
    *("created_at", "updated_at", "playable_at", "ready_at", "searchable_at", "deleted_at"),
)


def rfc3339(milliseconds: int | None) -> str | None:
    """Return a time of the database as text.

    >>> rfc3339(1_767_268_800_250)
    '2026-01-01T12:00:00.250Z'
    """
    if milliseconds is None:
        return None
    moment = datetime.fromtimestamp(milliseconds / 1000, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def job_view(job: Job, *, percent: int, tasks: Sequence[Task] | None = None) -> View:
    """Return what a caller is told of a job. A list leaves the tasks out."""
    return {
        "job_id": job.id,
        "status": job.status,
        "job_type": job.kind,
        "label": job.label,
        "owner": job.owner,
        "priority": job.priority,
        "created_at": rfc3339(job.created_at),
        "updated_at": rfc3339(job.updated_at),
        "started_at": rfc3339(job.started_at),
        "finished_at": rfc3339(job.finished_at),
        "progress": progress_info(percent, tasks),
        "result": result_of(job, tasks or ()),
        **failure_info(job),
        **kill_info(job),
        "warnings": job.warnings,
        "raw_state": None if tasks is None else Counter(str(task.state) for task in tasks),
        "version": job.version,
    }


def progress_info(percent: int, tasks: Sequence[Task] | None) -> View:
    """Return how far a job is. Batches are the tasks of steps that have more than one."""
    if tasks is None:
        return {**dict.fromkeys(PROGRESS), "percent": percent}
    sizes = Counter(task.step for task in tasks)
    batches = [task for task in tasks if sizes[task.step] > 1]
    running = [task for task in tasks if task.state is State.RUNNING]
    latest = max(running, key=lambda task: task.progress_at or 0, default=None)
    return {
        "current": _done(tasks),
        "total": len(tasks),
        "percent": percent,
        "message": latest.message if latest else None,
        "phase": latest.phase if latest else None,
        "batches_completed": _done(batches),
        "batches_total": len(batches),
    }


def result_of(job: Job, tasks: Sequence[Task]) -> object:
    """Return what the last step of a completed job returned; of several last steps, each's own."""
    if job.status is not Status.COMPLETED or not tasks:
        return None
    parents = {str(parent) for entry in job.plan.values() for parent in _list(entry["after"])}
    last = {step: _results(tasks, step) for step in job.plan if step not in parents}
    return next(iter(last.values())) if len(last) == 1 else last


def failure_info(job: Job) -> View:
    """Return why a job failed: all fields, null unless it did."""
    record = json.loads(job.failure) if job.failure else {}
    told: View = {name: record.get(name) for name in FAILURE}
    progress = record.get("progress_at_failure")
    if progress is not None:
        batches = {"batches_completed": progress["processed"], "batches_total": progress["total"]}
        told["progress_at_failure"] = {**batches, **progress}
    place = {"failed_step": record.get("step"), "failed_task_id": record.get("task_id")}
    return {**told, **place, "failed_at": rfc3339(record.get("failed_at"))}


def kill_info(job: Job) -> View:
    """Return who stopped a job, when, why and how far it was: all fields, null unless killed."""
    return {
        "killed_by": job.killed_by,
        "killed_by_name": job.killed_by_name,
        "killed_at": rfc3339(job.killed_at),
        "killed_reason": job.killed_reason,
        "progress_at_kill": json.loads(job.progress_at_kill) if job.progress_at_kill else None,
    }


def asset_view(asset: Asset) -> View:
    """Return what a caller is told of a film. Times of the film are in milliseconds."""
    failure = json.loads(asset.failure) if asset.failure else {}
    return {
        "asset_id": asset.id,
        "status": asset.status,
        "title": asset.title,
        "tags": list(asset.tags),
        "filename": asset.filename,
        "bytes": asset.bytes,
        "sha256": asset.sha256,
        "duration_ms": asset.duration_ms,
        "version": asset.version,
        "newest_version": asset.newest,
        "revision": asset.revision,
        "job_id": asset.job_id,
        "job_status": asset.job_status,
        **{name: failure.get(name) for name in ("error", "error_code", "hint")},
        **{name: rfc3339(getattr(asset, name)) for name in MILESTONES},
    }


def film_view(film: Film) -> View:
    """Return one video in full. Of its versions, the last in the list is the newest."""
    return {
        **asset_view(film.asset),
        "percent": film.percent,
        "purged_at": rfc3339(film.purged_at),
        "width": film.size[0] if film.size else None,
        "height": film.size[1] if film.size else None,
        "decisions": [{"what": what, "why": why} for what, why in film.decisions],
        "versions": [_version_view(version) for version in film.versions],
        "texts": film.texts,
        "files": {
            "original": str(film.original),
            "playlist": str(film.playlist) if film.playlist else None,
            "folder": str(film.folder) if film.folder else None,
            "count": film.files,
            "bytes": film.bytes,
        },
    }


def quality_view(quality: Quality) -> View:
    return {
        "quality": quality.quality,
        "width": quality.width,
        "height": quality.height,
        "status": quality.status,
        "segments_total": quality.segments_total,
        "segments_completed": quality.segments_completed,
        "progress_percent": quality.progress_percent,
        "started_at": rfc3339(quality.started_at),
        "completed_at": rfc3339(quality.completed_at),
        "error_message": quality.error,
    }


def sight_view(sight: Sight) -> View:
    """Return how far a job is, with the film that it makes."""
    job, asset = sight.job, sight.asset
    return {
        "job_id": job.id,
        "label": job.label,
        "status": job.status,
        "percent": sight.percent,
        "waits_for": sight.waits_for,
        "steps": {step: dict(states) for step, states in sight.steps.items()},
        "asset_id": asset.id if asset else None,
        "playable_at": rfc3339(asset.playable_at) if asset else None,
        "playlist": str(sight.playlist) if sight.playlist else None,
        "qualities": [quality_view(quality) for quality in sight.qualities],
        "texts": sight.texts,
        "warnings": job.warnings,
        "damage": json.loads(asset.source)["damage"] if asset and asset.source else [],
        "finished_at": rfc3339(job.finished_at),
        **{name: failure_info(job)[name] for name in ("error", "error_code", "hint")},
        **kill_info(job),
    }


def task_view(task: Task, *, now: int) -> View:
    return {
        "task_id": task.id,
        "step": task.step,
        "item": task.item,
        "kind": task.kind,
        "lane": task.lane,
        "state": task.state,
        "claim_state": claim_state(task, now=now),
        "optional": task.optional,
        "priority": task.priority,
        "skip_reason": task.skip_reason,
        "attempt": task.attempt,
        "max_attempts": task.max_attempts,
        "lease_epoch": task.lease_epoch,
        "worker": name_of(task.lease_owner),
        "last_worker": name_of(task.last_owner),
        "lease_expires_at": rfc3339(task.lease_expires_at),
        "progress": task.progress,
        "phase": task.phase,
        "message": task.message,
        "created_at": rfc3339(task.created_at),
        "run_at": rfc3339(task.run_at),
        "ready_at": rfc3339(task.ready_at),
        "claimed_at": rfc3339(task.claimed_at),
        "progress_at": rfc3339(task.progress_at),
        "finished_at": rfc3339(task.finished_at),
        "params": json.loads(task.params),
        "result": json.loads(task.result) if task.result else None,
        "failure": _timed(json.loads(task.failure), "failed_at") if task.failure else None,
    }


def attempt_view(attempt: Mapping[str, object]) -> View:
    """Return a row of the history of attempts."""
    failure = attempt["failure"]
    return {
        **_timed(attempt, "claimed_at", "ended_at"),
        "worker": name_of(str(attempt["owner"])),
        "failure": _timed(failure, "failed_at") if isinstance(failure, dict) else None,
    }


def log_view(log: Mapping[str, object]) -> View:
    return {"type": "log", **_timed(log, "at")}


def execution_view(execution: Mapping[str, object]) -> View:
    """Return a program that a stage ran; `program` is what the stage calls it."""
    row = _timed(execution, "started_at")
    return {**row, "type": "execution", "program": execution["type"]}


def waiting_view(task: Task, waiting: Waiting | None, *, count: int = 1) -> View:
    """Return why a task, and `count` - 1 others like it, does not run."""
    return {
        "task_id": task.id,
        "step": task.step,
        "item": task.item,
        "state": task.state,
        "count": count,
        "reason": waiting.reason if waiting else None,
        "text": waiting.text if waiting else None,
        "until": rfc3339(waiting.until) if waiting else None,
        "workers": list(waiting.workers) if waiting else [],
    }


def event_view(event: Event) -> View:
    return {
        "event_id": int(event.cursor.rpartition("-")[2]),
        "at": rfc3339(event.at),
        "type": event.type,
        "job_id": event.job_id,
        "data": event.data,
    }


def worker_view(worker: Worker, *, now: int, offline_after: int) -> View:
    return {
        "worker_id": worker.id,
        "name": worker.name,
        "status": presence(worker, now=now, offline_after=offline_after),
        "mode": worker.mode,
        "type": worker.type,
        "hostname": worker.hostname,
        "version": worker.version,
        "load": worker.load,
        "slots": worker.slots,
        "lanes": worker.lanes,
        "capabilities": worker.capabilities,
        "kinds": worker.kinds,
        "metadata": worker.metadata,
        "started_at": rfc3339(worker.started_at),
        "last_heartbeat": rfc3339(worker.last_heartbeat),
        "tasks_done": worker.tasks_done,
        "tasks_failed": worker.tasks_failed,
    }


def name_of(owner: str | None) -> str | None:
    """Return the worker's name of an owner string.

    >>> name_of("gpu-1#9f2c01aa")
    'gpu-1'
    """
    return owner.partition("#")[0] if owner else None


def _version_view(version: Version) -> View:
    return {
        "version": version.n,
        "job_id": version.job_id,
        "created_at": rfc3339(version.created_at),
        "published_at": rfc3339(version.published_at),
        "superseded_at": rfc3339(version.superseded_at),
        "qualities": [quality_view(quality) for quality in version.qualities],
    }


def _done(tasks: Sequence[Task]) -> int:
    return sum(task.state is State.DONE for task in tasks)


def _results(tasks: Sequence[Task], step: str) -> object:
    results = [json.loads(task.result or "null") for task in tasks if task.step == step]
    return results[0] if len(results) == 1 else results


def _timed(row: Mapping[str, object], *columns: str) -> View:
    """Return a row with some of its columns as times."""
    times = {name: rfc3339(value) for name in columns if isinstance(value := row.get(name), int)}
    return {**row, **times}


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []
