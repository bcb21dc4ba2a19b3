"""Clips: what one would be, one that is asked for, those that are there, and their files."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Unpack

from rushes.api import clips as views
from rushes.api.clips import ClipPlan, Requested
from rushes.api.desk.place import place
from rushes.api.desk.wishes import ClipWishes, clip_of
from rushes.api.models import Page
from rushes.domain.asset import Asset
from rushes.domain.clip import Clip
from rushes.domain.person import HERE, Origin, Principal, Scope
from rushes.errors import Invalid
from rushes.library import audit, clips, tickets
from rushes.library.library import Library
from rushes.store import clips as rows
from rushes.store.database import Transaction


@dataclass(frozen=True, slots=True)
class Clips:
    library: Library
    who: Principal
    origin: Origin = HERE

    def plan(
        self, video_id: str, t_start: int, t_end: int, **wishes: Unpack[ClipWishes]
    ) -> ClipPlan:
        """Say what a clip would be, and where a fast one would really begin. Cuts nothing."""
        asset, wish = self._watched(video_id), clip_of(t_start, t_end, wishes)
        planned = clips.plan(self.library, asset, wish)
        return views.plan(asset.id, wish, planned, clips.known(self.library, asset, wish))

    def create(
        self, video_id: str, t_start: int, t_end: int, **wishes: Unpack[ClipWishes]
    ) -> Requested:
        """Ask for a clip; the same request is the same clip."""
        self.who.need(Scope.WRITE)
        asset, wish = self._watched(video_id), clip_of(t_start, t_end, wishes)
        made = clips.request(self.library, asset, wish, by=self.who.name)
        return views.requested(made.clip, created=made.created)

    def list(
        self, *, video_id: str | None = None, cursor: str | None = None, limit: int = 50
    ) -> Page[views.Clip]:
        """Return clips, newest first."""
        self.who.need(Scope.READ)

        def work(tx: Transaction) -> Page[views.Clip]:
            owner = self.who.sees
            before = place(cursor, partial(rows.find, tx, owner=owner))
            asset_id = None if video_id is None else tickets.visible(tx, self.who, video_id).id
            found = rows.list_page(tx, asset_id=asset_id, before=before, owner=owner, limit=limit)
            items = [views.clip(one) for one in found]
            return Page(items=items, next_cursor=found[-1].id if len(found) == limit else None)

        return self.library.db.read(work)

    def show(self, clip_id: str) -> views.Clip:
        """Return one clip. Raises Gone when its time is over."""
        return views.clip(self.find(clip_id))

    def delete(self, clip_id: str) -> views.Clip:
        """Remove a clip for good, and stop its job."""
        self.who.need(Scope.WRITE)
        found = self.find(clip_id)
        note = audit.noting(self.who, "clip.delete", self.origin)
        clips.delete(self.library, found, by=self.who.name, note=note)
        return views.clip(found)

    def download(self, clip_id: str, target: Path | str) -> Path:
        """Copy the file of a clip that is ready to a place on this machine, and return it."""
        found = self.find(clip_id)
        file, path = self.library.storage.existing(clips.file_of(found)), place_of(target, found.id)
        with saving(path) as part:
            shutil.copyfile(file, part)
        return path

    def find(self, text: str) -> Clip:
        """Return the record of a clip. Raises Gone when its time is over."""
        self.who.need(Scope.READ)
        owner = self.who.sees
        return clips.check_there(
            self.library.db.read(
                lambda tx: rows.get(tx, rows.find(tx, text, owner=owner), owner=owner)
            )
        )

    def _watched(self, video_id: str) -> Asset:
        return self.library.db.read(lambda tx: tickets.visible(tx, self.who, video_id))


def place_of(target: Path | str, clip_id: str) -> Path:
    """Return where a download goes: the file that is named, or one in the folder that is."""
    path = Path(target)
    if not path.parent.is_dir():
        raise Invalid(f"there is no folder {path.parent}", hint="make it first")
    return path / f"{clip_id}.mp4" if path.is_dir() else path


@contextmanager
def saving(path: Path) -> Iterator[Path]:
    """Give a place to write to, beside `path`; what is written there becomes it, whole or never."""
    part = path.with_name(f"{path.name}.part")
    try:
        yield part
        part.replace(path)
    except OSError as error:
        raise Invalid(f"{path} cannot be written: {error.strerror}") from error
    finally:
        part.unlink(missing_ok=True)
