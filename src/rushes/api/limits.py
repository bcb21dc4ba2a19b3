"""Refuses requests that are too large or too slow, and bodies that are packed.

What says its length is refused before its first byte. Films are as long as they are, and are
counted where they are written; but nobody may keep a connection without sending anything.
"""

from __future__ import annotations

import asyncio
import json
import re
from typing import NamedTuple

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rushes.api.problems import MEDIA_TYPE, describe
from rushes.domain.room import amount

BODY_S = 30.0  # for a whole body
IDLE_S = 60.0  # without a byte of a film
LONGEST_NUMBER, MOST = 19, 1 << 63


class Limit(NamedTuple):
    """How long a body may be, and whether it may take its time."""

    bytes: int
    is_film: bool = False

    @property
    def sentence(self) -> str:
        larger = "; send a larger film to /api/uploads" if self.is_film else ""
        return f"the body is longer than {amount(self.bytes)}{larger}"


SHORT = Limit(1_000_000)
FILMS = {
    re.compile("POST /api/videos/?"): Limit(1024**3, is_film=True),
    re.compile("POST /api/uploads/?|PATCH /api/uploads/[^/]+"): Limit(1 << 62, is_film=True),
    re.compile("(PUT|POST) /api/worker/artifacts/.+"): Limit(1 << 62, is_film=True),
    re.compile("POST /api/worker/.+"): Limit(50_000_000),
}


class Limits:
    """Stands before every route."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        if headers.get(b"content-encoding", b"identity") != b"identity":
            detail = "send the body as it is, not packed"
            await _refuse(scope, send, 415, "UNSUPPORTED_MEDIA_TYPE", detail)
            return
        limit = _limit_of(scope)
        if _length(headers.get(b"content-length", b"0")) > limit.bytes:
            await _refuse(scope, send, 413, "TOO_LARGE", limit.sentence)
        else:
            await self._app(scope, _limited(receive, limit), send)


def _length(text: bytes) -> int:
    return int(text) if text.isdigit() and len(text) < LONGEST_NUMBER else MOST


def _limited(receive: Receive, limit: Limit) -> Receive:
    """Count what arrives, and the time that it takes, until the body is whole."""
    arrived, is_whole = 0, False
    clock = asyncio.get_running_loop().time
    end = clock() + BODY_S

    async def receiving() -> Message:
        nonlocal arrived, is_whole
        if is_whole:
            return await receive()
        try:
            async with asyncio.timeout_at(clock() + IDLE_S if limit.is_film else end):
                message = await receive()
        except TimeoutError:
            if limit.is_film:  # as if the connection had broken: what has come is kept
                return {"type": "http.disconnect"}
            raise HTTPException(408, f"the body did not come within {BODY_S:g} s") from None
        arrived += len(message.get("body", b""))
        if arrived > limit.bytes:
            raise HTTPException(413, limit.sentence)
        is_whole = not message.get("more_body", False)
        return message

    return receiving


def _limit_of(scope: Scope) -> Limit:
    path = scope["path"].removeprefix(scope.get("root_path", ""))
    request = f"{scope['method']} {path}"
    return next((limit for what, limit in FILMS.items() if what.fullmatch(request)), SHORT)


async def _refuse(scope: Scope, send: Send, status: int, code: str, detail: str) -> None:
    known = {"instance": scope["path"], "request_id": scope["state"]["request_id"]}
    body = json.dumps({**describe(code, status, detail), **known}).encode()
    headers = [(b"content-type", MEDIA_TYPE.encode()), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
