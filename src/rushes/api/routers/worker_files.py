"""`/api/worker/inputs`, `files`, `artifacts`: what a task elsewhere reads, and what it brings."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated, Any

from anyio import CancelScope, to_thread
from fastapi import APIRouter, Header, Request, Response
from starlette.requests import ClientDisconnect

from rushes.api.caller import AtWork
from rushes.api.context import Context, Here
from rushes.api.files import Sent, describe
from rushes.errors import Conflict, Invalid
from rushes.library import deliveries, keys
from rushes.library.deliveries import Held
from rushes.worker.protocol import Input, Inputs, Stored, Wanted

router = APIRouter(prefix="/worker", tags=["worker"])

ARCHIVE = "application/gzip"


@router.post("/inputs")
def inputs(request: Request, body: Wanted, caller: AtWork) -> Inputs:
    """Return addresses of files that a held task reads, good for a quarter of an hour."""
    secret = _secret(caller.here)
    found = deliveries.sources(caller.library, secret, caller.held(body), body.keys)
    top = f"{request.scope.get('root_path', '')}/api/worker/files"
    items = [Input(key=one.key, bytes=one.bytes, url=f"{top}/{one.ticket}") for one in found]
    return Inputs(items=items)


@router.get("/files/{ticket}")
def fetch(here: Here, request: Request, ticket: str) -> Response:
    """Send a file, or a part of it, to whoever holds its ticket and still has the task."""
    path = deliveries.source_of(here.library, _secret(here), ticket)
    known = path.stat()
    file = describe(
        str(path),
        known.st_size,
        f"{known.st_mtime_ns:x}-{known.st_size:x}",
        {"Content-Type": "application/octet-stream", "Cache-Control": "no-store"},
    )
    return Sent(file, dict(request.scope["headers"]), request.method)


@router.get("/artifacts/{task_id}/{lease_epoch}/{name:path}")
def look(caller: AtWork, owner: str, task_id: int, lease_epoch: int, name: str) -> Stored:
    """Tell how much of a file has come. Not by HEAD: a refusal has to say why."""
    held = Held(owner=caller.owner(owner), task_id=task_id, epoch=lease_epoch)
    coming = deliveries.delivery(caller.library, held, name)
    return Stored(offset=coming.offset)


@router.put("/artifacts/{task_id}/{lease_epoch}/{name:path}")
async def bring(
    caller: AtWork,
    request: Request,
    owner: str,
    task_id: int,
    lease_epoch: int,
    name: str,
    size: Annotated[int, Header(alias="Upload-Length", ge=0)],
    sha256: Annotated[str, Header(alias="Upload-SHA256", pattern="^[0-9a-f]{64}$")],
    offset: Annotated[int, Header(alias="Upload-Offset", ge=0)] = 0,
) -> Stored:
    """Take a file of a held task in, or the rest of one."""
    mine = await to_thread.run_sync(caller.owner, owner)
    held = Held(owner=mine, task_id=task_id, epoch=lease_epoch)
    if size > caller.library.caps.size_bytes:
        raise Invalid("the file is too large")
    coming = await to_thread.run_sync(deliveries.delivery, caller.library, held, name)
    if not coming.is_whole:
        await _pour(request.stream(), coming, offset, size)
        if coming.offset < size:
            return Stored(offset=coming.offset)
        await to_thread.run_sync(coming.finish, size, sha256)
    elif coming.offset != size or await to_thread.run_sync(coming.sha256) != sha256:
        raise Conflict(f"{name} is there already, and is another file")
    return Stored(offset=size, key=coming.key)


@router.post("/artifacts/{task_id}/{lease_epoch}")
async def bring_archive(
    caller: AtWork, request: Request, owner: str, task_id: int, lease_epoch: int
) -> list[Stored]:
    """Take all files of a held task in, as a tar.gz."""
    if request.headers.get("content-type") != ARCHIVE:
        raise Invalid(f"send the archive as {ARCHIVE}")
    mine = await to_thread.run_sync(caller.owner, owner)
    held = Held(owner=mine, task_id=task_id, epoch=lease_epoch)
    unpacking = deliveries.Unpacking(caller.library, held)
    async for chunk in request.stream():
        await to_thread.run_sync(unpacking.take, chunk)
    await to_thread.run_sync(unpacking.end)
    return [Stored(offset=one.offset, key=one.key) for one in unpacking.stored]


def _secret(here: Context) -> bytes:
    return keys.secret(here.library.db, deliveries.SECRET)


async def _pour(
    body: AsyncIterator[bytes], coming: deliveries.Delivery, offset: int, size: int
) -> None:
    receiving = coming.open(offset)
    file = await to_thread.run_sync(receiving.__enter__)
    told: tuple[Any, Any, Any] = (None, None, None)
    try:
        written = offset
        async for chunk in body:
            written += len(chunk)
            if written > size:
                raise Invalid("more arrives than was announced")
            await to_thread.run_sync(file.write, chunk)
    except ClientDisconnect:
        pass
    except BaseException as error:
        told = (type(error), error, error.__traceback__)
        raise
    finally:
        with CancelScope(shield=True):  # whatever ended it, the file is closed for the next one
            await to_thread.run_sync(receiving.__exit__, *told)
