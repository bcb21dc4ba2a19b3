"""`rushes jobs …`: look at jobs, try them again, stop them."""

from __future__ import annotations

import re
import sys
import time
from typing import TYPE_CHECKING, Annotated

import typer

from rushes.cli.connection import AsJson, DryRun, JobId, caller, connect
from rushes.cli.options import priority_of
from rushes.cli.output import note, plural, say, say_json, say_line, status_word
from rushes.errors import Conflict, Invalid, NotFound, RushesError

if TYPE_CHECKING:
    from rushes.app import App
    from rushes.cli.reading import Reading
    from rushes.domain.job import Job
    from rushes.domain.task import Task
    from rushes.store.database import Transaction

FAILED, KILLED, PARTLY = 1, 8, 10
CODE = re.compile(r"[A-Z][A-Z0-9_]{1,63}")

app = typer.Typer(help="Look at jobs, try them again, stop them.", no_args_is_help=True)


class WaitTimedOut(RushesError):
    code, status = "WAIT_TIMED_OUT", 504


@app.command("list")
def list_jobs(
    ctx: typer.Context,
    status: Annotated[
        str | None,
        typer.Option(metavar="WORD", help="queued, running, completed, failed or killed."),
    ] = None,
    kind: Annotated[
        str | None, typer.Option(metavar="KIND", help="Only jobs of this kind.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, metavar="N", help="How many.")] = 50,
    before: Annotated[
        str | None, typer.Option(metavar="ID", help="Only jobs older than this one.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List jobs, newest first."""
    from rushes.cli import text, views
    from rushes.cli.reading import clock
    from rushes.store import jobs

    _check_status(status)

    def work(tx: Transaction) -> tuple[list[Job], dict[str, int], int]:
        oldest = jobs.find(tx, before) if before else None
        page = jobs.list_page(tx, status=status, kind=kind, before=oldest, limit=limit)
        return page, jobs.percent(tx, page), clock(tx)

    with connect(ctx) as rushes:
        page, percent, now = rushes.db.read(work)
    if as_json:
        items = [views.job_view(job, percent=percent[job.id]) for job in page]
        say_json({"items": items, "next_cursor": page[-1].id if len(page) == limit else None})
    else:
        say(*text.job_list(page, percent, now=now))


@app.command()
def show(ctx: typer.Context, job_id: JobId, as_json: AsJson = False) -> None:
    """Show one job.

    Its steps, what runs, the attempts that went wrong, why it failed or who stopped it.
    """
    from rushes.cli import text, views
    from rushes.cli.reading import find, read_job
    from rushes.store import tasks

    with connect(ctx) as rushes:
        seen = read_job(rushes, find(rushes, job_id))
        attempts = rushes.db.read(lambda tx: tasks.attempts(tx, seen.job.id))
    if as_json:
        detail = {
            "tasks": [views.task_view(task, now=seen.now) for task in seen.tasks],
            "attempts": [views.attempt_view(attempt) for attempt in attempts],
        }
        say_json({**_view(seen), **detail})
    else:
        say(*text.job_page(seen.job, seen.tasks, attempts, percent=seen.percent, now=seen.now))


@app.command()
def why(
    ctx: typer.Context,
    job_id: JobId,
    task: Annotated[int | None, typer.Option(metavar="N", help="Only this task.")] = None,
    as_json: AsJson = False,
) -> None:
    """Say why the tasks of a job wait.

    One reason for those that are alike, and what each worker says to them.
    """
    from rushes.cli import text, views
    from rushes.cli.reading import find, read_job, reasons

    with connect(ctx) as rushes:
        seen = read_job(rushes, find(rushes, job_id))
        asked = [entry for entry in seen.tasks if task in (None, entry.id)]
        if not asked:
            raise NotFound(f"job {seen.job.id} has no task {task}")
        answers = list(reasons(rushes, asked, now=seen.now))
    if as_json:
        items = [views.waiting_view(entry, reason, count=n) for entry, reason, n in answers]
        say_json({"job_id": seen.job.id, "status": seen.job.status, "items": items})
    else:
        say(*text.waiting_page(seen.job, answers, now=seen.now))


@app.command()
def events(
    ctx: typer.Context,
    job_id: JobId,
    following: Annotated[
        bool, typer.Option("--follow", "-f", help="Wait for more until the job is over.")
    ] = False,
    task: Annotated[
        int | None, typer.Option(metavar="N", help="Only what happened to this task.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Tell what happened to a job, oldest first."""
    from rushes.cli import text, views
    from rushes.cli.reading import concerns, find, follow, history

    with connect(ctx) as rushes:
        found = find(rushes, job_id)
        for event in follow(rushes, found) if following else history(rushes, found):
            if task is not None and not concerns(event, task):
                continue
            if as_json:
                say_line(views.event_view(event))
            else:
                say(text.event_line(event))


@app.command()
def logs(ctx: typer.Context, job_id: JobId, as_json: AsJson = False) -> None:
    """Print what the stages wrote and the programs they ran."""
    from rushes.cli import text, views
    from rushes.cli.reading import find
    from rushes.store import tasks

    with connect(ctx) as rushes:
        found = find(rushes, job_id)
        written = rushes.db.read(lambda tx: tasks.logs(tx, found))
        programs = rushes.db.read(lambda tx: tasks.executions(tx, found))
    entries = [(line["at"], views.log_view(line), text.log_lines(line)) for line in written]
    entries += [
        (run["started_at"], views.execution_view(run), text.execution_lines(run))
        for run in programs
    ]
    for _, view, lines in sorted(entries, key=lambda entry: entry[0]):
        if as_json:
            say_line(view)
        else:
            say(*lines)


@app.command()
def retry(
    ctx: typer.Context,
    job_id: Annotated[
        str | None, typer.Argument(metavar="ID", help="A job, unless --code is given.")
    ] = None,
    only: Annotated[
        str | None, typer.Option(metavar="KIND", help="Only failed tasks of this kind.")
    ] = None,
    task: Annotated[int | None, typer.Option(metavar="N", help="Only this failed task.")] = None,
    code: Annotated[
        str | None,
        typer.Option(metavar="CODE", help="Not one job: every job that failed with this code."),
    ] = None,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Try a job again.

    What failed, was killed, or was skipped for it runs again; finished tasks are kept. With
    --code some jobs may be refused, for example because another one is active in their place;
    then the exit code is 10.
    """
    from rushes.cli.reading import find

    if (job_id is None) == (code is None):
        raise Invalid("give either a job or --code", hint="for example: rushes jobs retry @last")
    refused: dict[str, str] = {}
    with connect(ctx) as rushes:
        if code is not None:
            retried = _retry_all(rushes, code, refused, dry_run=dry_run)
        else:
            found = find(rushes, job_id or "")
            retried = {found: _retry(rushes, found, only, task, dry_run=dry_run)}
    if as_json:
        jobs = [{"job_id": id, "tasks": n} for id, n in retried.items()]
        errors = [{"job_id": id, "error": text} for id, text in refused.items()]
        say_json({"dry_run": dry_run, "jobs": jobs, "refused": errors})
    else:
        verb = "would run again" if dry_run else "to run again"
        say(*(f"{id}: {plural(n, 'task')} {verb}" for id, n in retried.items()))
        say(*(f"{id}: refused, {text}" for id, text in refused.items()))
        if not retried and not refused:
            say(f"no job has a task that failed with {code}")
    raise typer.Exit(PARTLY if refused else 0)


@app.command()
def kill(
    ctx: typer.Context,
    job_id: JobId,
    reason: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Why, for whoever asks later.")
    ] = None,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Stop a job at once. Its running tasks lose their leases; finished ones keep their results."""
    from rushes.cli.reading import find, read_job
    from rushes.domain.task import FINAL
    from rushes.engine import operator

    with connect(ctx) as rushes:
        seen = read_job(rushes, find(rushes, job_id))
        stopped = sum(task.state not in FINAL for task in seen.tasks)
        if not dry_run:
            operator.kill(rushes.engine, seen.job.id, name=caller(), reason=reason)
            seen = read_job(rushes, seen.job.id)
        elif seen.is_over:
            raise Conflict(f"job {seen.job.id} is already {seen.job.status}")
    job = seen.job
    if as_json:
        say_json({**_view(seen), "dry_run": dry_run, "tasks_stopped": stopped})
    elif dry_run:
        say(f"{job.id}: {plural(stopped, 'task')} would be stopped")
    else:
        say(f"{status_word(job.status)} by {job.killed_by}:{job.killed_by_name}  {job.id}")


@app.command()
def priority(
    ctx: typer.Context,
    job_id: JobId,
    priority: Annotated[
        str, typer.Argument(help="0 to 10, 10 first; or low, normal, high, urgent.")
    ],
    as_json: AsJson = False,
) -> None:
    """Move a job within the queue."""
    from rushes.cli.reading import find, read_job
    from rushes.engine import operator

    wanted = priority_of(priority)
    with connect(ctx) as rushes:
        found = find(rushes, job_id)
        operator.set_priority(rushes.engine, found, wanted)
        seen = read_job(rushes, found)
    if as_json:
        say_json(_view(seen))
    else:
        say(f"{found}: priority {seen.job.priority}")


@app.command()
def wait(
    ctx: typer.Context,
    job_id: JobId,
    timeout: Annotated[
        float | None,
        typer.Option(min=0, metavar="SECONDS", help="Give up after that long, with exit code 7."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Wait until a job is over. Exit code: 0 completed, 1 failed, 8 killed, 7 not over yet."""
    from rushes.cli import text
    from rushes.cli.reading import find
    from rushes.domain.job import Status

    with connect(ctx) as rushes:
        seen = _wait(rushes, find(rushes, job_id), timeout)
    if as_json:
        say_json(_view(seen))
    else:
        say(*text.job_page(seen.job, seen.tasks, [], percent=seen.percent, now=seen.now))
    codes = {Status.FAILED: FAILED, Status.KILLED: KILLED}
    raise typer.Exit(codes.get(seen.job.status, 0))


def _view(seen: Reading) -> dict[str, object]:
    from rushes.cli.views import job_view

    return job_view(seen.job, percent=seen.percent, tasks=seen.tasks)


def _check_status(status: str | None) -> None:
    from rushes.domain.job import Status

    if status is not None and status not in list(Status):
        raise Invalid(f"{status!r} is not a status", hint=f"one of: {', '.join(Status)}")


def _retry(
    rushes: App, job_id: str, only: str | None = None, task: int | None = None, *, dry_run: bool
) -> int:
    """Requeue one job, or count what would be requeued. Raises Conflict when there is nothing."""
    from rushes.cli.reading import read_job
    from rushes.engine import operator

    if not dry_run:
        return operator.requeue(rushes.engine, job_id, kind=only, task_id=task, by=caller())
    seen = read_job(rushes, job_id)
    chosen = [entry for entry in seen.tasks if _is_retried(entry, only, task)]
    if not chosen:
        raise Conflict(f"job {job_id} is {seen.job.status}: there is nothing to try again")
    return len(chosen)


def _is_retried(task: Task, only: str | None, task_id: int | None) -> bool:
    """Whether a requeue takes this task, as the statement `requeue` has it."""
    from rushes.domain.task import SkipReason, State

    if task.state in (State.ERROR, State.KILLED):
        return only in (None, task.kind) and task_id in (None, task.id)
    return task.skip_reason == SkipReason.UPSTREAM_FAILED


def _retry_all(rushes: App, code: str, refused: dict[str, str], *, dry_run: bool) -> dict[str, int]:
    """Requeue every job that failed with `code`. One that is refused does not stop the others."""
    if not CODE.fullmatch(code):
        raise Invalid(f"{code!r} is not an error code", hint="for example: DISK_FULL")
    rows = rushes.db.read(lambda tx: tx.rows("failed_with_code", code=code))
    retried = {}
    for row in rows:
        try:
            retried[row["job_id"]] = _retry(rushes, row["job_id"], dry_run=dry_run)
        except Conflict as error:
            refused[row["job_id"]] = error.message
    return retried


def _wait(rushes: App, job_id: str, timeout: float | None) -> Reading:
    from rushes.cli.reading import LOOK_EVERY, read_job

    deadline = None if timeout is None else time.monotonic() + timeout
    shown = -1
    while not (seen := read_job(rushes, job_id)).is_over:
        if deadline is not None and time.monotonic() >= deadline:
            raise WaitTimedOut(
                f"job {job_id} is still {seen.job.status} ({seen.percent} %) after {timeout:g} s",
                hint=f"rushes jobs why {job_id[-8:]} tells what it waits for",
                job_id=job_id,
            )
        if sys.stderr.isatty() and seen.percent != shown:
            shown = seen.percent
            note(f"{shown} %")
        time.sleep(LOOK_EVERY)
    return seen
