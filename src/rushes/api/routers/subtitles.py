"""`/api/videos/{id}/subtitles`: SubRip and WebVTT in, WebVTT out."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import PlainTextResponse

from rushes.api.context import AtDesk
from rushes.api.findings import Track
from rushes.api.models import Page
from rushes.library import captions

router = APIRouter(tags=["subtitles"])

TEXT = {"schema": {"type": "string"}}
TAKES: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {"text/vtt": TEXT, "application/x-subrip": TEXT, "text/plain": TEXT},
    }
}


async def sent(request: Request) -> bytes:
    """Return the body as it came."""
    return await request.body()


@router.get("/videos/{video_id}/subtitles")
def list_subtitles(desk: AtDesk, video_id: str) -> Page[Track]:
    """List the subtitles that a video has: given ones, and those of its file."""
    return desk.subtitles.list(video_id)


@router.get("/videos/{video_id}/subtitles/{language}", response_class=PlainTextResponse)
def show_subtitles(desk: AtDesk, video_id: str, language: str) -> PlainTextResponse:
    """Return the subtitles of a language as WebVTT."""
    cues = desk.subtitles.cues(video_id, language)
    return PlainTextResponse(captions.vtt(cues), media_type="text/vtt")


@router.put("/videos/{video_id}/subtitles/{language}", openapi_extra=TAKES)
def put_subtitles(
    desk: AtDesk, video_id: str, language: str, content: Annotated[bytes, Depends(sent)]
) -> Track:
    """Give a video subtitles, SubRip or WebVTT in UTF-8; those it had in the language go."""
    return desk.subtitles.put(video_id, language, content)


@router.delete("/videos/{video_id}/subtitles/{language}", status_code=204)
def remove_subtitles(desk: AtDesk, video_id: str, language: str) -> Response:
    """Take subtitles away that were given."""
    desk.subtitles.remove(video_id, language)
    return Response(status_code=204)
