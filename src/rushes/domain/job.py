"""A job: what a person asked for, as a view of its tasks.

Status and progress are pure functions of the task rows. The store keeps the status in
`jobs.status` as well, for lists; `rushes doctor` compares the two.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from rushes.domain.task import FINAL, SkipReason, State


class Status(StrEnum):
    """The five words that every list, page, command and answer uses."""

    QUEUED = "queued"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    KILLED = "killed"


FINISHED = frozenset({Status.COMPLETED, Status.FAILED, Status.KILLED})


class TaskFacts(Protocol):
    """What status and progress read of a task."""

    @property
    def state(self) -> State: ...
    @property
    def step(self) -> str: ...
    @property
    def optional(self) -> bool: ...
    @property
    def lease_epoch(self) -> int: ...
    @property
    def progress(self) -> int: ...
    @property
    def skip_reason(self) -> str | None: ...


def status(tasks: Iterable[TaskFacts]) -> Status:
    """Return the status of the job that has these tasks.

    A job in backoff, or between two stages, is running. A required task in error fails
    the job only when nothing is left to do: its siblings go on to their end.
    """
    seen = list(tasks)
    if any(task.state is State.KILLED for task in seen):
        return Status.KILLED
    if all(task.state in FINAL for task in seen):
        broken = any(task.state is State.ERROR and not task.optional for task in seen)
        return Status.FAILED if broken else Status.COMPLETED
    started = any(task.lease_epoch > 0 for task in seen)
    return Status.RUNNING if started else Status.QUEUED


def progress(tasks: Iterable[TaskFacts], weights: Mapping[str, int]) -> int:
    """Return 0…100 of the job that has these tasks; see `percent`."""
    seen = list(tasks)
    by_step: dict[str, list[int]] = {}
    for task in seen:
        by_step.setdefault(task.step, []).append(_shown(task))
    means = {step: sum(values) / len(values) for step, values in by_step.items()}
    return percent(status(seen), means, {**dict.fromkeys(means, 1), **weights})


def percent(status: Status, means: Mapping[str, float], weights: Mapping[str, int]) -> int:
    """Return 0…100: the weighted mean over steps of the mean of their tasks.

    Never falls within a series of attempts, because no task's own progress does and a
    step that fans out had 0 before. 100 only when the job is completed.
    """
    if status is Status.COMPLETED:
        return 100
    total = sum(weights.values())
    reached = sum(weight * means.get(step, 0) for step, weight in weights.items())
    return min(99, int(reached / total)) if total else 0


def _shown(task: TaskFacts) -> int:
    skipped = task.state is State.SKIPPED and task.skip_reason == SkipReason.NOT_APPLICABLE
    return 100 if skipped or task.state is State.DONE else task.progress


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One row of `jobs`, as people look at it.

    `warnings` counts optional tasks that failed and what was `reported`: [{code, message}].
    """

    id: str
    kind: str
    label: str | None
    owner: str | None
    priority: int
    status: Status
    open_tasks: int
    failed_tasks: int
    warnings: int
    reported: list[dict[str, str]]
    version: int
    plan: dict[str, dict[str, object]]
    spec: str
    failure: str | None
    killed_by: str | None
    killed_by_name: str | None
    killed_at: int | None
    killed_reason: str | None
    progress_at_kill: str | None
    created_at: int
    updated_at: int
    started_at: int | None
    finished_at: int | None

    @property
    def weights(self) -> dict[str, int]:
        return {step: int(str(entry["weight"])) for step, entry in self.plan.items()}
