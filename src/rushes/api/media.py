"""Films on the wire: which file a name stands for, and who may have it.

A name is looked up among the rows of a version and never becomes a path. `FastPath` stands before
the application and hands over files of versions; whatever it cannot, for any reason, it leaves to
the router, which says why.

What was looked up is kept: files for as long as there is room, because the name of a committed file
never gets another content; permissions for a second, so that whatever is deleted, revoked or
collected is not served any longer than that.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cached_property
from pathlib import PurePosixPath
from typing import NamedTuple, cast

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from rushes.api.context import principal_of
from rushes.api.files import File, Sent, describe
from rushes.api.recent import Recent
from rushes.domain.artifact import name_of
from rushes.domain.asset import Asset
from rushes.errors import NotFound, RushesError
from rushes.library import keys, playback, tickets
from rushes.library.library import Library
from rushes.library.playback import View
from rushes.store.database import Transaction

TYPES = {
    ".m4s": "video/iso.segment",
    ".mp4": "video/mp4",
    ".jpg": "image/jpeg",
    ".vtt": "text/vtt; charset=utf-8",
}
PLAYLIST = "application/vnd.apple.mpegurl"
IMMUTABLE = "private, max-age=31536000, immutable"
TRUST_S = 1.0
MOST_FILES, MOST_GRANTS, MOST_PLAYLISTS = 50_000, 10_000, 32
VERSION = re.compile(r"[1-9][0-9]{0,8}")
PLACE = re.compile(
    r"/(?:api/videos|media/(?P<ticket>[^/]+))/(?P<video>[^/]+)"
    rf"/v(?P<n>{VERSION.pattern})/(?P<name>.+)(?<!\.m3u8)"
)


class Playlists(NamedTuple):
    """What a version offers after so many changes; `closed`: there will be no more."""

    changes: int
    texts: dict[str, str]
    seen: View | None

    @property
    def closed(self) -> bool:
        return self.seen is not None and self.seen.closed


class Place(NamedTuple):
    """Where a request for a file of a version points; `by` is all that it brings to be let in."""

    by: tuple[str | None, bytes | None, bytes | None]
    video: str
    version: int
    name: str


class Shelf:
    """Finds what may be watched. One per server."""

    def __init__(self, library: Library, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.library = library
        self._clock = clock
        self._grants: Recent[Place, tuple[str, float]] = Recent(MOST_GRANTS)
        self._files: Recent[str, File] = Recent(MOST_FILES)
        self._playlists: Recent[tuple[str, int], Playlists] = Recent(MOST_PLAYLISTS)

    @cached_property
    def secret(self) -> bytes:
        return keys.secret(self.library.db, tickets.SECRET)

    def watched(self, request: Request, video: str, ticket: str | None) -> Asset:
        """Return the video that whoever sends this may watch. Raises as they may not."""
        if ticket is None:
            who = principal_of(request)
            return self.library.db.read(lambda tx: tickets.visible(tx, who, video))
        held = tickets.check(self.secret, ticket, video, now=time.time_ns() // 1_000_000)
        return self.library.db.read(lambda tx: tickets.admit(tx, held))

    def playlists(self, asset_id: str, version: int) -> Playlists:
        """Return the playlists of a version as they are now."""

        def work(tx: Transaction) -> Playlists:
            # first: what is committed between two statements shows in the number of next time
            changes = _changes(tx, asset_id, version)
            known = self._playlists.get((asset_id, version))
            if known is not None and known.changes == changes:
                return known
            seen = playback.view(tx, asset_id, version)
            texts = playback.playlists(seen) if seen else {}
            return self._playlists.put((asset_id, version), Playlists(changes, texts, seen))

        return self.library.db.read(work)

    def file(self, asset_id: str, version: int, part: str, *, cache: str = IMMUTABLE) -> File:
        """Return the file that a name stands for, if we know its type. Raises NotFound."""
        type = TYPES.get(PurePosixPath(part).suffix)
        name = name_of(asset_id, version, part)
        for row in self.library.db.read(lambda tx: tx.rows("artifact", name=name)) if type else ():
            path = self.library.storage.existing(row["key"])
            headers = {"Content-Type": str(type), "Cache-Control": cache}
            return describe(str(path), row["bytes"], row["sha256"], headers)
        raise NotFound(f"version {version} of video {asset_id} has no such file")

    async def fetch(self, scope: Scope, place: Place) -> File:
        """Return the file at a place, for whoever asks. Raises as `watched` and `file` do."""
        key = place._replace(name="")
        asset_id, until = self._grants.get(key) or ("", 0.0)
        now = self._clock()
        if until <= now:
            asset_id = await asyncio.to_thread(self._grant, Request(scope), place)
            self._grants.put(key, (asset_id, now + TRUST_S))
        name = name_of(asset_id, place.version, place.name)
        known = self._files.get(name)
        if known is None:
            known = await asyncio.to_thread(self.file, asset_id, place.version, place.name)
            self._files.put(name, known)
        return known

    def _grant(self, request: Request, place: Place) -> str:
        ticket, *_ = place.by
        asset = self.watched(request, place.video, ticket)
        self.library.db.read(lambda tx: _changes(tx, asset.id, place.version))
        return asset.id


class FastPath:
    """Hands over the files of versions before the application sees the request."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        asked = dict(scope["headers"]) if scope["type"] == "http" else {}
        place = place_of(scope, asked)
        if place is not None:
            with suppress(RushesError, HTTPException):  # nothing was sent yet
                file = await shelf_of(scope["app"]).fetch(scope, place)
                await Sent(file, asked, scope["method"])(scope, receive, send)
                return
        await self._app(scope, receive, send)


def shelf_of(app: Starlette) -> Shelf:
    if not hasattr(app.state, "shelf"):
        app.state.shelf = Shelf(app.state.context.library)
    return cast("Shelf", app.state.shelf)


def place_of(scope: Scope, asked: Mapping[bytes, bytes]) -> Place | None:
    """Return where a request points that may be answered with a file of a version."""
    if scope["type"] != "http" or scope["method"] not in ("GET", "HEAD") or is_escaped(scope):
        return None
    found = PLACE.fullmatch(scope["path"].removeprefix(scope.get("root_path", "")))
    if found is None:
        return None
    ticket, video, version, name = found.groups()
    by = (ticket, asked.get(b"authorization"), asked.get(b"cookie"))
    return Place(by, video, int(version), name)


def is_escaped(scope: Scope) -> bool:
    """Return whether a path has a `%`. No name of ours needs one, and `%2f` is no slash."""
    return b"%" in scope.get("raw_path", b"")


def _changes(tx: Transaction, asset_id: str, version: int) -> int:
    """Return how often a version was changed. Raises NotFound if there is none."""
    for row in tx.rows("versions", asset_id=asset_id):
        if row["n"] == version:
            return int(row["changes"])
    raise NotFound(f"video {asset_id} has no version {version}")
