"""Videos: look at them, name them, delete and restore them, make them anew."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Unpack

from rushes.api import models, views
from rushes.api.desk.place import place
from rushes.api.desk.wishes import Told, Wishes, upload_of
from rushes.api.desk.work import works_on
from rushes.api.models import Page
from rushes.domain.artifact import name_of
from rushes.domain.asset import Asset, AssetStatus
from rushes.domain.graph import NORMAL
from rushes.domain.person import HERE, Origin, Principal, Scope
from rushes.errors import Conflict, Invalid, NotFound
from rushes.library import audit, edit, retranscode, upload
from rushes.library.library import Library
from rushes.library.retranscode import Again
from rushes.media.rendition import MASTER
from rushes.store import assets, jobs
from rushes.store.database import Row, Transaction

PAGE = 200


@dataclass(frozen=True, slots=True)
class Videos:
    library: Library
    who: Principal
    origin: Origin = HERE

    def list(
        self,
        *,
        status: str | Collection[str] | None = None,
        tag: str | None = None,
        deleted: bool = False,
        oldest: bool = False,
        cursor: str | None = None,
        limit: int = 50,
    ) -> Page[models.Video]:
        """Return videos, newest first unless the `oldest` are wanted."""
        self.who.need(Scope.READ)
        statuses = {status} if isinstance(status, str) else set(status or AssetStatus)
        for unknown in statuses - {*AssetStatus}:
            raise Invalid(f"{unknown!r} is not a status", hint=f"one of: {', '.join(AssetStatus)}")

        def work(tx: Transaction) -> Page[models.Video]:
            after = place(cursor, partial(assets.find, tx, owner=self.who.sees))
            found = self._pages(tx, deleted=deleted, oldest=oldest, after=after)
            wanted = (
                asset
                for asset in found
                if asset.status in statuses and (tag is None or tag in asset.tags)
            )
            page = self._views(tx, [*islice(wanted, limit)])
            return Page(
                items=[*page], next_cursor=page[-1].asset_id if len(page) == limit else None
            )

        return self.library.db.read(work)

    def same(self, sha256: str) -> Page[models.Video]:
        """Return one's own videos of this content: for those another of it would be refused."""
        self.who.need(Scope.READ)

        def work(tx: Transaction) -> Page[models.Video]:
            rows = tx.rows("same_content", owner=self.who.owner, sha256=sha256.lower())
            found = [assets.get(tx, str(row["id"])) for row in rows]
            return Page(items=[*self._views(tx, found)])

        return self.library.db.read(work)

    def counts(self) -> models.VideoCounts:
        """Return how many videos there are of each status, and how long they are together."""
        self.who.need(Scope.READ)
        found, duration_ms = self.library.db.read(lambda tx: assets.counts(tx, owner=self.who.sees))
        return models.VideoCounts(
            duration_ms=duration_ms, **{str(status): n for status, n in found.items()}
        )

    def show(self, video_id: str) -> models.VideoDetail:
        """Return one video in full."""
        self.who.need(Scope.READ)
        return self.library.db.read(lambda tx: self._detail(tx, self._find(tx, video_id)))

    def get(self, video_id: str) -> models.Video:
        """Return one video as lists have it."""
        self.who.need(Scope.READ)
        [video] = self.library.db.read(lambda tx: [*self._views(tx, [self._find(tx, video_id)])])
        return video

    def add(
        self, path: Path | str, *, progress: Told | None = None, **wishes: Unpack[Wishes]
    ) -> models.Added:
        """Take a film in that lies on this machine; it belongs to whoever adds it."""
        self.who.need(Scope.UPLOAD)
        film = upload_of(Path(path), self.who.owner, wishes)
        added = _added(upload.add(self.library, film))
        if progress is not None:
            size = Path(path).stat().st_size
            progress(size, size)
        return added

    def edit(
        self,
        video_id: str,
        *,
        title: str | None = None,
        tags: Sequence[str] | None = None,
        revision: int | None = None,
    ) -> models.Video:
        """Change the title, the tags, or both. With `revision`, only if nobody did meanwhile."""
        found = self._mine(video_id)
        return views.video(
            edit.edit(self.library, found, title=title, tags=tags, revision=revision)
        )

    def delete(self, video_id: str) -> models.Deleted:
        """Hide a video and stop the job that works on it; it can be restored for a while."""
        note = audit.noting(self.who, "video.delete", self.origin)
        gone = edit.delete(self.library, self._mine(video_id), by=self.who.name, note=note)
        return models.Deleted(
            **views.video_fields(gone.asset),
            purged_at=models.moment(gone.purged_at),
            stopped_job=gone.stopped_job,
        )

    def restore(self, video_id: str) -> models.Video:
        """Bring a deleted video back; `@last` is the newest one that was deleted."""
        found = self._last_deleted() if video_id == "@last" else self._mine(video_id)
        note = audit.noting(self.who, "video.restore", self.origin)
        return views.video(edit.restore(self.library, found, note=note))

    def retranscode(
        self,
        video_id: str,
        *,
        qualities: tuple[str, ...] | None = None,
        missing_only: bool = False,
        text: bool = False,
        priority: int = NORMAL,
    ) -> models.Added:
        """Make a new version beside the one that plays."""
        again = Again(qualities=qualities, missing_only=missing_only, text=text, priority=priority)
        return _added(retranscode.retranscode(self.library, self._mine(video_id), again))

    def text(self, video_id: str) -> Sequence[dict[str, Any]]:
        """Return what was on the screen, in the order of time; Conflict before it is read."""
        self.who.need(Scope.READ)

        def work(tx: Transaction) -> Sequence[dict[str, Any]]:
            found = self._find(tx, video_id)
            if found.searchable_at is None:
                raise Conflict(f"the text of video {found.id} was not read yet")
            return assets.texts(tx, found.id)

        return self.library.db.read(work)

    def files(self, video_id: str) -> Sequence[models.File]:
        """Return the files of the version to watch."""
        self.who.need(Scope.READ)

        def work(tx: Transaction) -> Sequence[models.File]:
            found = self._find(tx, video_id)
            version = found.watchable
            rows = tx.rows("artifacts", asset_id=found.id, version=version) if version else []
            return [
                models.File(name=row["name"], bytes=row["bytes"], sha256=row["sha256"])
                for row in rows
            ]

        return self.library.db.read(work)

    def _mine(self, video_id: str) -> str:
        """Return the id of a video that is to be changed."""
        self.who.need(Scope.WRITE)
        return self.library.db.read(lambda tx: self._find(tx, video_id).id)

    def _last_deleted(self) -> str:
        self.who.need(Scope.WRITE)
        newest = self.list(deleted=True, limit=1).items
        if not newest:
            raise NotFound("no video is deleted")
        return newest[0].asset_id

    def _find(self, tx: Transaction, text: str) -> Asset:
        return assets.get(tx, assets.find(tx, text, owner=self.who.sees))

    def _pages(
        self, tx: Transaction, *, deleted: bool, oldest: bool, after: str | None
    ) -> Iterator[Asset]:
        while page := assets.list_page(
            tx, deleted=deleted, after=after, oldest=oldest, owner=self.who.sees, limit=PAGE
        ):
            yield from page
            after = page[-1].id

    def _views(self, tx: Transaction, page: Sequence[Asset]) -> Sequence[models.Video]:
        """Return videos with their number of texts, and with what is done for them now."""
        texts = assets.text_counts(tx, [asset.id for asset in page])
        works = works_on(tx, self.library, page)
        return [
            views.video(asset, texts=texts.get(asset.id, 0), work=works.get(asset.id))
            for asset in page
        ]

    def _detail(self, tx: Transaction, asset: Asset) -> models.VideoDetail:
        source = json.loads(asset.source) if asset.source else None
        work = works_on(tx, self.library, [asset]).get(asset.id)
        gone = asset.deleted_at is not None
        return models.VideoDetail(
            **views.video_fields(asset),
            percent=_percent(tx, asset),
            purged_at=models.moment(edit.purged_at(self.library, asset)) if gone else None,
            work=work,
            decisions=source["decisions"] if source else [],
            chapters=source["chapters"] if source else [],
            versions=[
                _version(tx, asset.id, row) for row in tx.rows("versions", asset_id=asset.id)
            ],
            texts=assets.text_counts(tx, [asset.id]).get(asset.id, 0),
            files=self._files(tx, asset),
        )

    def _files(self, tx: Transaction, asset: Asset) -> models.Files:
        """Say where the files are; paths of this machine are for its own people only."""
        rows = tx.rows("artifacts", asset_id=asset.id, version=asset.watchable or 0)
        root = self.library.storage.root
        playlist = root / "assets" / asset.id / MASTER
        is_ours = self.who.may(Scope.ADMIN)
        folder = root / name_of(asset.id, asset.watchable, "") if asset.watchable else None
        return models.Files(
            count=len(rows),
            bytes=sum(row["bytes"] for row in rows),
            original=str(root / asset.source_key) if is_ours else None,
            playlist=str(playlist) if is_ours and playlist.exists() else None,
            folder=str(folder) if is_ours and folder else None,
        )


def _added(made: upload.Added) -> models.Added:
    return models.Added(asset_id=made.asset_id, job_id=made.job_id, created=made.created)


def _percent(tx: Transaction, asset: Asset) -> int | None:
    if asset.job_id is None or not tx.rows("job", id=asset.job_id):
        return None
    return jobs.percent(tx, [jobs.get(tx, asset.job_id)])[asset.job_id]


def _version(tx: Transaction, asset_id: str, row: Row) -> models.Version:
    return models.Version(
        version=row["n"],
        job_id=row["job_id"],
        created_at=row["created_at"],
        published_at=row["published_at"],
        superseded_at=row["superseded_at"],
        qualities=[views.quality(one) for one in assets.qualities(tx, asset_id, row["n"])],
    )
