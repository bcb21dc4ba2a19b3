"""`rushes text`: what was on the screen of a video, and when."""

from __future__ import annotations

from typing import Annotated

import typer

from rushes.cli.connection import AsJson, reach
from rushes.cli.options import VideoId
from rushes.cli.output import note, printable, say, say_json
from rushes.errors import Conflict, Invalid


def text(
    ctx: typer.Context,
    video_id: VideoId,
    srt: Annotated[bool, typer.Option("--srt", help="Print SubRip subtitles.")] = False,
    vtt: Annotated[bool, typer.Option("--vtt", help="Print WebVTT subtitles.")] = False,
    csv: Annotated[bool, typer.Option("--csv", help="Print a table for a spreadsheet.")] = False,
    as_json: AsJson = False,
) -> None:
    """Print the text that was read on the screen, with its times.

    Plain lines unless a format is given. In JSON also the language, the place in the picture, and
    names, tags, addresses and numbers in the text. Exit code 5: it was not read yet.
    """
    from rushes.cli.text import short_id
    from rushes.library import captions

    if srt + vtt + csv + as_json > 1:
        raise Invalid("choose one of --srt, --vtt, --csv and --json")
    with reach(ctx) as rushes:
        found = rushes.videos.get(video_id)
        if found.searchable_at is None:
            raise Conflict(
                f"the text of video {found.asset_id} was not read yet",
                hint=f"rushes show {short_id(found.asset_id)} tells how far it is; a video that "
                f"was added without: rushes retranscode {short_id(found.asset_id)} --text",
            )
        texts = rushes.videos.text(found.asset_id)
    if as_json:
        say_json({"asset_id": found.asset_id, "items": captions.records(texts)})
    elif srt or vtt or csv:
        format = "srt" if srt else "vtt" if vtt else "csv"
        typer.echo(captions.FORMATS[format](texts), nl=False)
    else:
        say(*(printable(line) for line in captions.lines(texts)))
    if not texts:
        note("no text was seen")
