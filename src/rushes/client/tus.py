"""Sends a film in parts (tus 1.0) and goes on after a cut where the server has got to.

Only the server knows what arrived, so after every mishap it is asked. The idempotency key finds
an upload again whose beginning was lost on the way, also from another process.
"""

from __future__ import annotations

import base64
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rushes.api import models
from rushes.api.desk.wishes import Told, Wishes
from rushes.errors import Conflict, Invalid, Permanent, RushesError, Unavailable
from rushes.library.folder import refusal
from rushes.media.admit import check_file
from rushes.media.source import Caps
from rushes.wire.http import KEY, Http

if TYPE_CHECKING:
    import httpx

PART = 8_000_000
CHUNK = 1 << 18
TUS = {"Tus-Resumable": "1.0.0"}
OFFSETS = "application/offset+octet-stream"
TRIES = 8  # in a row, without a byte that arrived
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.25, 10.0


@dataclass(frozen=True, slots=True)
class Place:
    """How far an upload is, and the film that it became, if it did."""

    offset: int
    added: models.Added | None


def send(http: Http, path: Path, wishes: Wishes, told: Told | None) -> models.Added:
    """Bring a film to a server. Raises what a library of this machine would raise."""
    try:
        check_file(path, Caps())
        size = path.stat().st_size
    except OSError as error:
        raise refusal(error) from error
    return _Sending(http, path, size, told or _nobody).run(wishes)


class _Sending:
    """One film on its way."""

    def __init__(self, http: Http, path: Path, size: int, told: Told) -> None:
        self._http, self._path, self._size, self._told = http, path, size, told
        self._failures = 0

    def run(self, wishes: Wishes) -> models.Added:
        location, place = self._begin(wishes)
        is_new = place.added is None
        while True:
            self._told(place.offset, self._size)
            if place.added is not None:
                return place.added.model_copy(update={"created": is_new})
            place = self._next(location, place)

    def _begin(self, wishes: Wishes) -> tuple[str, Place]:
        """Announce the film. The same key announces it once."""
        headers = {
            **TUS,
            "Upload-Length": str(self._size),
            "Upload-Metadata": metadata(self._path.name, wishes),
            KEY: wishes.get("idempotency_key") or uuid.uuid4().hex,
        }
        while True:
            try:
                answer = self._http.send("POST", "/uploads", headers=headers)
            except Unavailable as error:
                self._pause(error)
            else:
                self._failures = 0
                return "/uploads/" + answer.headers["Location"].rpartition("/")[2], _place(answer)

    def _next(self, location: str, place: Place) -> Place:
        """Send a part; after a mishap ask how far the server is."""
        try:
            reached = self._send_part(location, place.offset)
        except (Unavailable, Conflict) as error:
            if not _may_pass(error):
                raise
            self._pause(error)
            reached = self._ask(location, place)
        if reached.offset > place.offset:
            self._failures = 0
        return reached

    def _send_part(self, location: str, offset: int) -> Place:
        """Send what comes next. With all bytes there, none: that makes a film of them."""
        n = min(PART, self._size - offset)
        headers = {
            **TUS,
            "Upload-Offset": str(offset),
            "Content-Type": OFFSETS,
            "Content-Length": str(n),
        }
        content = self._bytes(offset, n) if n else b""
        return _place(self._http.send("PATCH", location, headers=headers, content=content))

    def _ask(self, location: str, last: Place) -> Place:
        try:
            return _place(self._http.send("HEAD", location, headers=TUS))
        except Unavailable:
            return last

    def _bytes(self, offset: int, n: int) -> Iterator[bytes]:
        with self._path.open("rb") as file:
            file.seek(offset)
            while n > 0:
                chunk = file.read(min(CHUNK, n))
                if not chunk:
                    raise Permanent(
                        "the file became shorter while it was sent", error_code="SOURCE_TRUNCATED"
                    )
                yield chunk
                offset, n = offset + len(chunk), n - len(chunk)
                self._told(offset, self._size)

    def _pause(self, error: RushesError) -> None:
        """Wait longer each time; give up when nothing arrives any more."""
        self._failures += 1
        if self._failures >= TRIES:
            raise error
        time.sleep(min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2 ** (self._failures - 1)))


def metadata(name: str, wishes: Wishes) -> str:
    """Return `Upload-Metadata`: names, each with its value in base64.

    >>> metadata("a.mp4", {"text": False})
    'filename YS5tcDQ=,text ZmFsc2U='
    """
    for tag in wishes.get("tags", ()):
        if "," in tag:
            raise Invalid(f"a tag for a server has no comma: {tag[:50]!r}")
    qualities = wishes.get("qualities")
    told = {
        "filename": name,
        "title": wishes.get("title"),
        "tags": ",".join(wishes.get("tags", ())),
        "qualities": None if qualities is None else ",".join(qualities),
        "languages": ",".join(wishes.get("languages", ())),
        "text": None if wishes.get("text", True) else "false",
        "priority": str(wishes["priority"]) if "priority" in wishes else None,
        "duplicate": wishes.get("duplicate"),
    }
    return ",".join(f"{key} {_base64(value)}" for key, value in told.items() if value)


def _base64(text: str) -> str:
    return base64.b64encode(text.encode("utf-8", "replace")).decode()


def _place(answer: httpx.Response) -> Place:
    headers = answer.headers
    added = None
    if "Rushes-Job" in headers:
        added = models.Added(asset_id=headers["Rushes-Video"], job_id=headers["Rushes-Job"])
    return Place(int(headers["Upload-Offset"]), added)


def _may_pass(error: RushesError) -> bool:
    """Whether an error is about the way or the moment, not about the film.

    A server that has not yet noticed a cut still holds the upload, and says `CONFLICT`.
    """
    return isinstance(error, Unavailable) or error.code == Conflict.code


def _nobody(_sent: int, _size: int) -> None:
    """Tell nobody."""
