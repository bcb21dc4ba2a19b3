"""A file on the wire: whole, the part that is asked for, or the word that it has not changed."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Mapping
from typing import IO, NamedTuple

from starlette.exceptions import HTTPException
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from rushes.errors import NotFound

SAFE = {
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "sandbox; default-src 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
}
CHUNK = 1 << 18
RANGE = re.compile(r"([0-9]{0,18})-([0-9]{0,18})")


class File(NamedTuple):
    """A file and what is said of it; `etag` is that of its content."""

    path: str
    size: int
    etag: bytes
    headers: list[tuple[bytes, bytes]]


class Sent(Response):
    """A file, the part of it that is asked for, or that it has not changed.

    Raises HTTPException for a part that is not there.
    """

    def __init__(self, file: File, asked: Mapping[bytes, bytes], method: str) -> None:
        self.background = None
        self._file = file
        self._part = range(file.size)
        self.status_code, self.raw_headers = 200, file.headers
        if _is_known(asked.get(b"if-none-match"), file.etag):
            self.status_code, self._part = 304, range(0)
            self.raw_headers = [pair for pair in file.headers if pair[0] != b"content-length"]
            return
        part = part_of(asked, file) if method == "GET" else None
        if part is not None:
            self.status_code, self._part = 206, part
            place = b"bytes %d-%d/%d" % (part[0], part[-1], file.size)
            self.raw_headers = [
                *(pair for pair in file.headers if pair[0] != b"content-length"),
                (b"content-length", b"%d" % len(part)),
                (b"content-range", place),
            ]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not self._part or scope["method"] == "HEAD":
            await send(self._start)
            await send({"type": "http.response.body", "body": b""})
        elif self.status_code == 200 and "http.response.pathsend" in scope.get("extensions", {}):
            await send(self._start)
            await send({"type": "http.response.pathsend", "path": self._file.path})
        else:
            try:
                opened = await asyncio.to_thread(open, self._file.path, "rb", 0)
            except FileNotFoundError as error:
                raise NotFound("the file is missing on the disk") from error
            # it notices when nobody listens any more
            streamed = StreamingResponse(_chunks(opened, self._part), self.status_code)
            streamed.raw_headers = self.raw_headers
            with opened:
                await streamed(scope, receive, send)

    @property
    def _start(self) -> dict[str, object]:
        status, headers = self.status_code, self.raw_headers
        return {"type": "http.response.start", "status": status, "headers": headers}


def describe(path: str, size: int, sha256: str, headers: Mapping[str, str]) -> File:
    """Return a file with its headers."""
    etag = f'"{sha256}"'
    told = {
        **headers,
        **SAFE,
        "Content-Length": str(size),
        "ETag": etag,
        "Accept-Ranges": "bytes",
    }
    pairs = [(name.lower().encode(), value.encode()) for name, value in told.items()]
    return File(path, size, etag.encode(), pairs)


def part_of(asked: Mapping[bytes, bytes], file: File) -> range | None:
    """Return the part that is asked for; None: the whole. Raises 416 for several, or for none.

    `If-Range` that is not exactly our ETag asks for the whole.
    """
    given = asked.get(b"range", b"").decode("latin-1")
    if not given.lower().startswith("bytes=") or asked.get(b"if-range", file.etag) != file.etag:
        return None
    found = RANGE.fullmatch(given[len("bytes=") :])
    first, last = found.groups() if found else ("", "")
    if first:
        part = range(int(first), min(int(last or file.size), file.size - 1) + 1)
    else:
        part = range(max(file.size - int(last or 0), 0), file.size)
    if not part:
        headers = {"Content-Range": f"bytes */{file.size}"}
        raise HTTPException(416, "one range of bytes that are there can be had, or all", headers)
    return part


def _is_known(given: bytes | None, etag: bytes) -> bool:
    if given is None:
        return False
    tags = (tag.strip().removeprefix(b"W/") for tag in given.split(b","))
    return any(tag in (b"*", etag) for tag in tags)


async def _chunks(opened: IO[bytes], part: range) -> AsyncIterator[bytes]:
    await asyncio.to_thread(opened.seek, part.start)
    left = len(part)
    while left:
        chunk = await asyncio.to_thread(opened.read, min(CHUNK, left))
        if not chunk:
            raise OSError("the file is shorter than it was")
        left -= len(chunk)
        yield chunk
