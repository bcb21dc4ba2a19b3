"""What the engine should do, as a dict of tasks: the model that the state machine compares with.

Written from the documents, not from the code: it has no counters, no SQL and no batches. A
task knows the parents in its way; whoever ends looks at its children. The model is told only
what it cannot know: the numbers of new tasks, and how long a jittered backoff really is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import timedelta

from rushes.domain.graph import Boost, JobRequest, Step
from rushes.domain.kind import Kind
from rushes.domain.outcome import Done, Failed, HandedBack, Outcome

DAY = 24 * 3600 * 1000
LEASE, GPU_GRACE, LATE = 60_000, 10_000, 45_000
LOSSES = 3

KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind(name="noop", short=True),
        Kind(name="split"),
        Kind(name="part"),
        Kind(name="join"),
        Kind(name="stalls", stall=timedelta(seconds=20)),
        Kind(name="overruns", hard_limit=timedelta(seconds=40)),
        Kind(name="gpu", lane="gpu", needs=frozenset({"gpu"})),
        Kind(name="encode", prefers=frozenset({"gpu"})),
    )
}

FINAL = frozenset({"done", "error", "killed", "skipped"})
OPEN = frozenset({"new", "ready", "running"})


@dataclass(eq=False, slots=True)
class Task:
    job: Job
    step: str
    item: int
    kind: Kind
    optional: bool
    max_attempts: int
    priority: int
    wait_ms: int
    run_at: int
    each: str | None
    parents: list[Task] = field(default_factory=list)
    in_the_way: set[Task] = field(default_factory=set)
    id: int | None = None
    state: str = "new"
    epoch: int = 0
    attempt: int = 0
    losses: int = 0
    owner: str | None = None
    lease_until: int | None = None
    claimed_at: int = 0
    progress_at: int = 0
    due_at: int | None = None
    ready_at: int | None = None
    progress: int = 0
    skip_reason: str | None = None
    brings: int = 0
    backoff: tuple[int, int] | None = None
    """Between what times `run_at` is, until the row has said it."""

    @property
    def lets_children_go_on(self) -> bool:
        return (
            self.state == "done"
            or self.skip_reason == "not_applicable"
            or (self.state == "error" and self.optional)
        )

    @property
    def breaks_children(self) -> bool:
        return self.state in ("error", "skipped") and not self.lets_children_go_on

    @property
    def children(self) -> list[Task]:
        return [task for task in self.job.tasks if self in task.parents]

    def row(self) -> dict[str, object]:
        """What the row of the task must say."""
        is_new = self.state == "new"
        return {
            "id": self.id,
            "job_id": self.job.id,
            "state": self.state,
            "lease_epoch": self.epoch,
            "attempt": self.attempt,
            "losses": self.losses if self.state in OPEN else None,
            "lease_owner": self.owner,
            "lease_expires_at": self.lease_until,
            "open_parents": len(self.in_the_way) if is_new else None,
            "run_at": self.run_at if is_new else None,
            "due_at": self.due_at if self.state in OPEN else None,
            "progress": self.progress,
            "skip_reason": self.skip_reason,
            "fans_out": self.each is not None if is_new else None,
        }


@dataclass(eq=False, slots=True)
class Job:
    id: str
    request: JobRequest
    tasks: list[Task] = field(default_factory=list)

    @property
    def status(self) -> str:
        states = {task.state for task in self.tasks}
        if "killed" in states:
            return "killed"
        if states <= FINAL:
            return "failed" if self._errors(optional=False) else "completed"
        return "running" if any(task.epoch for task in self.tasks) else "queued"

    @property
    def is_active(self) -> bool:
        return self.status in ("queued", "running")

    def row(self) -> dict[str, object]:
        return {
            "id": self.id,
            "status": self.status,
            "open_tasks": sum(task.state in OPEN for task in self.tasks),
            "failed_tasks": self._errors(optional=False),
            "warnings": self._errors(optional=True),
        }

    def _errors(self, *, optional: bool) -> int:
        return sum(task.state == "error" and task.optional is optional for task in self.tasks)


@dataclass(slots=True)
class Worker:
    id: str
    name: str
    owner: str
    lanes: dict[str, int]
    offers: frozenset[str]
    seen_at: int
    mode: str = "active"

    def can(self, task: Task, extra: frozenset[str] = frozenset()) -> bool:
        return task.kind.needs | extra <= self.offers


class Model:
    def __init__(self, now: int) -> None:
        self.now = now
        self.jobs: dict[str, Job] = {}
        self.tasks: dict[int, Task] = {}
        self.workers: dict[str, Worker] = {}
        self.paused: set[str] = set()
        self.keys: dict[str, Job] = {}
        self.recovered_at: int | None = None
        self.grace_until: int | None = None
        self.ended: dict[tuple[int | None, int], tuple[str, str | None]] = {}
        self.demoted: set[tuple[int, int]] = set()  # completions that could not be accepted
        self.unnumbered: list[Task] = []

    # Jobs come.

    def rival(self, request: JobRequest) -> Job | None:
        """The active job of the same dedupe key."""
        key = request.dedupe_key
        found = [job for job in self.jobs.values() if job.request.dedupe_key == key]
        return next((job for job in found if job.is_active), None) if key else None

    def submit(self, id: str, request: JobRequest) -> None:
        job = self.jobs[id] = Job(id, request)
        for name, step in request.steps.items():
            for item in range(len(step.items or [None])):
                self._add(job, name, step, item)
        for task in job.tasks:
            after = request.steps[task.step].after
            task.parents = [parent for parent in job.tasks if parent.step in after]
            task.in_the_way = set(task.parents)
            if not task.in_the_way and task.run_at <= self.now:
                self._make_ready(task)

    def _add(self, job: Job, name: str, step: Step, item: int) -> Task:
        kind = KINDS[step.kind or name]
        priority = min(10, max(0, job.request.priority + step.priority - 5))
        task = Task(
            job=job,
            step=name,
            item=item,
            kind=kind,
            optional=step.optional,
            max_attempts=step.max_attempts or kind.max_attempts,
            priority=priority,
            wait_ms=_wait(priority, step, item),
            run_at=job.request.run_at or self.now,
            each=step.each,
        )
        job.tasks.append(task)
        self.unnumbered.append(task)
        return task

    def number(self, rows: Iterable[dict[str, object]]) -> None:
        """Give new tasks the numbers that the database gave them."""
        ids = {(row["job_id"], row["step"], row["item"]): row["id"] for row in rows}
        for task in self.unnumbered:
            task.id = ids[task.job.id, task.step, task.item]  # type: ignore[assignment]
            self.tasks[task.id] = task  # type: ignore[index]
        self.unnumbered = []

    # Workers work.

    def claim(self, owner: str, want: dict[str, int]) -> list[Task]:
        """Claim; returns what the worker must get, in order."""
        worker = next((one for one in self.workers.values() if one.owner == owner), None)
        claimed: list[Task] = []
        for lane, n in want.items() if worker else ():
            held = {one.owner: self.held(one.owner, lane) for one in self.workers.values()}
            fit = [task for task in self._all("ready") if self._may_take(worker, task, lane, held)]
            taken = sorted(fit, key=_place)[:n]
            for task in taken:
                self._start(task, owner)
            claimed += taken
        return sorted(claimed, key=_place)

    def held(self, owner: str, lane: str) -> int:
        return sum(task.owner == owner and task.kind.lane == lane for task in self._all("running"))

    def _may_take(self, worker: Worker, task: Task, lane: str, held: dict[str, int]) -> bool:
        if task.kind.lane != lane or worker.mode != "active" or task.kind.name in self.paused:
            return False
        if not worker.can(task) or worker.can(task, task.kind.prefers):
            return worker.can(task)
        return (task.ready_at or 0) + GPU_GRACE <= self.now or not any(
            other.mode == "active"
            and other.seen_at > self.now - LATE
            and other.can(task, task.kind.prefers)
            and other.lanes.get(lane, 0) > held[other.owner]
            for other in self.workers.values()
        )

    def _start(self, task: Task, owner: str) -> None:
        task.state, task.owner, task.lease_until = "running", owner, self.now + LEASE
        task.epoch, task.attempt = task.epoch + 1, task.attempt + 1
        task.claimed_at = task.progress_at = self.now

    def holds(self, owner: str, id: int, epoch: int) -> bool:
        task = self.tasks[id]
        return (task.state, task.owner, task.epoch) == ("running", owner, epoch)

    def beat(
        self, owner: str, id: int, epoch: int, *, progress: int, moved: bool, saved: bool
    ) -> str | None:
        """Renew a lease. Returns what the worker must hear."""
        task = self.tasks[id]
        if not self.holds(owner, id, epoch):
            return "killed" if task.state == "killed" else "lost"
        task.lease_until = self.now + LEASE
        task.progress = max(task.progress, progress)
        task.progress_at = self.now if moved else task.progress_at
        task.losses = 0 if saved else task.losses
        return None

    def report(self, owner: str, outcomes: Iterable[Outcome]) -> set[int]:
        """End attempts. Returns the tasks whose outcome must be refused."""
        accepted: set[int] = set()
        ended: list[Task] = []
        for sort in (Done, Failed, HandedBack):
            for outcome in (one for one in outcomes if isinstance(one, sort)):
                if self.holds(owner, outcome.id, outcome.epoch):
                    self._end_attempt(self.tasks[outcome.id], outcome)
                    accepted.add(outcome.id)
                    ended.append(self.tasks[outcome.id])
        self._settle([task for task in ended if task.state in FINAL])
        accepted |= {one.id for one in outcomes if self._was_accepted(owner, one)}
        return {one.id for one in outcomes} - accepted

    def _was_accepted(self, owner: str, outcome: Outcome) -> bool:
        words = {Done: ["done"], Failed: ["error", "new"], HandedBack: ["ready"]}[type(outcome)]
        end, by = self.ended.get((outcome.id, outcome.epoch), ("", None))
        was_demoted = isinstance(outcome, Done) and (outcome.id, outcome.epoch) in self.demoted
        return by == owner and (end in words or was_demoted)

    def _end_attempt(self, task: Task, outcome: Outcome) -> None:
        brings = _brings(task, outcome) if isinstance(outcome, Done) else None
        retryable = isinstance(outcome, Failed) and outcome.failure.retryable
        if isinstance(outcome, HandedBack):
            self._free(task, "ready")
            task.attempt -= 1
            return
        task.losses = 0
        if isinstance(outcome, Done) and brings is None:
            self.demoted.add((task.id, task.epoch))
        if brings is not None:
            task.brings, task.progress = brings, 100
            self._free(task, "done")
        elif retryable and task.attempt < task.max_attempts:
            delay = task.kind.backoff.delay(task.attempt).total_seconds() * 1000
            task.backoff = (self.now + int(0.8 * delay), self.now + int(1.2 * delay) + 1)
            self._free(task, "new")
        else:
            self._free(task, "error")

    def _free(self, task: Task, state: str) -> None:
        """The lease is gone."""
        self.ended[task.id, task.epoch] = (state, task.owner)
        task.state, task.owner, task.lease_until = state, None, None
        if state == "ready":
            task.ready_at = self.now

    # What follows.

    def _settle(self, ended: list[Task]) -> None:
        while ended:
            before, ended = ended, []
            for task in before:
                for child in [one for one in task.children if one.state == "new"]:
                    if task.breaks_children:
                        self._skip(child, "upstream_failed")
                        ended.append(child)
                    elif task in child.in_the_way:
                        child.in_the_way.remove(task)
                        ended += self._go_on(child)

    def _go_on(self, task: Task) -> list[Task]:
        """Let a task start that has nothing in its way. Returns it if it turns out not needed."""
        if task.in_the_way:
            return []
        if task.each is not None:
            return self._fan_out(task)
        if task.run_at <= self.now:
            self._make_ready(task)
        return []

    def _fan_out(self, task: Task) -> list[Task]:
        n = sum(parent.brings for parent in task.parents)
        if n == 0:
            self._skip(task, "not_applicable")
            return [task]
        children, task.each = task.children, None
        step = task.job.request.steps[task.step]
        for item in range(1, n):
            sibling = self._add(task.job, task.step, step, item)
            sibling.each, sibling.run_at, sibling.priority = None, task.run_at, task.priority
            sibling.wait_ms = _wait(task.priority, step, item)
            for child in children:
                child.parents.append(sibling)
                if child.state == "new":
                    child.in_the_way.add(sibling)
            self._go_on(sibling)
        self._go_on(task)
        return []

    def _make_ready(self, task: Task) -> None:
        task.state, task.ready_at = "ready", self.now
        task.due_at = task.due_at if task.due_at is not None else self.now + task.wait_ms

    def _skip(self, task: Task, reason: str) -> None:
        task.state, task.skip_reason = "skipped", reason

    def _all(self, *states: str) -> list[Task]:
        tasks = [task for job in self.jobs.values() for task in job.tasks]
        return [task for task in tasks if task.state in states]

    # The loops.

    def advance(self, job: Job | None = None) -> None:
        tasks = job.tasks if job else self._all("new")
        due = [t for t in tasks if t.state == "new" and not t.in_the_way and t.run_at <= self.now]
        for task in due:
            self._settle(self._go_on(task))

    def recover(self) -> bool:
        """Take back what is abandoned. Returns whether the pass must wait for the grace."""
        if self._in_grace():
            return True
        self.recovered_at, self.grace_until = self.now, None
        self._lose([(task, cause) for task in self._all("running") if (cause := self._why(task))])
        return False

    def _in_grace(self) -> bool:
        if self.grace_until is not None:
            return self.now < self.grace_until
        if self.recovered_at is None or self.now - self.recovered_at <= 2 * LEASE:
            return False
        self.grace_until = self.now + LEASE
        return True

    def _why(self, task: Task) -> str | None:
        stall, hard = task.kind.stall, task.kind.hard_limit
        if (task.lease_until or 0) <= self.now:
            return "expired"
        timed_out = task.progress_at + stall.total_seconds() * 1000 <= self.now
        timed_out = timed_out or task.claimed_at + hard.total_seconds() * 1000 <= self.now
        return "timed out" if timed_out else None

    def take_back(self, owner: str) -> None:
        self._lose([(task, "restart") for task in self._all("running") if task.owner == owner])

    def _lose(self, abandoned: list[tuple[Task, str]]) -> None:
        ended = []
        for task, cause in abandoned:
            task.losses += cause != "timed out"
            poison = task.losses >= LOSSES and cause != "timed out"
            if poison or (cause != "restart" and task.attempt >= task.max_attempts):
                self._free(task, "error")
                ended.append(task)
            else:
                self._free(task, "ready")
                task.attempt -= cause == "restart"
            self.ended[task.id, task.epoch] = (cause, None)
        self._settle(ended)

    # A person.

    def kill(self, job: Job) -> None:
        for task in [one for one in job.tasks if one.state in OPEN]:
            if task.state == "running":
                self._free(task, "killed")
            task.state = "killed"

    def requeue(self, job: Job, chosen: Callable[[Task], bool]) -> int:
        """Try again. Returns how many tasks; 0 when there is nothing, and then nothing changes."""
        again = [task for task in job.tasks if _is_tried_again(task, chosen)]
        before = {task: (task.state, task.skip_reason) for task in job.tasks}
        for task in again:
            task.state, task.skip_reason = "new", None
        self._skip_again(job)
        tried = [task for task in again if task.state == "new"]
        if not any(chosen(task) for task in tried):
            for task, (state, reason) in before.items():
                task.state, task.skip_reason = state, reason
            return 0
        for task in again:
            task.attempt = task.losses = task.progress = 0
            task.due_at = task.ready_at = task.backoff = None
            task.run_at = self.now
        for task in [one for one in job.tasks if one.state == "new"]:
            task.in_the_way = {one for one in task.parents if not one.lets_children_go_on}
        self.advance(job)
        return len(tried)

    def _skip_again(self, job: Job) -> None:
        while broken := [
            task
            for task in job.tasks
            if task.state == "new" and any(parent.breaks_children for parent in task.parents)
        ]:
            for task in broken:
                self._skip(task, "upstream_failed")

    def set_priority(self, job: Job, priority: int) -> None:
        for task in [one for one in job.tasks if one.state in OPEN]:
            step = job.request.steps[task.step]
            task.priority = min(10, max(0, priority + step.priority - 5))
            wait_ms = _wait(task.priority, step, task.item)
            if task.due_at is not None:
                task.due_at += wait_ms - task.wait_ms
            task.wait_ms = wait_ms


def _place(task: Task) -> tuple[int, int]:
    """The place in the queue."""
    assert task.due_at is not None
    assert task.id is not None
    return task.due_at, task.id


def _is_tried_again(task: Task, chosen: Callable[[Task], bool]) -> bool:
    if task.state == "error":
        return chosen(task)
    return task.state == "killed" or task.skip_reason == "upstream_failed"


def _brings(task: Task, outcome: Done) -> int | None:
    """How many values a result brings to fan-outs; None when it is not what they want."""
    for step in task.job.request.steps.values():
        if step.each is None or task.step not in step.after:
            continue
        must = step.after[0] == task.step
        if outcome.result == '{"parts": 5}' or (must and outcome.result == "null"):
            return None
    return outcome.result.count("{}")


def _wait(priority: int, step: Step, item: int) -> int:
    boosted = step.boost is Boost.ALL or (step.boost is Boost.FIRST and item == 0)
    return (10 - priority) * DAY - (DAY // 2 if boosted else 0)
