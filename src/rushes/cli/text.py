"""The pages that commands print for people: a list of jobs, one job, its history."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from rushes.cli.output import duration, plural, printable, shortened, status_word, table
from rushes.cli.views import name_of, rfc3339
from rushes.domain.event import Event
from rushes.domain.graph import PRIORITIES
from rushes.domain.job import Job, Status
from rushes.domain.task import State, Task, claim_state
from rushes.domain.waiting import Waiting

MOST = 20
SHORT = 8
STATES = ("new", "ready", "running", "done", "error", "killed", "skipped")


def short_id(job_id: str) -> str:
    return job_id[-SHORT:]


def title(job: Job) -> str:
    return printable(job.kind) + (f" · {shortened(job.label, 60)}" if job.label else "")


def job_list(jobs: Sequence[Job], percent: Mapping[str, int], *, now: int) -> list[str]:
    if not jobs:
        return ["no jobs"]
    rows = [
        (
            short_id(job.id),
            status_word(job.status),
            f"{percent[job.id]} %",
            title(job),
            duration(now - job.created_at),
        )
        for job in jobs
    ]
    return table(("job", "status", "progress", "what", "age"), rows)


def job_page(
    job: Job,
    tasks: Sequence[Task],
    attempts: Sequence[Mapping[str, object]],
    *,
    percent: int,
    now: int,
) -> list[str]:
    """Return one job in full: what it is, its steps, what runs, what went wrong."""
    parts = [
        [f"{status_word(job.status)} {percent} %  {title(job)}", f"   {job.id}", _facts(job, now)],
        _kill(job),
        _failure(job),
        _steps(job, tasks),
        _running(tasks, now),
        _attempts(tasks, attempts),
    ]
    return [line for part in parts if part for line in ["", *part]][1:]


def waiting_page(
    job: Job, answers: Sequence[tuple[Task, Waiting | None, int]], *, now: int
) -> list[str]:
    """Return why the tasks of a job wait: a headline each, then what the workers say."""
    lines = [f"{status_word(job.status)}  {title(job)}"]
    if not answers:
        lines.append(f"   nothing waits: the job is {job.status}")
    for task, waiting, count in answers:
        more = f" and {count - 1:,} more like it" if count > 1 else ""
        lines += ["", f"   {place(task)}, {task.state}{more}"]
        if waiting is None:
            lines.append("   " + ("runs" if task.state is State.RUNNING else "about to start"))
            continue
        soon = waiting.until is not None and waiting.until > now
        when = f" (in {duration((waiting.until or 0) - now)})" if soon else ""
        lines.append(f"   {waiting.reason}: {printable(waiting.text)}{when}")
        lines += [f"      {printable(worker)}" for worker in waiting.workers]
    return lines


def event_line(event: Event) -> str:
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


def log_lines(log: Mapping[str, object]) -> list[str]:
    """Return a line that a stage wrote."""
    metadata = f"  {json.dumps(log['metadata'])}" if log["metadata"] else ""
    head = f"{clock(_int(log['at']))}  {log['level']:<5}  {log['stage']} #{log['task_id']}"
    return [printable(f"{head}  {log['message']}{metadata}")]


def execution_lines(execution: Mapping[str, object]) -> list[str]:
    """Return a program that a stage ran: the command, how it ended, the tail of its output."""
    command = execution["command"]
    words = " ".join(str(word) for word in command) if isinstance(command, list) else str(command)
    ended = f"exit {execution['exit_code']} after {_int(execution['duration_ms']) / 1000:.1f} s"
    head = f"{clock(_int(execution['started_at']))}  run    #{execution['task_id']}  {words}"
    tail = [
        f"    {name}: {printable(line)}"
        for name in ("stdout", "stderr")
        for line in str(execution[name]).splitlines()[-MOST:]
    ]
    return [printable(f"{head}  ({ended})"), *tail]


def place(task: Task) -> str:
    """Return where in its job a task stands."""
    return f"task {task.id} {printable(task.step)}[{task.item}]"


def clock(milliseconds: int) -> str:
    return (rfc3339(milliseconds) or "")[:-1].replace("T", " ")


def _facts(job: Job, now: int) -> str:
    names = {number: name for name, number in PRIORITIES.items()}
    named = f" ({names[job.priority]})" if job.priority in names else ""
    facts = [f"created {clock(job.created_at)} UTC, {duration(now - job.created_at)} ago"]
    if job.started_at is not None:
        end = job.finished_at if job.finished_at is not None else now
        word = "took" if job.finished_at is not None else "runs for"
        facts.append(f"{word} {duration(end - job.started_at)}")
    facts.append(f"priority {job.priority}{named}")
    if job.owner:
        facts.append(f"for {printable(job.owner)}")
    if job.warnings:
        facts.append(f"⚠ {plural(job.warnings, 'warning')}")
    return "   " + " · ".join(facts)


def _kill(job: Job) -> list[str]:
    if job.status is not Status.KILLED:
        return []
    who = f"{job.killed_by}:{job.killed_by_name}" if job.killed_by_name else str(job.killed_by)
    progress = json.loads(job.progress_at_kill or "{}")
    far = f", {progress['processed']:,} of {progress['total']:,} tasks done" if progress else ""
    at = clock(job.killed_at or 0)
    return [
        f"   killed by {printable(who)} at {at} UTC{far}: {shortened(job.killed_reason or '', 200)}"
    ]


def _failure(job: Job) -> list[str]:
    if job.failure is None:
        return []
    record = json.loads(job.failure)
    place = f"{record['step']}[{record['item']}]" if "step" in record else "the job"
    lines = [f"   {record['error_code']} in {place}: {shortened(record['error'], 200)}"]
    if record.get("hint"):
        lines.append(f"   hint: {shortened(record['hint'], 200)}")
    return [*lines, f"   try again: rushes jobs retry {short_id(job.id)}"]


def _steps(job: Job, tasks: Sequence[Task]) -> list[str]:
    counts = Counter((task.step, str(task.state)) for task in tasks)
    rows = []
    for step in job.plan:
        states = [counts[step, state] for state in STATES]
        rows.append((printable(step), sum(states), *(n or None for n in states)))
    return table(("step", "tasks", *STATES), rows, indent="   ")


def _running(tasks: Sequence[Task], now: int) -> list[str]:
    running = [task for task in tasks if task.state is State.RUNNING]
    rows = [
        (
            f"{task.id}",
            f"{printable(task.step)}[{task.item}]",
            f"{task.attempt}/{task.max_attempts}",
            name_of(task.lease_owner),
            f"{task.progress} %",
            f"{claim_state(task, now=now)}, {_lease(task, now)}",
            shortened(task.message or "", 40),
        )
        for task in running[:MOST]
    ]
    if not rows:
        return []
    headers = ("task", "step", "attempt", "worker", "progress", "claim", "message")
    return [*table(headers, rows, indent="   "), *_more(len(running))]


def _lease(task: Task, now: int) -> str:
    left = (task.lease_expires_at or 0) - now
    return f"lease ends in {duration(left)}" if left > 0 else f"lease ended {duration(-left)} ago"


def _attempts(tasks: Iterable[Task], attempts: Sequence[Mapping[str, object]]) -> list[str]:
    """Return the attempts that did not end well."""
    step_of = {task.id: f"{printable(task.step)}[{task.item}]" for task in tasks}
    unhappy = [attempt for attempt in attempts if attempt["outcome"] != "done"]
    rows = [_attempt(attempt, step_of) for attempt in unhappy[:MOST]]
    if not rows:
        return []
    headers = ("task", "step", "attempt", "worker", "outcome", "after", "why")
    return [*table(headers, rows, indent="   "), *_more(len(unhappy))]


def _attempt(attempt: Mapping[str, object], step_of: Mapping[int, str]) -> tuple[object, ...]:
    failure = attempt["failure"]
    why = f"{failure['error_code']}: {failure['error']}" if isinstance(failure, dict) else ""
    return (
        str(attempt["task_id"]),
        step_of.get(_int(attempt["task_id"])),
        f"{attempt['attempt']}",
        name_of(str(attempt["owner"])),
        attempt["outcome"],
        duration(_int(attempt["ended_at"]) - _int(attempt["claimed_at"])),
        shortened(why, 80),
    )


def _more(count: int) -> list[str]:
    return [f"   … and {count - MOST:,} more"] if count > MOST else []


def _numbered(tasks: Sequence[str]) -> str:
    first = ", ".join(tasks[:6])
    more = f" and {len(tasks) - 6} more" if len(tasks) > 6 else ""
    return f"task{'s' if len(tasks) > 1 else ''} {first}{more}"


def _told(name: str, value: object) -> str:
    """Return a value of an event; of a worker's process only the worker's name."""
    return str(name_of(str(value))) if name in ("worker", "owner") else shortened(str(value), 100)


def _pairs(value: object) -> list[list[int]]:
    return value if isinstance(value, list) else []


def _int(value: object) -> int:
    return value if isinstance(value, int) else 0
