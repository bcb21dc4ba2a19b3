"""Clips: planned, asked for, deleted, and gone when their time is over.

The same request is the same clip: `clip_key` of what is asked for is unique among the clips that
live, so a hundred equal requests at once make one row and one job. A clip that failed is tried
again by whoever asks for it again. It belongs to its video: deleted with it, restored with it.
"""

from __future__ import annotations

import tempfile
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

from pydantic import TypeAdapter

from rushes.domain.artifact import clip_name, name_of
from rushes.domain.asset import Asset
from rushes.domain.clip import Clip
from rushes.domain.event import EventType
from rushes.domain.graph import JobRequest, check_text
from rushes.domain.job import FINISHED, Status
from rushes.engine import operator, submit
from rushes.engine.engine import millis
from rushes.engine.operator import Note, unnoted
from rushes.errors import Conflict, Gone, Invalid, NotFound
from rushes.library import pipelines
from rushes.library.library import Library
from rushes.library.news import tell
from rushes.media import clip
from rushes.media.clip import PADDING_MS, Mode, Window
from rushes.media.source import Source
from rushes.stages.clip import Params
from rushes.stages.probe import REMUXED
from rushes.store import assets, clips
from rushes.store.database import Transaction
from rushes.store.ids import new_id

SOURCE = TypeAdapter(Source)
BATCH = 100
SHORTEST_LIFE, LONGEST_LIFE = timedelta(minutes=1), timedelta(days=365)
TITLE = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What somebody asks for, in milliseconds of the film. No `lifetime`: as the operator set."""

    t_start: int
    t_end: int
    padding_ms: int = PADDING_MS
    mode: Mode = Mode.EXACT
    title: str = ""
    lifetime: timedelta | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What would be cut, of which file. Where a fast clip ends is known when it is cut."""

    window: Window
    actual_start: int
    actual_end: int | None
    work_key: str
    source: Source


@dataclass(frozen=True, slots=True)
class Requested:
    """The clip that stands for a request; `created` is false when it was there before."""

    clip: Clip
    created: bool


def plan(library: Library, asset: Asset, wish: Wish) -> Plan:
    """Say what a request would give. Raises Invalid, or Conflict before the film was probed."""
    source = _source(asset)
    window = clip.window(
        wish.t_start,
        wish.t_end,
        clip.film_end_ms(source),
        padding_ms=wish.padding_ms,
        longest_ms=millis(library.longest_clip),
    )
    frames, fps = clip.frame_range(source, window), source.video.fps
    exact = Plan(
        window=window,
        actual_start=clip.frame_ms(frames.start, fps),
        actual_end=clip.frame_ms(frames.stop, fps),
        work_key=_work_key(library, asset),
        source=source,
    )
    return exact if wish.mode is Mode.EXACT else _from_key_frame(library, exact)


def known(library: Library, asset: Asset, wish: Wish) -> Clip | None:
    """Return the clip that stands for a request, if one does."""
    return library.db.read(lambda tx: clips.by_key(tx, _key(asset, wish)))


def request(
    library: Library, asset: Asset, wish: Wish, *, by: str = "", now: int | None = None
) -> Requested:
    """Return the clip of a request, with the job that makes it. Raises as `plan` does.

    One that is there is kept for as long as a new one would be; one that failed is tried again.
    """
    check_text(wish.title, "the title", TITLE)
    lifetime_ms = millis(_lifetime(library, wish))
    planned = None if known(library, asset, wish) else plan(library, asset, wish)

    def work(tx: Transaction) -> Requested | None:
        created = planned is not None and _add(tx, library, asset, wish, planned, by)
        found = clips.by_key(tx, _key(asset, wish))
        if found is None:
            return None
        tx.run("keep_clip_longer", id=found.id, lifetime_ms=lifetime_ms)
        return Requested(clips.get(tx, found.id), created)

    requested = library.db.transact(work, now=now)
    if requested is None:  # it was removed between two looks
        return request(library, asset, wish, by=by, now=now)
    if requested.clip.status in (Status.FAILED, Status.KILLED):
        return Requested(_try_again(library, requested.clip, by, now), created=False)
    return requested


def delete(
    library: Library, found: Clip, *, by: str = "", note: Note = unnoted, now: int | None = None
) -> None:
    """Remove a clip at once, and stop its job. The file is collected."""
    if found.status not in FINISHED:
        with suppress(Conflict):  # it ended by itself
            operator.kill(
                library.engine, found.job_id, name=by, reason="the clip was deleted", now=now
            )

    def work(tx: Transaction) -> None:
        tx.run("drop_artifact", name=clip_name(found.asset_id, found.id))
        if not tx.rows("drop_clip", id=found.id):
            raise NotFound(f"there is no clip {found.id}", hint=clips.HINT)
        tell(tx, EventType.CLIP_DELETED, found.asset_id, clip_id=found.id)
        note(tx, f"clip {found.id}")

    library.db.transact(work, now=now)


