"""`/api/search`: the moments that answer, as JSON and as files; and what helps to ask."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel, ConfigDict, Field

from rushes.api.context import AtDesk, Here
from rushes.api.desk.search import BINS, Where
from rushes.api.findings import Found, Heatmap, Hit, Suggestions
from rushes.api.routers.jobs import Limit
from rushes.errors import Invalid
from rushes.library import captions
from rushes.library.indexing import Source
from rushes.library.query import LONGEST, Mode
from rushes.library.search import CANDIDATES

router = APIRouter(tags=["search"])

Text = Annotated[str, Query(max_length=LONGEST)]
TYPES = {
    "csv": "text/csv; charset=utf-8",
    "srt": "application/x-subrip; charset=utf-8",
    "vtt": "text/vtt; charset=utf-8",
    "json": "application/json",
}


class Asked(BaseModel):
    """`from` and `to` are dates of the videos; `to` is not part of it any more."""

    model_config = ConfigDict(extra="forbid")

    q: Annotated[str, Field(max_length=LONGEST)]
    mode: Mode = Mode.WORDS
    video: Annotated[str | None, Field(max_length=64)] = None
    lang: Annotated[str | None, Field(max_length=40)] = None
    source: Source | None = None
    min_confidence: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] = 0.0
    since: Annotated[datetime | None, Field(alias="from")] = None
    until: Annotated[datetime | None, Field(alias="to")] = None

    def where(self) -> Where:
        return {
            "mode": self.mode,
            "video": self.video,
            "language": self.lang,
            "source": self.source,
            "min_confidence": self.min_confidence,
            "since": self.since,
            "until": self.until,
        }


class Paged(Asked):
    cursor: Annotated[str | None, Field(max_length=300)] = None
    limit: Limit = 50


class Export(Asked):
    format: Literal["csv", "srt", "vtt", "json"]


@router.get("/search")
def search(desk: AtDesk, here: Here, asked: Annotated[Paged, Query()]) -> Found:
    """Find moments by what is written or said in them."""
    found = desk.search(asked.q, limit=asked.limit, cursor=asked.cursor, **asked.where())
    return _below(here.settings.root_path, found)


@router.get("/search/suggest")
def suggest(desk: AtDesk, q: Text, limit: Annotated[int, Query(ge=1, le=50)] = 10) -> Suggestions:
    """Say how the last word may go on."""
    return desk.search.suggest(q, limit=limit)


@router.get(
    "/search/export",
    response_class=Response,
    responses={200: {"content": {type: {} for type in TYPES.values()}}},
)
def export(desk: AtDesk, here: Here, asked: Annotated[Export, Query()]) -> Response:
    """Return all moments that answer, a thousand at most, as a file."""
    if asked.format in ("srt", "vtt") and asked.video is None:
        raise Invalid("subtitles are of one video", hint="name it with video=")
    found = desk.search(asked.q, limit=CANDIDATES, **asked.where())
    content = captions.FORMATS[asked.format](_rows(_below(here.settings.root_path, found)))
    return Response(content, media_type=TYPES[asked.format])


@router.get("/videos/{video_id}/heatmap")
def heatmap(
    desk: AtDesk,
    video_id: str,
    q: Annotated[str | None, Query(max_length=LONGEST)] = None,
    bins: Annotated[int, Query(ge=1, le=BINS)] = 100,
) -> Heatmap:
    """Say where in a video there is text and, with a question, where it answers."""
    return desk.search.heatmap(video_id, text=q, bins=bins)


def _rows(found: Found) -> list[dict[str, Any]]:
    return [hit.model_dump(mode="json") for hit in sorted(found.items, key=_by_time)]


def _by_time(hit: Hit) -> tuple[str, int, int]:
    return hit.asset_id, hit.start_ms, hit.span_id


def _below(root: str, found: Found) -> Found:
    """Return the answer with addresses as they are behind a proxy that gives us a path."""
    if not root:
        return found
    return found.model_copy(
        update={
            "items": [_moved(root, hit) for hit in found.items],
            "near": [_moved(root, hit) for hit in found.near],
        }
    )


def _moved(root: str, hit: Hit) -> Hit:
    frame = None if hit.frame_url is None else root + hit.frame_url
    return hit.model_copy(update={"url": root + hit.url, "frame_url": frame})
