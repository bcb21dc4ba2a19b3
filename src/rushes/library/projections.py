"""A stage's result → rows, inside the transaction that completes its task.

A result may come from a machine that we do not trust. Which asset and version it is about is
looked up by its job, and its files must lie in the folder of the very attempt that was accepted.
What is wrong raises ValueError: the task fails, and nothing of it is written.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from pydantic import BaseModel, TypeAdapter

from rushes.domain.artifact import Artifact, attempt_folder, clip_name, is_key, name_of
from rushes.domain.asset import QualityStatus
from rushes.engine.engine import Finished, Projection
from rushes.library import indexing, playback
from rushes.library.indexing import Line, Source
from rushes.media.decision import TRUNCATED
from rushes.media.rendition import Rendition
from rushes.media.source import Source as Film
from rushes.media.text import clean
from rushes.stages import (
    audio,
    clip,
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

SOURCE = TypeAdapter(Film)
NO_VERSION = 0
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
        "clip": _clipped,
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
    indexing.put_chapters(tx, target.asset_id, result.source.chapters)


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
    for track in dict.fromkeys(sound.track for sound in result.sounds):
        yield {
            "name": track.name,
            "width": 0,
            "height": 0,
            "channels": track.channels,
            "language": track.language,
            "maxrate_bps": track.bitrate,
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
    items = [{"code": code, "message": message} for code, message in _reported(tx, target)]
    tx.run("report_items", id=target.task.job_id, items=json.dumps(items))
    if tx.rows("publish", id=target.asset_id, n=target.version):
        tx.run("mark_published", id=target.asset_id, n=target.version)
        tx.run("supersede", id=target.asset_id, n=target.version)


def _reported(tx: Transaction, target: Target) -> Iterator[tuple[str, str]]:
    """Yield what the owner should know of a film that is ready all the same."""
    [asset] = tx.rows("asset", id=target.asset_id)
    for damage in json.loads(asset["source"])["damage"]:
        if damage == TRUNCATED:
            yield "SOURCE_TRUNCATED", "the file ends too early: this is the film as far as it goes"
        else:
            yield "SOURCE_CORRUPT", f"the file is damaged: {damage}"
    for row in tx.rows("renditions", asset_id=target.asset_id, version=target.version):
        if row["status"] == QualityStatus.FAILED:
            code, _, message = row["error"].partition(": ")
            yield code, f"{row['name']} failed: {message}"


def _kept(
    tx: Transaction,
    target: Target,
    result: thumbnail.Result | storyboard.Result | sample.Result | ocr.Result,
) -> None:
    _keep(tx, target, result.artifacts)
    tx.run("touch_version", asset_id=target.asset_id, n=target.version)


def _indexed(storage: LocalStorage, tx: Transaction, target: Target, result: index.Result) -> None:
    _keep(tx, target, result.artifacts)
    indexing.drop(tx, target.asset_id, (Source.SCREEN, Source.EMBEDDED))
    found = _read(storage, target, index.Found, result.key)
    _write_texts(tx, target.asset_id, found)
    said = _read(storage, target, index.Said, result.subtitles_key)
    indexing.put(tx, target.asset_id, [_cue(one) for one in said])
    tx.run("mark_searchable", id=target.asset_id)


def _clipped(tx: Transaction, task: Finished) -> None:
    """Commit the one file of a clip. One that was deleted meanwhile gets none: it is collected."""
    result = clip.Result.model_validate_json(task.result)
    [file] = result.artifacts
    for row in tx.rows("clip_of_job", job_id=task.job_id):
        target = Target(row["asset_id"], NO_VERSION, task)
        _check_key(target, file.key)
        _add(tx, target, [file._replace(name=clip_name(row["asset_id"], row["id"]))])
        tx.run(
            "clip_ready",
            id=row["id"],
            made=result.made.model_dump_json(),
            actual_start=result.made.start_ms,
            actual_end=result.made.end_ms,
        )


def _read(storage: LocalStorage, target: Target, model: type[M], key: str | None) -> list[M]:
    """Read the lines of a file that an attempt made, if it made it."""
    if key is None:
        return []
    _check_key(target, key)
    lines = storage.existing(key).read_text("utf-8").split("\n")
    return [model.model_validate_json(line) for line in lines if line]


def _write_texts(tx: Transaction, asset_id: str, found: list[index.Found]) -> None:
    ids = indexing.put(tx, asset_id, [_line(one) for one in found])
    entities = [
        {
            "span_id": id,
            "kind": entity.kind,
            "value": entity.value,
            "normalized": entity.normalized,
            "begins": entity.start,
            "ends": entity.end,
        }
        for id, one in zip(ids, found, strict=True)
        for entity in one.entities
    ]
    if entities:
        tx.run("add_entities", asset_id=asset_id, entities=entities)


def _line(found: index.Found) -> Line:
    span = found.span
    times = (span.start_ms, span.end_ms)
    return Line(Source.SCREEN, *times, span.text, span.language, span.confidence, span.box)


def _cue(said: index.Said) -> Line:
    if said.start_ms >= said.end_ms:
        raise ValueError("a cue ends before it begins")
    return Line(Source.EMBEDDED, said.start_ms, said.end_ms, clean(said.text), said.language)


def _keep(tx: Transaction, target: Target, artifacts: Iterable[Artifact]) -> None:
    """Commit files: from now on they are there."""
    rows = []
    for made in artifacts:
        _check_key(target, made.key)
        name = name_of(target.asset_id, target.version, made.name)
        if not is_key(name):
            raise ValueError(f"{made.name!r} is not the name of a file")
        rows.append(made._replace(name=name))
    _add(tx, target, rows)


def _add(tx: Transaction, target: Target, artifacts: Iterable[Artifact]) -> None:
    tx.run(
        "add_artifacts",
        asset_id=target.asset_id,
        version=target.version,
        task_id=target.task.id,
        epoch=target.task.epoch,
        artifacts=[made._asdict() for made in artifacts],
    )


def _check_key(target: Target, key: str) -> None:
    folder = attempt_folder(target.asset_id, target.task.id, target.task.epoch)
    if not (is_key(key) and key.startswith(f"{folder}/")):
        raise ValueError(f"{key!r} is not a file of this attempt")
