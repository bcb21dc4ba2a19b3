"""Jobs, tasks, workers, events and videos as the answers of models.py. Pure."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rushes.api import models
from rushes.domain.asset import Asset, Quality
from rushes.domain.event import Event
from rushes.domain.job import Job, Status
from rushes.domain.readable import readable
from rushes.domain.task import State, Task, claim_state
from rushes.domain.waiting import Waiting
from rushes.domain.worker import Worker, presence

Fields = dict[str, Any]

FOLDERS = re.compile(r"""(?<![\w.~/])/(?:[^/\s"']+/)+""")
"""The beginning of a path from the root, up to the last name."""

SAME_OF_JOB = (
    *("status", "label", "owner", "priority", "created_at", "updated_at", "started_at"),
    *("finished_at", "warnings", "reported", "version"),
)
SAME_OF_TASK = (
    *("step", "item", "kind", "lane", "state", "optional", "priority", "skip_reason", "attempt"),
    *("max_attempts", "lease_epoch", "lease_expires_at", "progress", "phase", "message"),
    *("created_at", "run_at", "ready_at", "claimed_at", "progress_at", "finished_at"),
)
SAME_OF_ASSET = (
    *("status", "title", "tags", "filename", "bytes", "sha256", "duration_ms", "version"),
    *("revision", "job_id", "job_status", "created_at", "updated_at", "playable_at", "ready_at"),
    *("searchable_at", "deleted_at"),
)
SAME_OF_QUALITY = (
    *("quality", "width", "height", "status", "segments_total", "segments_completed"),
    *("progress_percent", "started_at", "completed_at"),
)
SAME_OF_WORKER = (
    *("name", "mode", "type", "hostname", "version", "load", "slots", "lanes", "capabilities"),
    *("kinds", "metadata", "started_at", "last_heartbeat", "tasks_done", "tasks_failed"),
)
FAILURE = (
    *("error", "error_code", "error_type", "failed_at", "failed_phase", "failed_batch"),
    *("progress_at_failure", "hint", "retryable", "stack_trace"),
)


def job(
    found: Job,
    *,
    percent: int,
    tasks: Sequence[Task] | None = None,
    work: models.Work | None = None,
) -> models.Job:
    """Return what a caller is told of a job. A list leaves the tasks out."""
    return models.Job(**job_fields(found, percent=percent, tasks=tasks), work=work)


def job_fields(found: Job, *, percent: int, tasks: Sequence[Task] | None) -> Fields:
    return {
        **_same(found, SAME_OF_JOB),
        "job_id": found.id,
        "job_type": found.kind,
        "progress": progress(percent, tasks),
        "result": result_of(found, tasks or ()),
        **failure(found),
        **kill(found),
        "raw_state": None if tasks is None else Counter(str(task.state) for task in tasks),
    }


def steps(found: Job, states: Iterable[tuple[str, str, int]]) -> dict[str, dict[str, int]]:
    """Return {step: {state: tasks}} in the order of the plan."""
    counted: dict[str, dict[str, int]] = {step: {} for step in found.plan}
    for step, state, n in states:
        counts = counted.setdefault(step, {})
        counts[state] = counts.get(state, 0) + n
    return counted


def plan(found: Job) -> dict[str, models.Planned]:
    """Return the steps as they were planned."""
    return {
        step: models.Planned(after=list(map(str, _list(entry["after"]))), weight=weight)
        for (step, entry), weight in zip(found.plan.items(), found.weights.values(), strict=True)
    }


def progress(percent: int, tasks: Sequence[Task] | None) -> models.Progress:
    if tasks is None:
        return models.Progress(percent=percent)
    sizes = Counter(task.step for task in tasks)
    batches = [task for task in tasks if sizes[task.step] > 1]
    running = [task for task in tasks if task.state is State.RUNNING]
    latest = max(running, key=lambda task: task.progress_at or 0, default=None)
    return models.Progress(
        current=_done(tasks),
        total=len(tasks),
        percent=percent,
        message=latest.message if latest else None,
        phase=latest.phase if latest else None,
        batches_completed=_done(batches),
        batches_total=len(batches),
    )


def result_of(found: Job, tasks: Sequence[Task]) -> object:
    """Return what the last step of a completed job returned; of several last steps, each's own."""
    if found.status is not Status.COMPLETED or not tasks:
        return None
    parents = {str(parent) for entry in found.plan.values() for parent in _list(entry["after"])}
    last = {step: _results(tasks, step) for step in found.plan if step not in parents}
    return next(iter(last.values())) if len(last) == 1 else last


def failure(found: Job) -> Fields:
    """Return why a job failed: all fields, None unless it did."""
    record = json.loads(found.failure) if found.failure else {}
    told: Fields = {name: record.get(name) for name in FAILURE}
    reached = record.get("progress_at_failure")
    if reached is not None:
        batches = {"batches_completed": reached["processed"], "batches_total": reached["total"]}
        told["progress_at_failure"] = {**batches, **reached}
    return {**told, "failed_step": record.get("step"), "failed_task_id": record.get("task_id")}


def kill(found: Job) -> Fields:
    """Return who stopped a job, when, why and how far it was: all fields, None unless killed."""
    return {
        **_same(found, ("killed_by", "killed_by_name", "killed_at", "killed_reason")),
        "progress_at_kill": json.loads(found.progress_at_kill) if found.progress_at_kill else None,
    }


def task(found: Task, *, now: int) -> models.Task:
    return models.Task(
        **_same(found, SAME_OF_TASK),
        task_id=found.id,
        claim_state=claim_state(found, now=now),
        worker=name_of(found.lease_owner),
        last_worker=name_of(found.last_owner),
        params=readable(found.params, {}),
        result=json.loads(found.result) if found.result else None,
        failure=_told_failure(json.loads(found.failure)) if found.failure else None,
    )


def attempt(row: Mapping[str, Any]) -> models.Attempt:
    """Return a row of the history of attempts."""
    told = {**row, "worker": name_of(str(row["owner"]))}
    told["failure"] = _told_failure(row["failure"]) if isinstance(row["failure"], dict) else None
    return models.Attempt(**told)


def quality(found: Quality) -> models.Quality:
    return models.Quality(**_same(found, SAME_OF_QUALITY), error_message=found.error)


def waiting(found: Task, reason: Waiting | None, *, count: int = 1) -> models.Waiting:
    """Return why a task, and `count` - 1 others like it, does not run."""
    return models.Waiting(
        **_same(found, ("step", "item", "state")),
        task_id=found.id,
        count=count,
        reason=reason.reason if reason else None,
        text=reason.text if reason else None,
        until=models.moment(reason.until) if reason and reason.until else None,
        workers=list(reason.workers) if reason else [],
    )


def event(found: Event) -> models.Event:
    return models.Event(
        **_same(found, ("at", "type", "job_id", "data")),
        event_id=int(found.cursor.rpartition("-")[2]),
    )


def log(row: Mapping[str, Any]) -> Fields:
    """Return a line that a stage wrote."""
    return {"type": "log", **row, "at": _text(row["at"])}


def execution(row: Mapping[str, Any]) -> Fields:
    """Return a program that a stage ran; `program` is what the stage calls it."""
    started = _text(row["started_at"])
    return {**row, "type": "execution", "program": row["type"], "started_at": started}


def without_places(value: Any) -> Any:
    """Return what was logged with the names of files, and not the folders of the machine.

    >>> without_places(
    ...     {"command": ["-i", "file:/srv/objects/7/a.mp4", "30000/1001"], "exit_code": 1}
    ... )
    {'command': ['-i', 'file:a.mp4', '30000/1001'], 'exit_code': 1}
    """
    if isinstance(value, str):
        return FOLDERS.sub("", value)
    if isinstance(value, list):
        return [without_places(one) for one in value]
    if isinstance(value, dict):
        return {name: without_places(one) for name, one in value.items()}
    return value


def worker(
    found: Worker, *, now: int, offline_after: int, holds: Iterable[Mapping[str, Any]]
) -> models.Worker:
    return models.Worker(
        **_same(found, SAME_OF_WORKER),
        **(found.usage._asdict() if found.usage else {}),
        worker_id=found.id,
        holds=[models.Held(**row) for row in holds],
        status=presence(found, now=now, offline_after=offline_after),
    )


def video(found: Asset, **more: Any) -> models.Video:
    """Return what a caller is told of a video; `more` is what its own row does not know."""
    return models.Video(**video_fields(found), **more)


def video_fields(found: Asset) -> Fields:
    record = json.loads(found.failure) if found.failure else {}
    source = json.loads(found.source) if found.source else None
    return {
        **_same(found, SAME_OF_ASSET),
        "width": source["video"]["display_width"] if source else None,
        "height": source["video"]["display_height"] if source else None,
        "asset_id": found.id,
        "newest_version": found.newest,
        **{name: record.get(name) for name in ("error", "error_code", "hint")},
    }


def name_of(owner: str | None) -> str | None:
    """Return the worker's name of an owner string.

    >>> name_of("gpu-1#9f2c01aa")
    'gpu-1'
    """
    return owner.partition("#")[0] if owner else None


def _same(found: object, names: Sequence[str]) -> Fields:
    return {name: getattr(found, name) for name in names}


def _told_failure(record: Mapping[str, Any]) -> Fields:
    """Return a failure with its time as people read it."""
    return {**record, "failed_at": _text(record.get("failed_at"))}


def _text(milliseconds: int | None) -> str | None:
    if milliseconds is None:
        return None
    return models.rfc3339(models.moment(milliseconds))


def _done(tasks: Sequence[Task]) -> int:
    return sum(task.state is State.DONE for task in tasks)


def _results(tasks: Sequence[Task], step: str) -> object:
    results = [json.loads(task.result or "null") for task in tasks if task.step == step]
    return results[0] if len(results) == 1 else results


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []
