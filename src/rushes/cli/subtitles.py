"""`rushes subtitles`: give a video subtitles, list them, take them away."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rushes.cli.connection import AsJson, reach
from rushes.cli.options import VideoId
from rushes.cli.output import plural, say, say_json, table
from rushes.errors import Invalid

app = typer.Typer(no_args_is_help=True, help="Subtitles of videos, which are searched like others.")
Language = Annotated[str, typer.Argument(metavar="LANGUAGE", help="Such as en, de or pt-BR.")]


@app.command()
def add(
    ctx: typer.Context,
    video_id: VideoId,
    language: Language,
    path: Annotated[Path, typer.Argument(metavar="FILE", help="SubRip or WebVTT, in UTF-8.")],
    as_json: AsJson = False,
) -> None:
    """Give a video subtitles in a language; those it had in it are replaced."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise Invalid(f"cannot read {path}: {error.strerror}") from error
    with reach(ctx) as rushes:
        track = rushes.subtitles.put(video_id, language, content)
    if as_json:
        say_json(track)
    else:
        say(f"{plural(track.cues, 'cue')} in {track.language}")


@app.command("list")
def list_tracks(ctx: typer.Context, video_id: VideoId, as_json: AsJson = False) -> None:
    """List the subtitles that a video has: given ones, and those of its file."""
    with reach(ctx) as rushes:
        page = rushes.subtitles.list(video_id)
    if as_json:
        say_json(page)
    elif page.items:
        rows = [(track.language, track.source, str(track.cues)) for track in page.items]
        say(*table(("language", "source", "cues"), rows))
    else:
        say("no subtitles")


@app.command()
def rm(ctx: typer.Context, video_id: VideoId, language: Language, as_json: AsJson = False) -> None:
    """Take subtitles away that were given."""
    with reach(ctx) as rushes:
        rushes.subtitles.remove(video_id, language)
    if as_json:
        say_json({"language": language})
    else:
        say(f"no subtitles in {language} any more")
