"""`rushes list`, `show`, `rm` and `restore`: the videos of the library."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from rushes.cli.connection import AsJson, DryRun, reach
from rushes.cli.options import VideoId
from rushes.cli.output import now, plain, plural, say, say_json
from rushes.errors import Conflict, Invalid

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rushes.api import models


def list_videos(
    ctx: typer.Context,
    deleted: Annotated[
        bool, typer.Option("--deleted", help="Those that were deleted and can be restored.")
    ] = False,
    status: Annotated[
        str | None, typer.Option(metavar="WORD", help="pending, processing, ready or failed.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, metavar="N", help="How many.")] = 50,
    before: Annotated[
        str | None, typer.Option(metavar="ID", help="Only videos older than this one.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List videos, newest first."""
    from rushes.cli import video_text

    with reach(ctx) as rushes:
        page = rushes.videos.list(status=status, deleted=deleted, cursor=before, limit=limit)
    if as_json:
        say_json(page)
    else:
        say(*video_text.video_list(page.items, now=now()))


def show(ctx: typer.Context, video_id: VideoId, as_json: AsJson = False) -> None:
    """Show one video: its status and milestones, what is done with it and why, its qualities."""
    from rushes.cli import video_text

    with reach(ctx) as rushes:
        video = rushes.videos.show(video_id)
    if as_json:
        say_json(video)
    else:
        say(*video_text.video_page(video, now=now()))


def rm(
    ctx: typer.Context,
    ids: Annotated[
        list[str],
        typer.Argument(metavar="ID…", help="Videos: unique beginnings or ends of ids, or @last."),
    ],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Delete videos. They can be restored for 30 days; then they are purged, originals and all.

    A job that works on one is stopped. With several: all of them or, if one cannot be, none.
    """
    from rushes.cli import video_text

    with reach(ctx) as rushes:
        found = [rushes.videos.get(id) for id in ids]
        chosen = list({video.asset_id: video for video in found}.values())
        gone = [video.asset_id for video in chosen if video.deleted_at is not None]
        if gone:
            raise Conflict(f"video {gone[0]} is deleted already")
        if not dry_run:
            _confirm(chosen, yes=yes)
        done = [] if dry_run else [rushes.videos.delete(video.asset_id) for video in chosen]
    if as_json:
        items = [plain(video) for video in (chosen if dry_run else done)]
        say_json({"dry_run": dry_run, "items": items})
    elif dry_run:
        say(*(f"{video_text.video_name(video)} would be deleted" for video in chosen))
    else:
        say(*(video_text.deleted_line(video) for video in done))


def restore(ctx: typer.Context, video_id: VideoId, as_json: AsJson = False) -> None:
    """Take the deletion of a video back. @last is the newest one that was deleted."""
    from rushes.cli import video_text

    with reach(ctx) as rushes:
        video = rushes.videos.restore(video_id)
    if as_json:
        say_json(video)
    else:
        say(video_text.restored_line(video))


def _confirm(chosen: Sequence[models.Video], *, yes: bool) -> None:
    from rushes.cli.video_text import video_name

    if yes:
        return
    if not sys.stdin.isatty():
        raise Invalid("nobody can be asked whether to delete", hint="say --yes")
    what = video_name(chosen[0]) if len(chosen) == 1 else plural(len(chosen), "video")
    if not typer.confirm(f"delete {what}?", err=True):
        raise typer.Abort
