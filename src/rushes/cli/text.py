"""The pages that commands print for people: a list of jobs, one job, its history."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from rushes.cli.output import (
    between,
    clock,
    duration,
    plural,
    printable,
    shortened,
    status_word,
    table,
)
from rushes.domain.graph import PRIORITIES
from rushes.domain.job import Status
from rushes.domain.task import State

if TYPE_CHECKING:
    from rushes.api import models
    from rushes.api.sight import Sight

MOST = 20
SHORT = 8
STATES = ("new", "ready", "running", "done", "error", "killed", "skipped")


def short_id(job_id: str) -> str:
    return job_id[-SHORT:]


def title(job: models.Job | Sight) -> str:
    return printable(job.job_type) + (f" · {shortened(job.label, 60)}" if job.label else "")


def job_list(jobs: Sequence[models.Job], *, now: datetime) -> list[str]:
    if not jobs:
        return ["no jobs"]
    rows = [
        (
            short_id(job.job_id),
            status_word(job.status),
            f"{job.progress.percent} %",
            title(job),
            duration(between(job.created_at, now)),
        )
        for job in jobs
    ]
    return table(("job", "status", "progress", "what", "age"), rows)


def job_page(job: models.JobDetail, *, now: datetime, attempts: bool = True) -> list[str]:
    """Return one job in full: what it is, its steps, what runs, what went wrong."""
    status = f"{status_word(job.status)} {job.progress.percent} %  {title(job)}"
    parts = [
        [status, f"   {job.job_id}", _facts(job, now)],
        _kill(job),
        _failure(job),
        [f"   ⚠ {item.code}: {printable(item.message)}" for item in job.reported],
        _steps(job),
        _running(job.tasks, now),
        _attempts(job) if attempts else [],
    ]
    return [line for part in parts if part for line in ["", *part]][1:]


def waiting_page(job: models.Job, answers: Sequence[models.Waiting], *, now: datetime) -> list[str]:
    """Return why the tasks of a job wait: a headline each, then what the workers say."""
    lines = [f"{status_word(job.status)}  {title(job)}"]
    if not answers:
        lines.append(f"   nothing waits: the job is {job.status}")
    for one in answers:
        more = f" and {one.count - 1:,} more like it" if one.count > 1 else ""
        place = f"task {one.task_id} {printable(one.step)}[{one.item}]"
        lines += ["", f"   {place}, {one.state}{more}"]
        if one.reason is None:
            lines.append("   " + ("runs" if one.state is State.RUNNING else "about to start"))
            continue
        soon = one.until is not None and one.until > now
        when = f" (in {duration(between(now, one.until))})" if soon and one.until else ""
        lines.append(f"   {one.reason}: {printable(one.text or '')}{when}")
        lines += [f"      {printable(worker)}" for worker in one.workers]
    return lines


def event_line(event: models.Event) -> str:
    """Return one event on one line: when, what, which tasks, and the rest of its data."""
    told = {
        name: value
        for name, value in event.data.items()
        if name not in ("tasks", "ready") and value is not None
    }
    tasks = [str(moved[0]) for moved in _pairs(event.data.get("tasks"))]
    what = [_numbered(tasks)] if tasks else []
    what += [f"{name}={_told(name, value)}" for name, value in told.items()]
    return f"{clock(event.at)}  {event.type:<16} {printable('  '.join(what))}".rstrip()


def concerns(event: models.Event, task_id: int) -> bool:
    """Whether an event moved this task."""
    moved, ready = _pairs(event.data.get("tasks")), event.data.get("ready")
    was_moved = any(entry[0] == task_id for entry in moved)
    return was_moved or (isinstance(ready, list) and task_id in ready)


def log_lines(log: Mapping[str, object]) -> list[str]:
    """Return a line that a stage wrote."""
    metadata = f"  {json.dumps(log['metadata'])}" if log["metadata"] else ""
    head = f"{_moment(log['at'])}  {log['level']:<5}  {log['stage']} #{log['task_id']}"
    return [printable(f"{head}  {log['message']}{metadata}")]


def execution_lines(execution: Mapping[str, object]) -> list[str]:
    """Return a program that a stage ran: the command, how it ended, the tail of its output."""
    command = execution["command"]
    words = " ".join(str(word) for word in command) if isinstance(command, list) else str(command)
    ended = f"exit {execution['exit_code']} after {_int(execution['duration_ms']) / 1000:.1f} s"
    head = f"{_moment(execution['started_at'])}  run    #{execution['task_id']}  {words}"
    tail = [
        f"    {name}: {printable(line)}"
        for name in ("stdout", "stderr")
        for line in str(execution[name]).splitlines()[-MOST:]
    ]
    return [printable(f"{head}  ({ended})"), *tail]


def _facts(job: models.Job, now: datetime) -> str:
    names = {number: name for name, number in PRIORITIES.items()}
    named = f" ({names[job.priority]})" if job.priority in names else ""
    ago = duration(between(job.created_at, now))
    facts = [f"created {clock(job.created_at)} UTC, {ago} ago"]
    if job.started_at is not None:
        word = "took" if job.finished_at is not None else "runs for"
        facts.append(f"{word} {duration(between(job.started_at, job.finished_at or now))}")
    facts.append(f"priority {job.priority}{named}")
    if job.owner:
        facts.append(f"for {printable(job.owner)}")
    if job.warnings:
        facts.append(f"⚠ {plural(job.warnings, 'warning')}")
    return "   " + " · ".join(facts)


def _kill(job: models.Job) -> list[str]:
    if job.status is not Status.KILLED or job.killed_at is None:
        return []
    reached = job.progress_at_kill
    far = f", {reached['processed']:,} of {reached['total']:,} tasks done" if reached else ""
    at, why = clock(job.killed_at), shortened(job.killed_reason or "", 200)
    return [f"   killed by {killer(job)} at {at} UTC{far}: {why}"]


def killer(job: models.Job | Sight) -> str:
    """Return who stopped a job, and which sort of who that is."""
    name = f":{job.killed_by_name}" if job.killed_by_name else ""
    return printable(f"{job.killed_by}{name}")


def _failure(job: models.Job) -> list[str]:
    if job.error is None:
        return []
    place = "the job" if job.failed_step is None else f"{job.failed_step}[{job.failed_batch or 0}]"
    lines = [f"   {job.error_code} in {place}: {shortened(job.error, 200)}"]
    if job.hint:
        lines.append(f"   hint: {shortened(job.hint, 200)}")
    return [*lines, f"   try again: rushes jobs retry {short_id(job.job_id)}"]


def _steps(job: models.JobDetail) -> list[str]:
    rows = []
    for step, counted in job.steps.items():
        states = [counted.get(state, 0) for state in STATES]
        rows.append((printable(step), sum(states), *(n or None for n in states)))
    return table(("step", "tasks", *STATES), rows, indent="   ")


def _running(tasks: Sequence[models.Task], now: datetime) -> list[str]:
    running = [task for task in tasks if task.state is State.RUNNING]
    rows = [
        (
            f"{task.task_id}",
            f"{printable(task.step)}[{task.item}]",
            f"{task.attempt}/{task.max_attempts}",
            printable(task.worker or ""),
            f"{task.progress} %",
            f"{task.claim_state}, {_lease(task, now)}",
            shortened(task.message or "", 40),
        )
        for task in running[:MOST]
    ]
    if not rows:
        return []
    headers = ("task", "step", "attempt", "worker", "progress", "claim", "message")
    return [*table(headers, rows, indent="   "), *_more(len(running))]


def _lease(task: models.Task, now: datetime) -> str:
    left = between(now, task.lease_expires_at or now)
    return f"lease ends in {duration(left)}" if left > 0 else f"lease ended {duration(-left)} ago"


def _attempts(job: models.JobDetail) -> list[str]:
    """Return the attempts that did not end well."""
    step_of = {task.task_id: f"{printable(task.step)}[{task.item}]" for task in job.tasks}
    unhappy = [attempt for attempt in job.attempts if attempt.outcome != "done"]
    rows = [_attempt(attempt, step_of) for attempt in unhappy[:MOST]]
    if not rows:
        return []
    headers = ("task", "step", "attempt", "worker", "outcome", "after", "why")
    return [*table(headers, rows, indent="   "), *_more(len(unhappy))]


def _attempt(attempt: models.Attempt, step_of: Mapping[int, str]) -> tuple[object, ...]:
    failure = attempt.failure
    return (
        str(attempt.task_id),
        step_of.get(attempt.task_id),
        f"{attempt.attempt}",
        printable(attempt.worker or ""),
        attempt.outcome,
        duration(between(attempt.claimed_at, attempt.ended_at)),
        shortened(f"{failure['error_code']}: {failure['error']}", 80) if failure else "",
    )


def _more(count: int) -> list[str]:
    return [f"   … and {count - MOST:,} more"] if count > MOST else []


def _numbered(tasks: Sequence[str]) -> str:
    first = ", ".join(tasks[:6])
    more = f" and {len(tasks) - 6} more" if len(tasks) > 6 else ""
    return f"task{'s' if len(tasks) > 1 else ''} {first}{more}"


def _told(name: str, value: object) -> str:
    """Return a value of an event; of a worker's process only the worker's name."""
    told = str(value).partition("#")[0] if name in ("worker", "owner") else str(value)
    return shortened(told, 100)


def _pairs(value: object) -> list[list[int]]:
    return value if isinstance(value, list) else []


def _int(value: object) -> int:
    return value if isinstance(value, int) else 0


def _moment(text: object) -> str:
    """Return a time that came as text as `clock` does."""
    return clock(datetime.fromisoformat(str(text)))
