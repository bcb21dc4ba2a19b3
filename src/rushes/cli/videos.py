"""`rushes list`, `show`, `rm` and `restore`: the videos of the library."""

from __future__ import annotations

import sys
from itertools import islice
from typing import TYPE_CHECKING, Annotated

import typer

from rushes.cli.connection import AsJson, DryRun, caller, connect
from rushes.cli.options import VideoId
from rushes.cli.output import plural, say, say_json
from rushes.errors import Conflict, Invalid, NotFound

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rushes.app import App
    from rushes.domain.asset import Asset
    from rushes.library.edit import Deleted
    from rushes.store.database import Transaction

PAGE = 200


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
    from rushes.cli import video_text, views
    from rushes.cli.reading import clock
    from rushes.store import assets

    _check_status(status)

    def work(tx: Transaction) -> tuple[list[Asset], int]:
        oldest = assets.find(tx, before) if before else None
        found = _pages(tx, deleted=deleted, before=oldest)
        wanted = (asset for asset in found if status in (None, asset.status))
        return list(islice(wanted, limit)), clock(tx)

    with connect(ctx) as rushes:
        page, now = rushes.db.read(work)
    if as_json:
        cursor = page[-1].id if len(page) == limit else None
        say_json({"items": [views.asset_view(asset) for asset in page], "next_cursor": cursor})
    else:
        say(*video_text.video_list(page, now=now))


def show(ctx: typer.Context, video_id: VideoId, as_json: AsJson = False) -> None:
    """Show one video: its status and milestones, what is done with it and why, its qualities."""
    from rushes.cli import video_text, views
    from rushes.cli.film import read

    with connect(ctx) as rushes:
        film = read(rushes, _find(rushes, video_id))
    if as_json:
        say_json(views.film_view(film))
    else:
        say(*video_text.video_page(film))


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
    from rushes.cli import video_text, views
    from rushes.library import edit

    with connect(ctx) as rushes:
        chosen = [_get(rushes, id) for id in dict.fromkeys(_find(rushes, one) for one in ids)]
        gone = [asset.id for asset in chosen if asset.deleted_at is not None]
        if gone:
            raise Conflict(f"video {gone[0]} is deleted already")
        if not dry_run:
            _confirm(chosen, yes=yes)
        done = [] if dry_run else [edit.delete(rushes.library, a.id, by=caller()) for a in chosen]
    if as_json:
        items = [views.asset_view(asset) for asset in chosen] if dry_run else _views(done)
        say_json({"dry_run": dry_run, "items": items})
    elif dry_run:
        say(*(f"{video_text.video_name(asset)} would be deleted" for asset in chosen))
    else:
        say(*(video_text.deleted_line(one) for one in done))


def restore(ctx: typer.Context, video_id: VideoId, as_json: AsJson = False) -> None:
    """Take the deletion of a video back. @last is the newest one that was deleted."""
    from rushes.cli import video_text, views
    from rushes.library import edit

    with connect(ctx) as rushes:
        found = _newest_deleted(rushes) if video_id == "@last" else _find(rushes, video_id)
        asset = edit.restore(rushes.library, found)
    if as_json:
        say_json(views.asset_view(asset))
    else:
        say(video_text.restored_line(asset))


def _find(rushes: App, video_id: str) -> str:
    from rushes.store import assets

    return rushes.db.read(lambda tx: assets.find(tx, video_id))


def _get(rushes: App, asset_id: str) -> Asset:
    from rushes.store import assets

    return rushes.db.read(lambda tx: assets.get(tx, asset_id))


def _newest_deleted(rushes: App) -> str:
    from rushes.store import assets

    page = rushes.db.read(lambda tx: assets.list_page(tx, deleted=True, limit=1))
    if not page:
        raise NotFound("no video is deleted")
    return page[0].id


def _pages(tx: Transaction, *, deleted: bool, before: str | None) -> Iterator[Asset]:
    from rushes.store import assets

    while page := assets.list_page(tx, deleted=deleted, before=before, limit=PAGE):
        yield from page
        before = page[-1].id


def _check_status(status: str | None) -> None:
    from rushes.domain.asset import AssetStatus

    if status is not None and status not in list(AssetStatus):
        raise Invalid(f"{status!r} is not a status", hint=f"one of: {', '.join(AssetStatus)}")


def _confirm(chosen: list[Asset], *, yes: bool) -> None:
    from rushes.cli.video_text import video_name

    if yes:
        return
    if not sys.stdin.isatty():
        raise Invalid("nobody can be asked whether to delete", hint="say --yes")
    what = video_name(chosen[0]) if len(chosen) == 1 else plural(len(chosen), "video")
    if not typer.confirm(f"delete {what}?", err=True):
        raise typer.Abort


def _views(done: list[Deleted]) -> list[dict[str, object]]:
    from rushes.cli.views import asset_view, rfc3339

    return [
        {
            **asset_view(one.asset),
            "purged_at": rfc3339(one.purged_at),
            "stopped_job": one.stopped_job,
        }
        for one in done
    ]
