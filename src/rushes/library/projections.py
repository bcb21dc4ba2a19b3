"""A stage's result → rows, inside the transaction that completes its task.

A result may come from a machine that we do not trust. Which asset and version it is about is
looked up by its job, and its files must lie in the folder of the very attempt that was accepted.
What is wrong raises ValueError: the task fails, and nothing of it is written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from pydantic import BaseModel, TypeAdapter

from rushes.domain.artifact import Artifact, attempt_folder, is_key, name_of
from rushes.engine.engine import Finished, Projection
from rushes.library import playback
from rushes.media.rendition import Rendition
from rushes.media.source import Source
from rushes.stages import (
    audio,
    finalize,
    index,
    ocr,
    playlist,
    probe,
    sample,
    storyboard,
    thumbnail,
    transcode,
)
from rushes.storage.local import LocalStorage
from rushes.store.database import Transaction

SOURCE = TypeAdapter(Source)
M = TypeVar("M", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Target:
    """The version that a task works for."""

    asset_id: str
    version: int
    task: Finished


def projections(storage: LocalStorage) -> dict[str, Projection]:
    """Return what the engine is to call when a task of a kind is done."""
    return {
        "probe": partial(_project, probe.Result, _planned),
        "thumbnail": partial(_project, thumbnail.Result, _kept),
        "storyboard": partial(_project, storyboard.Result, _kept),
        "audio": partial(_project, audio.Result, _sounded),
        "transcode": partial(_project, transcode.Result, _encoded),
        "playlist": partial(_project, playlist.Result, _closed),
        "finalize": partial(_project, finalize.Result, _published),
        "sample": partial(_project, sample.Result, _kept),
        "ocr": partial(_project, ocr.Result, _kept),
        "index": partial(_project, index.Result, partial(_indexed, storage)),
    }


def _project(
    model: type[M],
    write: Callable[[Transaction, Target, M], None],
    tx: Transaction,
    task: Finished,
) -> None:
    [found] = tx.rows("version_of_job", job_id=task.job_id)
    target = Target(found["asset_id"], found["n"], task)
    write(tx, target, model.model_validate_json(task.result))


def _planned(tx: Transaction, target: Target, result: probe.Result) -> None:
    _keep(tx, target, result.artifacts)
    tx.run(
        "describe_asset",
        id=target.asset_id,
        source=SOURCE.dump_json(result.source).decode(),
        duration_ms=result.source.duration_ms,
    )
    tx.run(
        "set_grid",
        asset_id=target.asset_id,
        n=target.version,
        grid=playback.GRID.dump_json(result.grid).decode(),
    )
    tx.run(
        "add_renditions",
        asset_id=target.asset_id,
        version=target.version,
        renditions=[*_pictures(result), *_sounds(result)],
    )


def _pictures(result: probe.Result) -> Iterator[dict[str, object]]:
    for rung in result.rungs:
        yield {
            "name": rung.name,
            "width": rung.width,
            "height": rung.height,
            "channels": 0,
            "language": None,
            "maxrate_bps": rung.maxrate_bps,
            "required": rung.required,
            "status": "pending",
            "segments_total": result.grid.segments,
        }


def _sounds(result: probe.Result) -> Iterator[dict[str, object]]:
    for sound in result.tracks:
        yield {
            "name": sound.track.name,
            "width": 0,
            "height": 0,
            "channels": sound.track.channels,
            "language": sound.track.language,
            "maxrate_bps": sound.track.bitrate,
            "required": True,
            "status": "pending",
            "segments_total": result.grid.segments,
        }


def _encoded(tx: Transaction, target: Target, result: transcode.Result) -> None:
    _keep(tx, target, result.artifacts)
    for made in result.renditions:
        _grow(tx, target, made)
    for failed in result.failures:
        tx.run(
            "fail_rendition",
            asset_id=target.asset_id,
            version=target.version,
            name=failed.rung,
            error=f"{failed.error_code}: {failed.message}",
        )
    _show(tx, target)


def _sounded(tx: Transaction, target: Target, result: audio.Result) -> None:
    _keep(tx, target, result.artifacts)
    _grow(tx, target, result.rendition)
    _show(tx, target)


def _grow(tx: Transaction, target: Target, made: Rendition) -> None:
    grown = tx.rows(
        "grow_rendition",
        asset_id=target.asset_id,
        version=target.version,
        name=made.name,
        n=len(made.segments),
        codecs=made.codecs,
        init_sha256=made.init_sha256,
    )
    if not grown:
        raise ValueError(f"{made.name} does not fit the chunks that are there")


def _show(tx: Transaction, target: Target) -> None:
    """Say that the film can be watched, as soon as it can."""
    tx.run("touch_version", asset_id=target.asset_id, n=target.version)
    [asset] = tx.rows("asset", id=target.asset_id)
    if asset["playable_at"] is None:
        seen = playback.view(tx, target.asset_id, target.version)
        if seen is not None and seen.segments:
            tx.run("mark_playable", id=target.asset_id)


def _closed(tx: Transaction, target: Target, _result: playlist.Result) -> None:
    """End the playlists, after one look at the whole: what is new and what was taken over."""
    tx.run("close_version", asset_id=target.asset_id, n=target.version)
    seen = playback.view(tx, target.asset_id, target.version)
    if seen is None or seen.segments != seen.grid.segments:
        raise ValueError("the version has holes")
    missing = [
        row["name"]
        for row in tx.rows("renditions", asset_id=target.asset_id, version=target.version)
        if row["required"] and row["status"] != "completed"
    ]
    if missing:
        raise ValueError(f"{', '.join(missing)} is required and not complete")


def _published(tx: Transaction, target: Target, _result: finalize.Result) -> None:
    """Switch the one pointer. Whoever plays the older version has a while to end."""
    if tx.rows("publish", id=target.asset_id, n=target.version):
        tx.run("mark_published", id=target.asset_id, n=target.version)
        tx.run("supersede", id=target.asset_id, n=target.version)


def _kept(
    tx: Transaction,
    target: Target,
    result: thumbnail.Result | storyboard.Result | sample.Result | ocr.Result,
) -> None:
    _keep(tx, target, result.artifacts)
    tx.run("touch_version", asset_id=target.asset_id, n=target.version)


def _indexed(storage: LocalStorage, tx: Transaction, target: Target, result: index.Result) -> None:
    _keep(tx, target, result.artifacts)
    tx.run("purge_spans", id=target.asset_id)
    if result.key is not None:
        _check_key(target, result.key)
        lines = storage.existing(result.key).read_text("utf-8").splitlines()
        _write_texts(tx, target.asset_id, [index.Found.model_validate_json(line) for line in lines])
    tx.run("mark_searchable", id=target.asset_id)


def _write_texts(tx: Transaction, asset_id: str, found: list[index.Found]) -> None:
    added = tx.rows("add_spans", asset_id=asset_id, spans=[_span_row(one) for one in found])
    entities = [
        {
            "span_id": row["id"],
            "kind": entity.kind,
            "value": entity.value,
            "normalized": entity.normalized,
            "begins": entity.start,
            "ends": entity.end,
        }
        for row, one in zip(added, found, strict=True)
        for entity in one.entities
    ]
    if entities:
        tx.run("add_entities", asset_id=asset_id, entities=entities)


def _span_row(found: index.Found) -> dict[str, object]:
    span = found.span
    x, y, width, height = span.box
    return {
        "start_ms": span.start_ms,
        "end_ms": span.end_ms,
        "text": span.text,
        "normalized": span.normalized,
        "hash": span.hash,
        "confidence": span.confidence,
        "x": x,
        "y": y,
        "width": width,
        "height": height,
        "language": span.language,
    }


def _keep(tx: Transaction, target: Target, artifacts: Iterable[Artifact]) -> None:
    """Commit files: from now on they are there."""
    rows = []
    for made in artifacts:
        _check_key(target, made.key)
        name = name_of(target.asset_id, target.version, made.name)
        if not is_key(name):
            raise ValueError(f"{made.name!r} is not the name of a file")
        rows.append({**made._asdict(), "name": name})
    tx.run(
        "add_artifacts",
        asset_id=target.asset_id,
        version=target.version,
        task_id=target.task.id,
        epoch=target.task.epoch,
        artifacts=rows,
    )


def _check_key(target: Target, key: str) -> None:
    folder = attempt_folder(target.asset_id, target.task.id, target.task.epoch)
    if not (is_key(key) and key.startswith(f"{folder}/")):
        raise ValueError(f"{key!r} is not a file of this attempt")
