"""`rushes jobs watch`: jobs at work, until they are over."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from rushes.cli.connection import AsJson, reach, server_of
from rushes.cli.output import say

if TYPE_CHECKING:
    from rushes.client import Client

MOST = 1000


def watch(
    ctx: typer.Context,
    ids: Annotated[
        list[str] | None,
        typer.Argument(metavar="ID…", help="Jobs; none: all that are open now."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show how far jobs are until they are over.

    Steps, percent and, for a video, the segments of each quality. With --json an object whenever
    something has changed. Exit code: 0 completed, 1 failed, 8 killed, 10 some of each.
    """
    from rushes.cli import attend

    every = attend.LOOK_EVERY if server_of(ctx) is None else attend.ASK_EVERY
    with reach(ctx) as rushes:
        wanted = [rushes.jobs.get(text).job_id for text in ids] if ids else _open(rushes)
        ends = attend.watch(rushes, list(dict.fromkeys(wanted)), as_json=as_json, every=every)
    if not as_json:
        attend.tell_ends(ends)
        if not ends:
            say("no job is open")
    raise typer.Exit(attend.exit_code([attend.code_of(end) for end in ends]))


def _open(rushes: Client) -> list[str]:
    """Return the jobs that are running or queued, oldest first."""
    pages = [rushes.jobs.list(status=word, limit=MOST).items for word in ("running", "queued")]
    return sorted([job.job_id for page in pages for job in page][:MOST])
