"""`rushes retranscode`: a video made anew, beside the version that plays."""

from __future__ import annotations

from typing import Annotated

import typer

from rushes.cli.connection import AsJson
from rushes.cli.options import NoWait, Priority, Qualities, VideoId
from rushes.cli.output import say, say_line
from rushes.library.wishes import priority_of, qualities_of


def retranscode(
    ctx: typer.Context,
    video_id: VideoId,
    qualities: Qualities = None,
    missing_only: Annotated[
        bool, typer.Option("--missing-only", help="Only qualities that are not there.")
    ] = False,
    text: Annotated[bool, typer.Option("--text", help="Also read the text anew.")] = False,
    priority: Priority = "normal",
    no_wait: NoWait = False,
    as_json: AsJson = False,
) -> None:
    """Make a video anew, or some of its qualities.

    What is there plays on until the new version is ready, also when that fails. Exit code 1:
    failed. 5: nothing is missing, or a job works on the video. 8: killed.
    """
    from rushes.cli import attend, place

    wanted, chosen = priority_of(priority), qualities_of(qualities)
    with place.workplace(ctx) as here:
        if text and not no_wait:
            here.check_reads_text()
        added = here.client.videos.retranscode(
            video_id, qualities=chosen, missing_only=missing_only, text=text, priority=wanted
        )
        if as_json:
            say_line({"event": "added", "asset_id": added.asset_id, "job_id": added.job_id})
        elif no_wait:
            say(f"{added.job_id} is in the queue{here.next_step}")
        if no_wait:
            return
        ends = here.stay([added.job_id], as_json=as_json)
    if not as_json:
        attend.tell_ends(ends)
    raise typer.Exit(attend.exit_code([attend.code_of(end) for end in ends]))
