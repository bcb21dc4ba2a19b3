"""`rushes text`: what was on the screen of a video, and when."""

from __future__ import annotations

from typing import Annotated

import typer

from rushes.cli.connection import AsJson, connect
from rushes.cli.options import VideoId
from rushes.cli.output import note, printable, say, say_json
from rushes.errors import Conflict, Invalid


def text(
    ctx: typer.Context,
    video_id: VideoId,
    srt: Annotated[bool, typer.Option("--srt", help="Print SubRip subtitles.")] = False,
    vtt: Annotated[bool, typer.Option("--vtt", help="Print WebVTT subtitles.")] = False,
    as_json: AsJson = False,
) -> None:
    """Print the text that was read on the screen, with its times.

    Plain lines unless a format is given. In JSON also the language, the place in the picture, and
    names, tags, addresses and numbers in the text. Exit code 5: it was not read yet.
    """
    from rushes.cli.text import short_id
    from rushes.library import captions
    from rushes.store import assets

    if srt + vtt + as_json > 1:
        raise Invalid("choose one of --srt, --vtt and --json")
    with connect(ctx) as rushes:
        found = rushes.db.read(lambda tx: assets.get(tx, assets.find(tx, video_id)))
        texts = rushes.db.read(lambda tx: assets.texts(tx, found.id))
    if found.searchable_at is None:
        raise Conflict(
            f"the text of video {found.id} was not read yet",
            hint=f"rushes show {short_id(found.id)} tells how far it is; a video that was added "
            f"without: rushes retranscode {short_id(found.id)} --text",
        )
    if as_json:
        say_json({"asset_id": found.id, "items": captions.records(texts)})
    elif srt or vtt:
        typer.echo(captions.srt(texts) if srt else captions.vtt(texts), nl=False)
    else:
        say(*(printable(line) for line in captions.lines(texts)))
    if not texts:
        note("no text was seen")
