"""The clips of a server, and their files brought here."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Unpack

from rushes.api.clips import Clip, ClipPlan, Requested
from rushes.api.desk.clips import place_of, saving
from rushes.api.desk.wishes import ClipWishes
from rushes.api.models import Page
from rushes.client.remote import checked_id, pages
from rushes.errors import Conflict, Permanent
from rushes.wire.http import Cut, Http

TRIES = 3


@dataclass(frozen=True, slots=True)
class Clips:
    http: Http

    def plan(
        self, video_id: str, t_start: int, t_end: int, **wishes: Unpack[ClipWishes]
    ) -> ClipPlan:
        path = f"/videos/{checked_id(video_id, 'video', 'list')}/clip-plan"
        return self.http.get(path, ClipPlan, start=t_start, end=t_end, **wishes)

    def create(
        self, video_id: str, t_start: int, t_end: int, **wishes: Unpack[ClipWishes]
    ) -> Requested:
        body = {"video_id": video_id, "t_start": t_start, "t_end": t_end, **wishes}
        return self.http.post("/clips", body, Requested)

    def list(
        self, *, video_id: str | None = None, cursor: str | None = None, limit: int = 50
    ) -> Page[Clip]:
        return pages(self.http, "/clips", Clip, cursor, limit, {"video_id": video_id})

    def show(self, clip_id: str) -> Clip:
        return self.http.get(_clip(clip_id), Clip)

    def delete(self, clip_id: str) -> Clip:
        return self.http.change("DELETE", _clip(clip_id), Clip)

    def download(self, clip_id: str, target: Path | str) -> Path:
        """Bring the file of a clip that is ready here, and return it; a cut only costs time."""
        clip = self.show(clip_id)
        if clip.url is None:
            raise Conflict(f"clip {clip.clip_id} is {clip.status}, not ready", hint="wait for it")
        path = place_of(target, clip.clip_id)
        with saving(path) as part:
            part.write_bytes(b"")
            self._fetch(clip.url, part, clip.bytes or 0)
            with part.open("rb") as file:
                is_same = hashlib.file_digest(file, "sha256").hexdigest() == clip.sha256
            if not is_same:
                raise Permanent("the clip was damaged on its way", error_code="OUTPUT_INVALID")
        return path

    def _fetch(self, url: str, part: Path, size: int) -> None:
        """Bring a file here; after a cut, what is missing of it."""
        for left in reversed(range(TRIES)):
            try:
                self.http.download(url, part, part.stat().st_size)
            except Cut:
                if not left:
                    raise
            if part.stat().st_size >= size:
                return


def _clip(text: str) -> str:
    return f"/clips/{checked_id(text, 'clip', 'clips list')}"
