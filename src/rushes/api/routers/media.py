"""`/api/videos/{id}/…` and `/media/{ticket}/{id}/…`: playlists, segments, pictures, the original.

The same paths below a ticket need no header, and as playlists name everything relatively, a player
that was given one such URL finds the rest by itself. Files of versions mostly never come here:
`FastPath` has sent them before.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Depends, Query, Request, Response
from pydantic import Field

from rushes.api import models
from rushes.api.context import From, Here, Who
from rushes.api.files import SAFE, Sent, describe
from rushes.api.idempotency import Once
from rushes.api.media import PLAYLIST, VERSION, Shelf, is_escaped, shelf_of
from rushes.api.routers.jobs import LARGEST, Body
from rushes.domain.asset import Asset
from rushes.errors import NotFound
from rushes.library import audit, instant, layout, tickets
from rushes.library.playback import View
from rushes.media.clip import Window
from rushes.media.rendition import MASTER
from rushes.media.storyboard import VTT

router = APIRouter(tags=["playback"])
by_ticket = APIRouter(include_in_schema=False)

LONGEST_S = tickets.LONGEST.seconds
REVALIDATE = "private, no-cache"
GROWING, CLOSED = "no-store", "private, max-age=10"
MAX_NAME = 150

Route = Callable[..., Response]
Moment = Annotated[int, Query(ge=0, le=LARGEST)]
"""A time within a film, in milliseconds."""


class Wish(Body):
    expires_in: Annotated[int, Field(ge=1, le=LONGEST_S)] = LONGEST_S


class Ticket(models.Model):
    """A URL that plays one video without key or cookie, until `expires_at`."""

    url: str
    expires_at: models.Time


def asset_of(request: Request, video_id: str) -> Asset:
    """Return the video that is asked for, if whoever asks may watch it."""
    if is_escaped(request.scope):
        raise NotFound("there is nothing here")
    ticket = request.path_params.get("ticket")
    return shelf_of(request.app).watched(request, video_id, ticket)


def shelf_here(request: Request) -> Shelf:
    return shelf_of(request.app)


Watched = Annotated[Asset, Depends(asset_of)]
OnShelf = Annotated[Shelf, Depends(shelf_here)]


def plays(path: str, type: str) -> Callable[[Route], Route]:
    """Offer a path to whoever has a key or a cookie, and to holders of a ticket; HEAD as GET."""

    def add(route: Route) -> Route:
        place = f"/videos/{{video_id}}/{path}"
        shown: dict[int | str, dict[str, Any]] = {200: {"content": {type: {}}}}
        router.get(place, response_class=Response, responses=shown)(route)
        router.head(place, include_in_schema=False)(route)
        below = f"/media/{{ticket}}/{{video_id}}/{path}"
        by_ticket.api_route(below, methods=["GET", "HEAD"])(route)
        return route

    return add


@plays("index.m3u8", PLAYLIST)
@plays(MASTER, PLAYLIST)
def master_playlist(request: Request, asset: Watched, shelf: OnShelf) -> Response:
    """Return the playlist of the version to watch, which grows while the film is made."""
    version = _to_watch(asset)
    made = shelf.playlists(asset.id, version)
    text = layout.from_above(_text(made.texts, MASTER), version)
    return _playlist(request, text, closed=made.closed)


@plays("poster.jpg", "image/jpeg")
def poster(request: Request, asset: Watched, shelf: OnShelf) -> Response:
    """Return the poster of the version to watch."""
    file = shelf.file(asset.id, _to_watch(asset), "poster.jpg", cache=REVALIDATE)
    return Sent(file, dict(request.scope["headers"]), request.method)


@plays(VTT, "text/vtt")
def storyboard(request: Request, asset: Watched, shelf: OnShelf) -> Response:
    """Return the storyboard of the version to watch: which part of which picture shows when."""
    version = _to_watch(asset)
    text = Path(shelf.file(asset.id, version, VTT).path).read_text("utf-8")
    moved = text.replace("\nstoryboard-", f"\nv{version}/storyboard-")
    return _told(request, moved, "text/vtt; charset=utf-8", REVALIDATE)


@plays(instant.NAME, PLAYLIST)
def instant_clip(
    request: Request, asset: Watched, shelf: OnShelf, start: Moment, end: Moment
) -> Response:
    """Return a playlist that plays a part of the video at once, from `start` ms on."""
    version = _to_watch(asset)
    text = instant.master(_view(shelf, asset, version), Window(start_ms=start, end_ms=end))
    return _playlist(request, layout.from_above(text, version), closed=True)


@plays(f"v{{n}}/{{name:path}}/{instant.NAME}", PLAYLIST)
def instant_part(
    request: Request,
    asset: Watched,
    shelf: OnShelf,
    n: str,
    name: str,
    start: Moment,
    end: Moment,
) -> Response:
    """Return the playlist of one quality, or of the sound, of such a part."""
    seen = _view(shelf, asset, _number(asset, n))
    text = instant.media(seen, name, Window(start_ms=start, end_ms=end))
    return _playlist(request, text, closed=True)


@plays("v{n}/{name:path}", "video/iso.segment")
def version_file(request: Request, asset: Watched, shelf: OnShelf, n: str, name: str) -> Response:
    """Return a playlist, a segment or a picture of one version, by the name that playlists use."""
    version = _number(asset, n)
    if name.endswith(".m3u8"):
        made = shelf.playlists(asset.id, version)
        return _playlist(request, _text(made.texts, name), closed=made.closed)
    file = shelf.file(asset.id, version, name)
    return Sent(file, dict(request.scope["headers"]), request.method)


@router.head("/videos/{video_id}/download", include_in_schema=False)
@router.get("/videos/{video_id}/download", response_class=Response)
def download_original(
    request: Request, here: Here, who: Who, origin: From, video_id: str
) -> Response:
    """Return the file as it was uploaded. Who took it, and when, is written down."""
    db, storage = here.library.db, here.library.storage
    asset = db.read(lambda tx: tickets.visible(tx, who, video_id))
    headers = {
        "Content-Type": "application/octet-stream",
        "Content-Disposition": attachment(asset.filename),
        "Cache-Control": REVALIDATE,
    }
    path = str(storage.existing(asset.source_key))
    file = describe(path, asset.bytes, asset.sha256, headers)
    sent = Sent(file, dict(request.scope["headers"]), request.method)
    if request.method == "GET" and sent.status_code != 304:
        deed = ("video.download", f"video {asset.id}")
        db.transact(lambda tx: audit.write(tx, who, *deed, origin=origin))
    return sent


@router.post("/videos/{video_id}/ticket")
def make_ticket(
    here: Here, shelf: OnShelf, who: Who, once: Once, video_id: str, body: Wish | None = None
) -> Ticket:
    """Make a URL for a player that sends neither key nor cookie; it is good for this video only."""
    lifetime = timedelta(seconds=(body or Wish()).expires_in)

    def work() -> Ticket:
        made = here.library.db.read(lambda tx: tickets.issue(tx, who, video_id, lifetime))
        signed = tickets.sign(shelf.secret, made)
        url = f"{here.settings.root_path}/media/{signed}/{made.video_id}/{MASTER}"
        return Ticket(url=url, expires_at=models.moment(made.expires_at))

    return once(work)


def attachment(filename: str) -> str:
    """Return a Content-Disposition under which a browser saves a file by the name that it had.

    >>> attachment('a "b"\\r\\n/ü.mp4')
    "attachment; filename=\\"a _b_____.mp4\\"; filename*=UTF-8''a%20%22b%22___%C3%BC.mp4"
    """
    shown = "".join(one if one.isprintable() and one not in "/\\" else "_" for one in filename)
    name = shown[-MAX_NAME:] or "video"
    plain = "".join(one if one.isascii() and one not in '"%;' else "_" for one in name)
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"


def _to_watch(asset: Asset) -> int:
    if asset.watchable is None:
        raise NotFound(f"nothing of video {asset.id} can be watched yet")
    return asset.watchable


def _number(asset: Asset, n: str) -> int:
    if not VERSION.fullmatch(n):
        raise NotFound(f"video {asset.id} has no such version")
    return int(n)


def _view(shelf: Shelf, asset: Asset, version: int) -> View:
    seen = shelf.playlists(asset.id, version).seen
    if seen is None:
        raise NotFound(f"nothing of video {asset.id} can be watched yet")
    return seen


def _text(texts: dict[str, str], name: str) -> str:
    if name not in texts:
        raise NotFound("there is no such playlist yet")
    return texts[name]


def _playlist(request: Request, text: str, *, closed: bool) -> Response:
    return _told(request, text, PLAYLIST, CLOSED if closed else GROWING)


def _told(request: Request, text: str, type: str, cache: str) -> Response:
    body = text.encode()
    headers = {"Content-Type": type, "Content-Length": str(len(body)), "Cache-Control": cache}
    return Response(b"" if request.method == "HEAD" else body, headers={**headers, **SAFE})
