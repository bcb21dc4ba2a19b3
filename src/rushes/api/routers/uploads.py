"""`/api/uploads`: tus 1.0, resumable; `POST /api/videos`: a small film in one go, or a path."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from anyio import to_thread
from fastapi import APIRouter, Header, Request, Response
from pydantic import Field
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException

from rushes.api import forms, models, uploads
from rushes.api.context import Here, Who
from rushes.api.idempotency import HEADER
from rushes.api.routers.jobs import Body
from rushes.domain.person import Scope
from rushes.errors import Invalid
from rushes.library import inbox, wishes
from rushes.library import uploads as library
from rushes.library.incoming import Incoming, Wish, get
from rushes.library.pipelines import Options
from rushes.library.upload import Added
from rushes.store.uploads import State

router = APIRouter(tags=["uploads"])

Tus = Annotated[str | None, Header(alias="Tus-Resumable")]
Offset = Annotated[str | None, Header(alias="Upload-Offset")]
Checksum = Annotated[str | None, Header(alias="Upload-Checksum")]
Key = Annotated[str | None, Header(alias=HEADER, max_length=255)]
CHUNK = 1 << 20


class Upload(models.Model):
    """A film on its way in."""

    upload_id: str
    state: str
    size: int
    offset: int
    filename: str | None
    asset_id: str | None
    job_id: str | None
    error_code: str | None
    error: str | None
    expires_at: models.Time


class Import(Body):
    """A film on the server's own disk, inside one of its import roots."""

    path: Annotated[str, Field(min_length=1, max_length=4096)]
    title: Annotated[str | None, Field(max_length=500)] = None
    tags: Annotated[tuple[str, ...], Field(max_length=50)] = ()
    qualities: Annotated[list[str] | None, Field(max_length=10)] = None
    languages: Annotated[tuple[str, ...], Field(max_length=20)] = ("en",)
    text: bool = True
    duplicate: Annotated[str, Field(pattern="^(refuse|allow)$")] = "refuse"


@router.options("/uploads")
@router.options("/uploads/{upload_id}", include_in_schema=False)
def describe(here: Here) -> Response:
    """Tell what this server can do with uploads."""
    return Response(None, 204, uploads.offers(here.library.caps.size_bytes))


@router.post("/uploads", status_code=201)
async def create(
    here: Here,
    who: Who,
    request: Request,
    tus: Tus = None,
    length: Annotated[str | None, Header(alias="Upload-Length")] = None,
    metadata: Annotated[str, Header(alias="Upload-Metadata")] = "",
    checksum: Checksum = None,
    key: Key = None,
) -> Response:
    """Begin an upload; its first bytes may come along."""
    uploads.check_version(tus)
    who.need(Scope.UPLOAD)
    if "upload-defer-length" in request.headers:
        raise Invalid("the length of an upload has to be known: send Upload-Length")
    size = uploads.number(length, "Upload-Length")
    wish = uploads.wish_of(size, uploads.pairs(metadata), key)
    wish = replace(wish, metadata=metadata or None)
    made = await to_thread.run_sync(lambda: library.create(here.library, who, wish))
    location = {"Location": f"{request.scope.get('root_path', '')}/api/uploads/{made.id}"}
    if request.headers.get("content-type") == uploads.OFFSETS:
        made = await _take(here, who, made.id, 0, checksum, request.stream())
    return Response(None, 201, {**uploads.headers_of(made), **location})


@router.head("/uploads/{upload_id}")
def look(here: Here, who: Who, upload_id: str, tus: Tus = None) -> Response:
    """Tell how far an upload is."""
    uploads.check_version(tus)
    who.need(Scope.UPLOAD)
    found = _finished(here, who, get(here.library, who, upload_id))
    gone = found.state is State.FAILED  # a client then begins anew
    said = {"Upload-Metadata": found.metadata} if found.metadata else {}
    return Response(None, 410 if gone else 200, {**uploads.headers_of(found), **said})


@router.get("/uploads/{upload_id}")
def show(here: Here, who: Who, upload_id: str) -> Upload:
    """Show an upload: how far it is, and the video that it became."""
    who.need(Scope.UPLOAD)
    return _view(get(here.library, who, upload_id))


