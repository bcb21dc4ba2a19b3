"""`rushes jobs watch`: jobs at work, until they are over."""

from __future__ import annotations

from typing import Annotated

import typer

from rushes.cli.connection import AsJson, connect
from rushes.cli.output import say

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
    from rushes.cli.reading import find, open_jobs

    with connect(ctx) as rushes:
        wanted = [find(rushes, text) for text in ids] if ids else open_jobs(rushes, MOST)
        ends = attend.watch(rushes, list(dict.fromkeys(wanted)), as_json=as_json)
    if not as_json:
        attend.tell_ends(ends)
        if not ends:
            say("no job is open")
    raise typer.Exit(attend.exit_code([attend.code_of(end) for end in ends]))
