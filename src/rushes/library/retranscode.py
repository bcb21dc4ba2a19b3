"""Makes a new version of a film beside the one that plays.

The old version plays until the new one is published, also when the new one fails. What is not
made anew is taken over by name: the same files, and not one byte copied.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace

from pydantic import TypeAdapter

from rushes.domain.artifact import name_of
from rushes.domain.asset import Asset, QualityStatus
from rushes.domain.graph import NORMAL, JobRequest
from rushes.engine import submit
from rushes.errors import Conflict, Invalid
from rushes.library import pipelines, playback
from rushes.library.library import Library
from rushes.library.pipelines import VIDEO, Options, Steps
from rushes.library.upload import Added
from rushes.media import ladder
from rushes.media.rendition import Rendition
from rushes.media.source import Source
from rushes.store import assets
from rushes.store.database import Transaction
from rushes.store.ids import new_id


@dataclass(frozen=True, slots=True, kw_only=True)
class Again:
    """What is to be made anew: all, some qualities, or those that are missing; the text, too."""

    qualities: tuple[str, ...] | None = None
    missing_only: bool = False
    text: bool = False
    priority: int = NORMAL


def retranscode(library: Library, asset_id: str, again: Again, *, now: int | None = None) -> Added:
    """Submit the job that makes the next version. Raises Conflict if there is nothing to do."""
    return library.db.transact(lambda tx: _submit(tx, library, asset_id, again), now=now)


def _submit(tx: Transaction, library: Library, asset_id: str, again: Again) -> Added:
    asset = assets.get(tx, asset_id)
    if asset.deleted_at is not None:
        raise Conflict(f"video {asset_id} is deleted", hint="restore it first")
    options = _options(tx, asset)
    job_id = new_id()
    wanted = _wanted(tx, asset, again)
    chosen = replace(options, qualities=wanted or options.qualities, text=again.text)
    text = json.dumps(asdict(options), separators=(",", ":"), sort_keys=True)
    [row] = tx.rows("add_version", asset_id=asset_id, job_id=job_id, options=text)
    steps = (
        pipelines.film(asset_id, asset.source_key, chosen)
        if wanted is None
        else _some(tx, asset, wanted, row["n"], chosen)
    )
    submit.add(
        tx,
        library.engine,
        JobRequest(
            id=job_id,
            kind=VIDEO,
            steps=steps,
            label=asset.title[:500],
            owner=asset.owner or None,
            priority=again.priority,
            spec={"asset": asset_id},
            dedupe_key=f"asset:{asset_id}",
        ),
    )
    return Added(asset_id=asset_id, job_id=job_id)


def _options(tx: Transaction, asset: Asset) -> Options:
    """Return what was chosen when the film was added: every version keeps it."""
    first = tx.rows("versions", asset_id=asset.id)[0]
    chosen = json.loads(first["options"])
    return Options(
        **{
            **chosen,
            "qualities": tuple(chosen["qualities"]) if chosen["qualities"] else None,
            "languages": tuple(chosen["languages"]),
        }
    )


def _wanted(tx: Transaction, asset: Asset, again: Again) -> tuple[str, ...] | None:
    """Return the qualities to make; None for all, which need no version to start from."""
    if again.qualities is None and not again.missing_only:
        return None
    if not asset.version:
        raise Conflict(
            f"video {asset.id} has no finished version that could be completed",
            hint="retry its job, or make all qualities anew",
        )
    possible = _possible(asset)
    wanted = again.qualities or possible
    unknown = [name for name in wanted if name not in possible]
    if unknown:
        raise Invalid(
            f"{', '.join(unknown)} cannot be made of this film; possible: {', '.join(possible)}"
        )
    if again.missing_only:
        there = {
            quality.quality
            for quality in assets.qualities(tx, asset.id, asset.version)
            if quality.status is QualityStatus.COMPLETED
        }
        wanted = tuple(name for name in wanted if name not in there)
    if not wanted:
        raise Conflict(f"no quality of video {asset.id} is missing")
    return wanted


def _possible(asset: Asset) -> tuple[str, ...]:
    source = TypeAdapter(Source).validate_json(asset.source or "null")
    return tuple(rung.name for rung in ladder.rungs(source))


def _some(
    tx: Transaction, asset: Asset, wanted: tuple[str, ...], version: int, options: Options
) -> Steps:
    """Take over what the published version has, and return the steps for the rest."""
    seen = playback.view(tx, asset.id, asset.version)
    assert seen is not None
    _take_over(tx, asset, version, [made for made in seen.renditions if made.name not in wanted])
    steps = pipelines.qualities(asset.id, asset.source_key, wanted)
    return steps | (pipelines.text(asset.id, options) if options.text else {})


def _take_over(tx: Transaction, asset: Asset, version: int, reused: list[Rendition]) -> None:
    """Give the files of the published version a name in the new one as well."""
    old, new = (name_of(asset.id, n, "") for n in (asset.version, version))
    tx.run(
        "copy_renditions",
        asset_id=asset.id,
        **{"from": asset.version, "to": version},
        names=[{"name": made.name} for made in reused],
    )
    wanted = [f"{made.name}/" for made in reused] + ["poster", "storyboard"]
    for start in wanted:
        tx.run(
            "copy_artifacts",
            asset_id=asset.id,
            **{"from": asset.version, "to": version},
            from_prefix=old,
            to_prefix=new,
            starts=f"{old}{start}%",
        )