def expire(library: Library, *, now: int | None = None) -> int:
    """Remove clips whose time is over. For as long again it is said that they were there."""

    def work(tx: Transaction) -> int:
        rows = tx.rows("remove_expired_clips", n=BATCH)
        for row in rows:
            tx.run("drop_artifact", name=clip_name(row["asset_id"], row["id"]))
        tx.run("forget_clips", keep_ms=millis(library.keep_clips))
        return len(rows)

    return library.db.transact(work, now=now)


def check_there(found: Clip) -> Clip:
    """Return a clip whose time is not over. Raises Gone."""
    if found.is_over:
        raise Gone(f"the time of clip {found.id} is over", hint="ask for it again")
    return found


def file_of(found: Clip) -> str:
    """Return the key of the file of a clip. Raises Conflict if it is not ready."""
    if found.file is None:
        is_over = found.status in FINISHED
        hint = "ask for it again" if is_over else f"wait for job {found.job_id}"
        raise Conflict(f"clip {found.id} is {found.status}, not ready", hint=hint)
    return found.file


def _source(asset: Asset) -> Source:
    if asset.source is None:
        raise Conflict(
            f"video {asset.id} was not looked at yet",
            hint="try again in a moment; its job says how far it is",
        )
    return SOURCE.validate_json(asset.source)


def _version(asset: Asset) -> int:
    """The one to watch, else the first, which is being made."""
    return asset.version or asset.newest


def _key(asset: Asset, wish: Wish) -> str:
    asked = Window(start_ms=wish.t_start, end_ms=wish.t_end)
    version = f"{asset.id}/v{_version(asset)}"
    return clip.clip_key(version, asked, padding_ms=wish.padding_ms, profile=wish.mode)


def _work_key(library: Library, asset: Asset) -> str:
    """Return the file that is read: the original, or the copy with a better index."""
    name = name_of(asset.id, _version(asset), REMUXED)
    rows = library.db.read(lambda tx: tx.rows("artifact", name=name))
    return str(rows[0]["key"]) if rows else asset.source_key


def _from_key_frame(library: Library, exact: Plan) -> Plan:
    path = library.storage.existing(exact.work_key)
    with tempfile.TemporaryDirectory() as scratch:
        start = clip.fast_start(path, exact.source, exact.window.start_ms, folder=Path(scratch))
    return replace(exact, actual_start=start, actual_end=None)


def _lifetime(library: Library, wish: Wish) -> timedelta:
    if wish.lifetime is None:
        return library.keep_clips
    if not SHORTEST_LIFE <= wish.lifetime <= LONGEST_LIFE:
        raise Invalid(f"a clip is kept from a minute to {LONGEST_LIFE.days} days")
    return wish.lifetime


def _add(
    tx: Transaction, library: Library, asset: Asset, wish: Wish, planned: Plan, by: str
) -> bool:
    """Write a clip and its job. Returns whether nobody was faster."""
    if assets.get(tx, asset.id).deleted_at is not None:
        raise NotFound(f"there is no video {asset.id}", hint=assets.HINT)
    clip_id, job_id = new_id(), new_id()
    added = tx.rows(
        "add_clip",
        id=clip_id,
        asset_id=asset.id,
        job_id=job_id,
        key=_key(asset, wish),
        mode=wish.mode,
        title=wish.title,
        made_by=by,
        t_start=wish.t_start,
        t_end=wish.t_end,
        padding_ms=wish.padding_ms,
        start_ms=planned.window.start_ms,
        end_ms=planned.window.end_ms,
        actual_start=planned.actual_start,
        actual_end=planned.actual_end,
        lifetime_ms=millis(_lifetime(library, wish)),
    )
    if added:
        submit.add(tx, library.engine, _job(asset, wish, planned, clip_id, job_id))
    return bool(added)


def _job(asset: Asset, wish: Wish, planned: Plan, clip_id: str, job_id: str) -> JobRequest:
    params = Params(
        asset=asset.id,
        clip=clip_id,
        work_key=planned.work_key,
        source=replace(planned.source, subtitles=(), chapters=(), decisions=()),
        window=planned.window,
        mode=wish.mode,
    )
    return JobRequest(
        id=job_id,
        kind=pipelines.CLIP,
        steps=pipelines.clip(params.model_dump(mode="json")),
        label=(wish.title or f"clip of {asset.title}")[:TITLE],
        owner=asset.owner or None,
        spec={"asset": asset.id, "clip": clip_id},
        dedupe_key=f"clip:{clip_id}",
    )


def _try_again(library: Library, found: Clip, by: str, now: int | None) -> Clip:
    with suppress(Conflict):  # somebody else asked again at the same moment
        operator.requeue(library.engine, found.job_id, by=by or None, now=now)
    return library.db.read(lambda tx: clips.get(tx, found.id))