@router.patch("/uploads/{upload_id}", status_code=204)
async def append(
    here: Here,
    who: Who,
    request: Request,
    upload_id: str,
    tus: Tus = None,
    offset: Offset = None,
    checksum: Checksum = None,
) -> Response:
    """Send the next bytes; with the last ones the upload becomes a video."""
    uploads.check_version(tus)
    who.need(Scope.UPLOAD)
    if request.headers.get("content-type") != uploads.OFFSETS:
        raise HTTPException(415, f"send the bytes as {uploads.OFFSETS}")
    start = uploads.number(offset, "Upload-Offset")
    taken = await _take(here, who, upload_id, start, checksum, request.stream())
    return Response(None, 204, uploads.headers_of(taken))


@router.delete("/uploads/{upload_id}", status_code=204)
def terminate(here: Here, who: Who, upload_id: str, tus: Tus = None) -> Response:
    """Give an upload up; its bytes are removed."""
    uploads.check_version(tus)
    who.need(Scope.UPLOAD)
    library.terminate(here.library, who, upload_id)
    return Response(None, 204)


@router.post("/videos", status_code=202, openapi_extra={"requestBody": forms.BODY})
async def send(
    here: Here, who: Who, request: Request, response: Response, key: Key = None
) -> models.Added:
    """Send a small film in one request; larger ones go to /api/uploads."""
    who.need(Scope.UPLOAD)
    async with forms.form_of(request) as (file, fields):
        told = {**fields, "filename": file.filename or ""}
        if key is not None:  # with it, another film is another request
            told.setdefault("sha256", await to_thread.run_sync(forms.sha256, file))
        wish = uploads.wish_of(file.size or 0, told, key)
        made = await to_thread.run_sync(lambda: library.create(here.library, who, wish))
        if made.state is State.OPEN and made.offset < made.size:
            await file.seek(made.offset)
            receiving = library.receive(here.library, who, made.id, made.offset)
            await uploads.pour(_chunks(file), receiving)
    added = await to_thread.run_sync(lambda: library.finish(here.library, who, made.id))
    return _answer(added, response)


@router.post("/videos/import", status_code=202)
def bring(here: Here, who: Who, response: Response, body: Import, key: Key = None) -> models.Added:
    """Add a film that lies on the server, in a folder that films may be imported from."""
    who.need(Scope.UPLOAD)
    wish = Wish(
        title=body.title,
        tags=body.tags,
        options=Options(
            qualities=wishes.qualities_of(",".join(body.qualities) if body.qualities else None),
            languages=wishes.languages_of(",".join(body.languages)),
            text=body.text,
        ),
        duplicate="allow" if body.duplicate == "allow" else "refuse",
        idempotency_key=key,
    )
    roots = [Path(root) for root in here.settings.import_roots]
    added = inbox.import_path(here.library, who, Path(body.path), wish, roots)
    return _answer(added, response)


async def _take(
    here: Here, who: Who, id: str, offset: int, checksum: str | None, body: AsyncIterator[bytes]
) -> Incoming:
    """Take bytes in, and make a video of an upload that is whole."""
    await uploads.pour(body, library.receive(here.library, who, id, offset, checksum))
    return await to_thread.run_sync(lambda: _finished(here, who, get(here.library, who, id)))


def _finished(here: Here, who: Who, found: Incoming) -> Incoming:
    """Make a video of an upload that is whole, also if its sender left with the last byte."""
    if found.state is not State.OPEN or found.offset < found.size:
        return found
    library.finish(here.library, who, found.id)
    return get(here.library, who, found.id)


async def _chunks(file: UploadFile) -> AsyncIterator[bytes]:
    while chunk := await file.read(CHUNK):
        yield chunk


def _answer(added: Added, response: Response) -> models.Added:
    response.headers["Location"] = f"/api/jobs/{added.job_id}"
    return models.Added(asset_id=added.asset_id, job_id=added.job_id, created=added.created)


def _view(found: Incoming) -> Upload:
    return Upload(
        upload_id=found.id,
        state=found.state,
        size=found.size,
        offset=found.offset,
        filename=found.filename,
        asset_id=found.asset_id,
        job_id=found.job_id,
        error_code=found.error_code,
        error=found.error,
        expires_at=models.moment(found.expires_at),
    )
