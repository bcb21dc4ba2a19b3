"""Why a task does not run: one reason out of a closed list, and what each worker says.

The refusals come from the very predicate that the claim uses; nothing here is stored.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from rushes.domain.room import ROOM, Room
from rushes.domain.task import FINAL, State, Task


class Reason(StrEnum):
    DEPENDENCY = "DEPENDENCY"
    BACKOFF = "BACKOFF"
    SCHEDULED = "SCHEDULED"
    QUEUE_PAUSED = "QUEUE_PAUSED"
    NO_CAPABLE_WORKER = "NO_CAPABLE_WORKER"
    WORKERS_OFFLINE = "WORKERS_OFFLINE"
    WORKERS_DRAINING = "WORKERS_DRAINING"
    STORAGE_LOW = "STORAGE_LOW"
    GPU_PREFERRED = "GPU_PREFERRED"
    WORKERS_BUSY = "WORKERS_BUSY"
    PRIORITY = "PRIORITY"
    LEASE_PENDING_RECOVERY = "LEASE_PENDING_RECOVERY"
    STARTUP_GRACE = "STARTUP_GRACE"


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """One worker's answer. `reason` None: it may take the task as soon as it has room."""

    worker: str
    reason: str | None
    lacks: tuple[str, ...]
    slots: int
    held: int
    last_heartbeat: int
    room: Room | None = None

    @property
    def is_full(self) -> bool:
        return self.held >= self.slots

    @property
    def is_cramped(self) -> bool:
        """Whether room on its disk is all that it lacks."""
        return self.lacks == (ROOM,) and self.room is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """The place in the queue of a ready task."""

    ahead: int
    higher: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    by: str
    reason: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """The headline, a sentence, when it may change, and one line per worker."""

    reason: Reason
    text: str
    until: int | None = None
    workers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What the answer is made of; all of it read in one transaction."""

    now: int
    parents: Sequence[Task] = ()
    refusals: Sequence[Refusal] = ()
    line: Line | None = None
    pause: Pause | None = None
    grace_until: int | None = None
    gpu_until: int = 0
    late_ms: int = 0


def explain(task: Task, facts: Facts) -> Waiting | None:
    """Return why `task` does not run, or None when nothing holds it."""
    match task.state:
        case State.NEW:
            return _not_yet(task, facts)
        case State.READY:
            return _not_claimed(task, facts)
        case State.RUNNING:
            return _silent(task, facts)
        case _:
            return None


def _not_yet(task: Task, facts: Facts) -> Waiting:
    if steps := list(_open_steps(facts.parents)):
        more = f" and {len(steps) - 3} more" if len(steps) > 3 else ""
        return Waiting(reason=Reason.DEPENDENCY, text=f"waits for {', '.join(steps[:3])}{more}")
    if task.failure:
        code = json.loads(task.failure)["error_code"]
        text = f"attempt {task.attempt + 1}/{task.max_attempts} follows {code}"
        return Waiting(reason=Reason.BACKOFF, text=text, until=task.run_at)
    text = "starts at its time" if task.run_at > facts.now else "starts now"
    return Waiting(reason=Reason.SCHEDULED, text=text, until=task.run_at)


def _open_steps(parents: Sequence[Task]) -> Iterator[str]:
    """Yield how far each step is that has not ended, as one, however many tasks it has."""
    steps: dict[str, list[Task]] = {}
    for parent in parents:
        steps.setdefault(parent.step, []).append(parent)
    for name, tasks in steps.items():
        ended = sum(task.state in FINAL for task in tasks)
        if ended < len(tasks):
            far = f"{ended} of {len(tasks)} done" if len(tasks) > 1 else f"{tasks[0].progress} %"
            yield f"{name} ({far})"


def _silent(task: Task, facts: Facts) -> Waiting | None:
    expires = task.lease_expires_at or 0
    if expires > facts.now:
        return None
    if facts.grace_until is not None and facts.grace_until > facts.now:
        text = "everything stood still; workers may renew their leases first"
        return Waiting(reason=Reason.STARTUP_GRACE, text=text, until=facts.grace_until)
    text = f"{task.lease_owner} is silent; the task is given to another worker"
    return Waiting(reason=Reason.LEASE_PENDING_RECOVERY, text=text, until=expires)


def _not_claimed(task: Task, facts: Facts) -> Waiting | None:
    if facts.pause is not None:
        because = f": {facts.pause.reason}" if facts.pause.reason else ""
        text = f"{task.kind} is paused by {facts.pause.by}{because}"
        return Waiting(reason=Reason.QUEUE_PAUSED, text=text)
    told = tuple(f"{refusal.worker}: {_says(refusal, facts)}" for refusal in facts.refusals)
    able = [refusal for refusal in facts.refusals if not refusal.lacks or refusal.is_cramped]
    live = [refusal for refusal in able if not _is_late(refusal, facts)]
    willing = [refusal for refusal in live if refusal.reason is None]
    behind = _behind(willing, facts.line, told) if willing else None
    is_left = any(refusal.reason == Reason.GPU_PREFERRED for refusal in live)
    if behind is not None or (willing and not is_left):
        return behind
    reason, text = _nobody(task, facts, able, live)
    until = facts.gpu_until if reason is Reason.GPU_PREFERRED else None
    return Waiting(reason=reason, text=text, until=until, workers=told)


def _nobody(
    task: Task, facts: Facts, able: Sequence[Refusal], live: Sequence[Refusal]
) -> tuple[Reason, str]:
    """Why no worker would take the task, the furthest from hope first."""
    if not facts.refusals:
        return Reason.NO_CAPABLE_WORKER, "no worker is running"
    if not able:
        return Reason.NO_CAPABLE_WORKER, f"no worker has all that {task.kind} needs"
    if not live:
        seen = max(refusal.last_heartbeat for refusal in able)
        ago = (facts.now - seen) // 1000
        return Reason.WORKERS_OFFLINE, f"the last capable worker was seen {ago} s ago"
    if any(refusal.reason == Reason.GPU_PREFERRED for refusal in live):
        return Reason.GPU_PREFERRED, "left to a free worker that has what it prefers"
    cramped = [refusal for refusal in live if refusal.reason == Reason.NO_CAPABLE_WORKER]
    if cramped:
        return Reason.STORAGE_LOW, f"the disk is nearly full: {cramped[0].room}"
    return Reason.WORKERS_DRAINING, "every capable worker is draining or disabled"


def _behind(willing: Sequence[Refusal], line: Line | None, told: tuple[str, ...]) -> Waiting | None:
    if all(refusal.is_full for refusal in willing):
        ahead = line.ahead if line else 0
        n = len(willing)
        full = "the capable worker is full" if n == 1 else f"all {n} capable workers are full"
        text = f"{full}; number {ahead + 1} in line"
        return Waiting(reason=Reason.WORKERS_BUSY, text=text, workers=told)
    if line and line.ahead:
        text = f"{line.ahead} tasks are first, {line.higher} of them of higher priority"
        return Waiting(reason=Reason.PRIORITY, text=text, workers=told)
    return None


def _is_late(refusal: Refusal, facts: Facts) -> bool:
    return facts.now - refusal.last_heartbeat > facts.late_ms


def _says(refusal: Refusal, facts: Facts) -> str:
    if refusal.lacks and not refusal.is_cramped:
        return "lacks " + ", ".join(need.removeprefix("stage:") for need in refusal.lacks)
    if _is_late(refusal, facts):
        return f"silent for {(facts.now - refusal.last_heartbeat) // 1000} s"
    if refusal.reason == Reason.NO_CAPABLE_WORKER:
        return str(refusal.room)
    if refusal.reason == Reason.WORKERS_DRAINING:
        return "takes nothing new"
    if refusal.reason is not None:
        return refusal.reason.lower().replace("_", " ")
    return f"full ({refusal.held}/{refusal.slots})" if refusal.is_full else "free"
