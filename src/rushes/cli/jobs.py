"""`rushes jobs …`: look at jobs, try them again, stop them."""

from __future__ import annotations

import re
import sys
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from rushes.cli.connection import AsJson, DryRun, JobId, reach
from rushes.cli.output import note, now, plural, say, say_json, say_line, status_word
from rushes.errors import Conflict, Invalid
from rushes.library.wishes import priority_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from rushes.api import models
    from rushes.client.protocol import Jobs

FAILED, KILLED, PARTLY = 1, 8, 10
CODE = re.compile(r"[A-Z][A-Z0-9_]{1,63}")

app = typer.Typer(help="Look at jobs, try them again, stop them.", no_args_is_help=True)


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
    from rushes.cli import text

    with reach(ctx) as rushes:
        page = rushes.jobs.list(status=status, kind=kind, cursor=before, limit=limit)
    if as_json:
        say_json(page)
    else:
        say(*text.job_list(page.items, now=now()))


@app.command()
def show(ctx: typer.Context, job_id: JobId, as_json: AsJson = False) -> None:
    """Show one job.

    Its steps, what runs, the attempts that went wrong, why it failed or who stopped it.
    """
    from rushes.cli import text

    with reach(ctx) as rushes:
        job = rushes.jobs.show(job_id)
    if as_json:
        say_json(job)
    else:
        say(*text.job_page(job, now=now()))


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
    from rushes.cli import text
    from rushes.cli.output import plain

    with reach(ctx) as rushes:
        job = rushes.jobs.get(job_id)
        answers = rushes.jobs.why(job.job_id, task=task)
    if as_json:
        items = [plain(answer) for answer in answers]
        say_json({"job_id": job.job_id, "status": job.status, "items": items})
    else:
        say(*text.waiting_page(job, answers, now=now()))


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
    from rushes.cli import text

    with reach(ctx) as rushes:
        told = rushes.jobs.follow(job_id) if following else rushes.jobs.events(job_id)
        for event in told:
            if task is not None and not text.concerns(event, task):
                continue
            if as_json:
                say_line(event)
            else:
                say(text.event_line(event))


@app.command()
def logs(ctx: typer.Context, job_id: JobId, as_json: AsJson = False) -> None:
    """Print what the stages wrote and the programs they ran."""
    from rushes.cli import text

    with reach(ctx) as rushes:
        entries = rushes.jobs.logs(job_id)
    for entry in entries:
        if as_json:
            say_line(entry)
        else:
            is_log = entry["type"] == "log"
            say(*(text.log_lines(entry) if is_log else text.execution_lines(entry)))


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
    if (job_id is None) == (code is None):
        raise Invalid("give either a job or --code", hint="for example: rushes jobs retry @last")
    refused: dict[str, str] = {}
    with reach(ctx) as rushes:
        act = _count if dry_run else _retry
        if code is not None:
            retried = _retry_all(rushes.jobs, code, act, refused)
        else:
            found = rushes.jobs.get(job_id or "").job_id
            retried = {found: act(rushes.jobs, found, only, task)}
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
    from rushes.cli import text
    from rushes.domain.job import FINISHED
    from rushes.domain.task import FINAL

    with reach(ctx) as rushes:
        before = rushes.jobs.show(job_id)
        stopped = sum(task.state not in FINAL for task in before.tasks)
        if dry_run and before.status in FINISHED:
            raise Conflict(f"job {before.job_id} is already {before.status}")
        kill = rushes.jobs.get if dry_run else partial(rushes.jobs.kill, reason=reason)
        job = kill(before.job_id)
    if as_json:
        say_json(job, dry_run=dry_run, tasks_stopped=stopped)
    elif dry_run:
        say(f"{job.job_id}: {plural(stopped, 'task')} would be stopped")
    else:
        say(f"{status_word(job.status)} by {text.killer(job)}  {job.job_id}")


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
    wanted = priority_of(priority)
    with reach(ctx) as rushes:
        job = rushes.jobs.set_priority(rushes.jobs.get(job_id).job_id, wanted)
    if as_json:
        say_json(job)
    else:
        say(f"{job.job_id}: priority {job.priority}")


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
    from rushes.client import job as handle
    from rushes.domain.job import Status

    with reach(ctx) as rushes:
        found = rushes.jobs.get(job_id).job_id
        job = handle.wait(rushes.jobs, found, timeout, _tell_percent())
        detail = None if as_json else rushes.jobs.show(found)
    if detail is None:
        say_json(job)
    else:
        say(*text.job_page(detail, now=now(), attempts=False))
    codes = {Status.FAILED: FAILED, Status.KILLED: KILLED}
    raise typer.Exit(codes.get(job.status, 0))


def _retry(jobs: Jobs, job_id: str, only: str | None = None, task: int | None = None) -> int:
    return jobs.retry(job_id, kind=only, task=task)


def _count(jobs: Jobs, job_id: str, only: str | None = None, task: int | None = None) -> int:
    """Return how many tasks a retry would take. Raises Conflict when there is nothing."""
    job = jobs.show(job_id)
    chosen = [entry for entry in job.tasks if _is_retried(entry, only, task)]
    if not chosen:
        raise Conflict(f"job {job.job_id} is {job.status}: there is nothing to try again")
    return len(chosen)


def _is_retried(task: models.Task, only: str | None, task_id: int | None) -> bool:
    """Whether a requeue takes this task, as the statement `requeue` has it."""
    from rushes.domain.task import SkipReason, State

    if task.state in (State.ERROR, State.KILLED):
        return only in (None, task.kind) and task_id in (None, task.task_id)
    return task.skip_reason == SkipReason.UPSTREAM_FAILED


def _retry_all(
    jobs: Jobs, code: str, act: Callable[[Jobs, str], int], refused: dict[str, str]
) -> dict[str, int]:
    """Take every job that failed with `code`. One that is refused does not stop the others."""
    if not CODE.fullmatch(code):
        raise Invalid(f"{code!r} is not an error code", hint="for example: DISK_FULL")
    retried = {}
    for job_id in jobs.failed_with(code):
        try:
            retried[job_id] = act(jobs, job_id)
        except Conflict as error:
            refused[job_id] = error.message
    return retried


def _tell_percent() -> Callable[[models.Job], None]:
    """Return the function that tells on a terminal how far a job is."""
    shown = -1

    def tell(job: models.Job) -> None:
        nonlocal shown
        if sys.stderr.isatty() and job.progress.percent != shown:
            shown = job.progress.percent
            note(f"{shown} %")

    return tell
