"""`rushes retranscode`: a video made anew, beside the version that plays."""

from __future__ import annotations

from typing import Annotated

import typer

from rushes.cli.connection import AsJson, connect
from rushes.cli.options import NoWait, Priority, Qualities, VideoId, priority_of, qualities_of
from rushes.cli.output import say, say_line
from rushes.errors import Invalid


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
    from rushes.cli import attend
    from rushes.cli.reading import offers
    from rushes.library.retranscode import Again
    from rushes.library.retranscode import retranscode as submit
    from rushes.store import assets

    again = Again(
        qualities=qualities_of(qualities),
        missing_only=missing_only,
        text=text,
        priority=priority_of(priority),
    )
    with connect(ctx) as rushes:
        found = rushes.db.read(lambda tx: assets.find(tx, video_id))
        if text and not no_wait and attend.OCR not in offers(rushes):
            raise Invalid("no worker can read text here", hint="pip install 'rushes[ocr]'")
        added = submit(rushes.library, found, again)
        if as_json:
            say_line({"event": "added", "asset_id": added.asset_id, "job_id": added.job_id})
        elif no_wait:
            say(f"{added.job_id} is in the queue; next: rushes worker run")
        if no_wait:
            return
        ends = attend.work(rushes, [added.job_id], as_json=as_json)
    if not as_json:
        attend.tell_ends(ends)
    raise typer.Exit(attend.exit_code([attend.code_of(end) for end in ends]))
