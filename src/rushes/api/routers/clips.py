"""`/api/clips`: parts of videos as files of their own; `/clips`, too, as the documents have it."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from pydantic import Field

from rushes.api.clips import Clip, ClipPlan, Requested
from rushes.api.context import AtDesk, Here
from rushes.api.files import Sent, describe
from rushes.api.idempotency import Once
from rushes.api.media import IMMUTABLE, TYPES
from rushes.api.models import Page
from rushes.api.routers.jobs import LARGEST, Body, Cursor, Limit
from rushes.api.routers.media import REVALIDATE, Moment, Watched, attachment, plays
from rushes.domain import clip as domain
from rushes.errors import NotFound
from rushes.library import clips
from rushes.library.library import Library
from rushes.media.clip import LONGEST_PADDING_MS, PADDING_MS, Mode
from rushes.store import clips as rows

router = APIRouter(tags=["clips"])
root = APIRouter(include_in_schema=False)

MP4 = TYPES[".mp4"]
SHORTEST_S, LONGEST_S = (
    int(life.total_seconds()) for life in (clips.SHORTEST_LIFE, clips.LONGEST_LIFE)
)
Padding = Annotated[int, Query(ge=0, le=LONGEST_PADDING_MS)]


class Wish(Body):
    """A part of a video, in milliseconds, with some padding on both sides; seconds to keep it."""

    video_id: Annotated[str, Field(max_length=64)]
    t_start: Annotated[int, Field(ge=0, le=LARGEST, strict=True)]
    t_end: Annotated[int, Field(ge=0, le=LARGEST, strict=True)]
    padding_ms: Annotated[int, Field(ge=0, le=LONGEST_PADDING_MS, strict=True)] = PADDING_MS
    mode: Mode = Mode.EXACT
    title: Annotated[str | None, Field(max_length=clips.TITLE)] = None
    expires_in: Annotated[int | None, Field(ge=SHORTEST_S, le=LONGEST_S)] = None


@root.post("/clips", status_code=202)
@router.post("/clips", status_code=202, responses={200: {"model": Requested}})
def make_clip(desk: AtDesk, once: Once, body: Wish, response: Response) -> Requested:
    """Ask for a clip. The same request is the same clip: 200 if it is there, 202 if it is new."""
    made = once(
        lambda: desk.clips.create(
            body.video_id,
            body.t_start,
            body.t_end,
            padding_ms=body.padding_ms,
            mode=body.mode,
            title=body.title,
            expires_in=body.expires_in,
        )
    )
    response.status_code = 202 if made.created else 200
    response.headers["Location"] = f"/api/clips/{made.clip_id}"
    return made


@router.get("/clips/", include_in_schema=False)
@router.get("/clips")
def list_clips(
    desk: AtDesk,
    video_id: Annotated[str | None, Query(max_length=64)] = None,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> Page[Clip]:
    """List clips, newest first; those of one video, or all."""
    return desk.clips.list(video_id=video_id, cursor=cursor, limit=limit)


@router.get("/clips/{clip_id}")
def show_clip(desk: AtDesk, clip_id: str) -> Clip:
    """Show one clip: how far it is, where its file is, and how it was made."""
    return desk.clips.show(clip_id)


@router.delete("/clips/{clip_id}")
def delete_clip(desk: AtDesk, clip_id: str) -> Clip:
    """Remove a clip for good, and stop its job."""
    return desk.clips.delete(clip_id)


@router.head("/clips/{clip_id}/file", include_in_schema=False)
@router.get(
    "/clips/{clip_id}/file", response_class=Response, responses={200: {"content": {MP4: {}}}}
)
def download_clip(request: Request, here: Here, desk: AtDesk, clip_id: str) -> Response:
    """Return the file of a clip, under a name that tells what it is."""
    found = desk.clips.find(clip_id)
    headers = {
        "Content-Type": MP4,
        "Content-Disposition": attachment(_filename(found)),
        "Cache-Control": REVALIDATE,
    }
    return _sent(request, here.library, found, headers)


@plays("clips/{clip_id}.mp4", MP4)
def play_clip(request: Request, here: Here, asset: Watched, clip_id: str) -> Response:
    """Return the file of a clip to a player; with a ticket of its video no key is needed."""
    found = here.library.db.read(lambda tx: rows.get(tx, clip_id))
    if found.asset_id != asset.id:
        raise NotFound(f"there is no clip {clip_id}", hint=rows.HINT)
    headers = {"Content-Type": MP4, "Cache-Control": IMMUTABLE}
    return _sent(request, here.library, clips.check_there(found), headers)


@router.get("/videos/{video_id}/clip-plan")
def plan_clip(
    desk: AtDesk,
    video_id: str,
    start: Moment,
    end: Moment,
    padding_ms: Padding = PADDING_MS,
    mode: Mode = Mode.EXACT,
) -> ClipPlan:
    """Say what a clip would be, and where a fast one would really begin. Nothing is cut."""
    return desk.clips.plan(video_id, start, end, padding_ms=padding_ms, mode=mode)


def _sent(
    request: Request, library: Library, found: domain.Clip, headers: dict[str, str]
) -> Response:
    path = library.storage.existing(clips.file_of(found))
    file = describe(str(path), found.bytes or 0, found.sha256 or "", headers)
    return Sent(file, dict(request.scope["headers"]), request.method)


def _filename(found: domain.Clip) -> str:
    """Return a name that tells which part of which video it is.

    Colons are left out: not every system can have them.
    """
    start, end = (f"{ms / 1000:.3f}" for ms in (found.actual_start, found.actual_end or 0))
    return f"{found.title or found.asset_id[-8:]} {start}-{end}.mp4"
