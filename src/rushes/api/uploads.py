"""What tus 1.0 says in headers, as values; and films that stream from a request to the disk."""

from __future__ import annotations

import base64
import binascii
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractContextManager
from email.utils import formatdate

from anyio import CancelScope, to_thread
from starlette.requests import ClientDisconnect

from rushes.errors import Invalid, RushesError
from rushes.library import wishes
from rushes.library.incoming import Incoming, Wish
from rushes.library.pipelines import Options
from rushes.library.sink import ALGORITHMS, Sink

VERSION = "1.0.0"
TUS = {"Tus-Resumable": VERSION, "Tus-Version": VERSION}
"""What every answer has to an upload, errors as well."""
EXTENSIONS = "creation,creation-with-upload,termination,expiration,checksum"
OFFSETS = "application/offset+octet-stream"
KNOWN = frozenset(
    (
        *("filename", "filetype", "title", "tags", "sha256", "qualities", "languages", "text"),
        *("priority", "duplicate", "name", "type", "relativePath"),
    )
)
MAX_METADATA = 16_000


class WrongVersion(RushesError):
    code, status = "TUS_VERSION", 412


def offers(size_bytes: int) -> dict[str, str]:
    """Return the headers that tell what this server can do."""
    return {
        "Tus-Extension": EXTENSIONS,
        "Tus-Max-Size": str(size_bytes),
        "Tus-Checksum-Algorithm": ",".join(ALGORITHMS),
    }


def check_version(given: str | None) -> None:
    if given != VERSION:
        raise WrongVersion(f"send Tus-Resumable: {VERSION}")


def number(text: str | None, name: str) -> int:
    """Read a header that counts bytes."""
    if text is None or not (text.isascii() and text.isdecimal() and len(text) <= 19):
        raise Invalid(f"{name} is not a number of bytes")
    return int(text)


def wish_of(size: int, told: Mapping[str, str], key: str | None) -> Wish:
    """Read what came with a film, in words."""
    unknown = sorted(told.keys() - KNOWN)
    if unknown:
        raise Invalid(f"metadata {unknown[0][:50]!r} is not known", hint=", ".join(sorted(KNOWN)))
    return Wish(
        size=size,
        filename=told.get("filename") or told.get("name"),
        title=told.get("title") or None,
        tags=wishes.parts(told.get("tags", "")),
        priority=wishes.priority_of(told.get("priority") or "normal"),
        options=Options(
            qualities=wishes.qualities_of(told.get("qualities") or None),
            languages=wishes.languages_of(told.get("languages") or "en"),
            text=told.get("text", "true") != "false",
        ),
        sha256=told.get("sha256") or None,
        duplicate="allow" if told.get("duplicate") == "allow" else "refuse",
        idempotency_key=key,
    )


def headers_of(incoming: Incoming) -> dict[str, str]:
    """Return how far an upload is, and what became of it."""
    told = {
        "Upload-Offset": str(incoming.offset),
        "Upload-Length": str(incoming.size),
        "Upload-Expires": formatdate(incoming.expires_at / 1000, usegmt=True),
    }
    if incoming.job_id is not None and incoming.asset_id is not None:
        told |= {"Rushes-Video": incoming.asset_id, "Rushes-Job": incoming.job_id}
    return told


async def pour(body: AsyncIterator[bytes], receiving: AbstractContextManager[Sink]) -> None:
    """Write a body to the disk as it comes, until its end or until its sender leaves.

    The disk is slow and must not stop the others, so it is waited for in a thread.
    """
    sink = await to_thread.run_sync(receiving.__enter__)
    try:
        async for chunk in body:
            await to_thread.run_sync(sink.write, chunk)
    except BaseException as error:
        told = (type(error), error, error.__traceback__)
        with CancelScope(shield=True):  # what arrived is counted, whatever ended it
            await to_thread.run_sync(receiving.__exit__, *told)
        if not isinstance(error, ClientDisconnect):
            raise
    else:
        await to_thread.run_sync(receiving.__exit__, None, None, None)


def pairs(metadata: str) -> dict[str, str]:
    """Read `Upload-Metadata`: names, each with its value in base64."""
    if len(metadata) > MAX_METADATA:
        raise Invalid(f"Upload-Metadata has more than {MAX_METADATA} characters")
    told = {}
    for entry in filter(None, (part.strip() for part in metadata.split(","))):
        name, _, encoded = entry.partition(" ")
        try:
            told[name] = base64.b64decode(encoded, validate=True).decode()
        except (binascii.Error, UnicodeDecodeError) as error:
            raise Invalid(f"metadata {name[:50]!r} is not text in base64") from error
    return told
