"""`rushes clip` and `rushes clips`: parts of videos as files of their own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rushes.cli.connection import AsJson, reach
from rushes.cli.options import NoWait, VideoId
from rushes.cli.output import now, say, say_json, say_line
from rushes.errors import Invalid
from rushes.library.wishes import time_of

if TYPE_CHECKING:
    from rushes.api.clips import Requested
    from rushes.cli.place import Place

ClipId = Annotated[
    str,
    typer.Argument(
        metavar="ID", help="A clip: any unique beginning or end of its id, or @last for the newest."
    ),
]
TIME = "seconds, M:SS or H:MM:SS, with up to three places after the point"

app = typer.Typer(no_args_is_help=True, help="The clips of the library.")


def clip(
    ctx: typer.Context,
    video_id: VideoId,
    start: Annotated[str, typer.Option("--from", metavar="T", help=f"Where it begins: {TIME}.")],
    end: Annotated[str, typer.Option("--to", metavar="T", help="Where it ends.")],
    padding: Annotated[
        str, typer.Option(metavar="T", help="So much more on both sides, within the film.")
    ] = "2",
    fast: Annotated[
        bool,
        typer.Option("--fast", help="Do not encode it: it begins at the key frame before."),
    ] = False,
    title: Annotated[str | None, typer.Option(metavar="TEXT", help="A title.")] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="Put the file here, too.")
    ] = None,
    no_wait: NoWait = False,
    as_json: AsJson = False,
) -> None:
    """Cut a clip out of a video: exact to the frame, from the original.

    The same clip is never made twice. With --fast nothing is encoded, and where it will begin is
    said before it is cut. Exit code 1: failed. 8: killed. With --json one object per line: what was
    asked for, progress, and the clip at the end.
    """
    from rushes.api.desk.clips import place_of
    from rushes.cli import attend, place

    if no_wait and out is not None:
        raise Invalid("--out needs a clip that is ready", hint="leave --no-wait out")
    if out is not None:
        place_of(out, "clip")  # nothing is cut for a place that is not there
    with place.workplace(ctx) as here:
        made = here.client.clips.create(
            video_id,
            time_of(start),
            time_of(end),
            padding_ms=time_of(padding),
            mode="fast" if fast else "exact",
            title=title,
        )
        _tell_asked(made, here, no_wait=no_wait, as_json=as_json)
        if no_wait:
            return
        code = 0
        if made.url is None:
            ends = here.stay([made.job_id], as_json=as_json)
            code = attend.exit_code([attend.code_of(end) for end in ends])
            if code and not as_json:
                attend.tell_ends(ends)
        if code == 0:
            _tell_made(here, made.clip_id, out, as_json=as_json)
    raise typer.Exit(code)


@app.command("list")
def list_clips(
    ctx: typer.Context,
    video: Annotated[
        str | None, typer.Option(metavar="ID", help="Only clips of this video.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, metavar="N", help="How many.")] = 50,
    before: Annotated[
        str | None, typer.Option(metavar="ID", help="Only clips older than this one.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List clips, newest first."""
    from rushes.cli import clip_text

    with reach(ctx) as rushes:
        page = rushes.clips.list(video_id=video, cursor=before, limit=limit)
    if as_json:
        say_json(page)
    else:
        say(*clip_text.clip_list(page.items, now=now()))


@app.command()
def show(ctx: typer.Context, clip_id: ClipId, as_json: AsJson = False) -> None:
    """Show one clip: what it holds, how long it stays, and how it was made."""
    from rushes.cli import clip_text

    with reach(ctx) as rushes:
        found = rushes.clips.show(clip_id)
    if as_json:
        say_json(found)
    else:
        say(*clip_text.clip_page(found, now=now()))


@app.command()
def delete(ctx: typer.Context, clip_id: ClipId, as_json: AsJson = False) -> None:
    """Delete a clip. It can be made again from its video."""
    from rushes.cli.text import short_id

    with reach(ctx) as rushes:
        gone = rushes.clips.delete(clip_id)
    if as_json:
        say_json(gone)
    else:
        say(f"clip {short_id(gone.clip_id)} is deleted")


def _tell_asked(made: Requested, here: Place, *, no_wait: bool, as_json: bool) -> None:
    from rushes.cli import clip_text

    if as_json:
        say_line(made, event="asked")
        return
    if made.mode == "fast" and made.url is None:
        say(f"it will begin at {clip_text.timecode(made.actual_start)}, at a key frame")
    if no_wait:
        say(f"{made.clip_id} is in the queue{here.next_step}")


def _tell_made(here: Place, clip_id: str, out: Path | None, *, as_json: bool) -> None:
    from rushes.cli import clip_text

    found = here.client.clips.show(clip_id)
    path = None if out is None else here.client.clips.download(clip_id, out)
    if as_json:
        say_line(found, event="ready", path=str(path) if path else None)
    else:
        say(clip_text.made_line(found, path))
