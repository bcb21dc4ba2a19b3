"""`/api/videos`: look at them, name them, delete, restore, make them anew, read their text."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Header, Query, Response
from fastapi.responses import PlainTextResponse
from pydantic import Field

from rushes.api import models
from rushes.api.context import AtDesk
from rushes.api.idempotency import Once
from rushes.api.routers.jobs import Body, Cursor, Limit, version_of
from rushes.domain.asset import AssetStatus
from rushes.domain.graph import NORMAL
from rushes.library import captions

router = APIRouter(tags=["videos"])


class Edit(Body):
    title: Annotated[str | None, Field(min_length=1, max_length=500)] = None
    tags: Annotated[list[str] | None, Field(max_length=50)] = None


class Again(Body):
    """What to make anew: all, some qualities, or those that are missing; the text, too."""

    qualities: Annotated[list[str] | None, Field(max_length=10)] = None
    missing_only: bool = False
    delete_transcription: bool = False
    priority: Annotated[int, Field(ge=0, le=10)] = NORMAL


class Texts(models.Model):
    asset_id: str
    items: list[dict[str, Any]]


@router.get("/videos/", include_in_schema=False)
@router.get("/videos")
def list_videos(
    desk: AtDesk,
    status: Annotated[list[AssetStatus] | None, Query(max_length=4)] = None,
    tag: Annotated[str | None, Query(max_length=100)] = None,
    sha256: Annotated[str | None, Query(pattern="^[0-9a-fA-F]{64}$")] = None,
    deleted: bool = False,
    order: Literal["newest", "oldest"] = "newest",
    cursor: Cursor = None,
    limit: Limit = 50,
) -> models.Page[models.Video]:
    """List videos, newest first or oldest first; `status` may be given more than once.

    With `sha256`, only one's own of this content: whether a film is here can be asked before it is
    sent.
    """
    if sha256 is not None:
        return desk.videos.same(sha256)
    return desk.videos.list(
        status=status,
        tag=tag,
        deleted=deleted,
        oldest=order == "oldest",
        cursor=cursor,
        limit=limit,
    )


@router.get("/videos/counts")
def count_videos(desk: AtDesk) -> models.VideoCounts:
    """Count videos by status."""
    return desk.videos.counts()


@router.get("/videos/{video_id}")
def show_video(desk: AtDesk, video_id: str, response: Response) -> models.VideoDetail:
    """Show one video: status, milestones, qualities, what was decided about it."""
    video = desk.videos.show(video_id)
    response.headers["ETag"] = f'"{video.revision}"'
    return video


@router.patch("/videos/{video_id}")
def edit_video(
    desk: AtDesk,
    video_id: str,
    body: Edit,
    response: Response,
    if_match: Annotated[str | None, Header()] = None,
) -> models.Video:
    """Change the title, the tags, or both."""
    video = desk.videos.edit(
        video_id, title=body.title, tags=body.tags, revision=version_of(if_match)
    )
    response.headers["ETag"] = f'"{video.revision}"'
    return video


@router.delete("/videos/{video_id}")
def delete_video(desk: AtDesk, video_id: str) -> models.Deleted:
    """Hide a video and stop its job; it can be restored for 30 days."""
    return desk.videos.delete(video_id)


@router.post("/videos/{video_id}/restore")
def restore_video(desk: AtDesk, video_id: str, once: Once) -> models.Video:
    """Bring a deleted video back."""
    return once(lambda: desk.videos.restore(video_id))


@router.post("/videos/{video_id}/retranscode", status_code=202)
def retranscode_video(
    desk: AtDesk, video_id: str, once: Once, response: Response, body: Again | None = None
) -> models.Added:
    """Make a new version; the old one plays until the new one is whole."""
    wish = body or Again()
    added = once(
        lambda: desk.videos.retranscode(
            video_id,
            qualities=tuple(wish.qualities) if wish.qualities else None,
            missing_only=wish.missing_only,
            text=wish.delete_transcription,
            priority=wish.priority,
        )
    )
    response.headers["Location"] = f"/api/jobs/{added.job_id}"
    return added


@router.get("/videos/{video_id}/qualities")
def list_qualities(desk: AtDesk, video_id: str) -> models.Page[models.Quality]:
    """List the qualities of the newest version: status, segments, percent."""
    versions = desk.videos.show(video_id).versions
    return models.Page(items=versions[-1].qualities if versions else [])


@router.get("/videos/{video_id}/text")
def show_text(desk: AtDesk, video_id: str) -> Texts:
    """Return what was on the screen, in the order of time, with the entities in it."""
    texts = desk.videos.text(video_id)
    return Texts(asset_id=desk.videos.show(video_id).asset_id, items=captions.records(texts))


@router.get("/videos/{video_id}/text.vtt", response_class=PlainTextResponse)
def text_track(desk: AtDesk, video_id: str) -> PlainTextResponse:
    return PlainTextResponse(captions.vtt(desk.videos.text(video_id)), media_type="text/vtt")


@router.get("/videos/{video_id}/text.srt", response_class=PlainTextResponse)
def subtitles(desk: AtDesk, video_id: str) -> PlainTextResponse:
    texts = captions.srt(desk.videos.text(video_id))
    return PlainTextResponse(texts, media_type="application/x-subrip")


@router.get("/videos/{video_id}/text.csv", response_class=PlainTextResponse)
def text_table(desk: AtDesk, video_id: str) -> PlainTextResponse:
    texts = captions.csv(desk.videos.text(video_id))
    return PlainTextResponse(texts, media_type="text/csv")


@router.get("/videos/{video_id}/files")
def list_files(desk: AtDesk, video_id: str) -> models.Page[models.File]:
    """List the files of the version to watch."""
    return models.Page(items=[*desk.videos.files(video_id)])
