"""Merges what was read into texts with their times, and finds the names and numbers in them.

Subtitles that are in the film as text come beside. What it found is a file, or two; the projection
makes rows of it in the transaction that completes the task.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, Field

from rushes.domain.artifact import Artifact
from rushes.domain.room import ROOM
from rushes.errors import Invalid, Permanent, StageError
from rushes.media import entities, subtitles, text
from rushes.media.entities import Entity
from rushes.media.language import short
from rushes.media.ocr import Reading
from rushes.media.text import MAX_LENGTH, Span
from rushes.stages import ocr, probe
from rushes.stages.context import TaskContext
from rushes.stages.registry import stage
from rushes.stages.watch import TaskWatch

SPANS, SUBTITLES = "spans.jsonl", "subtitles.jsonl"
MOST_TRACKS = 32


class Params(BaseModel):
    asset: str


class Found(BaseModel):
    """A line of the file."""

    span: Span
    entities: tuple[Entity, ...]


class Said(BaseModel):
    """A cue of a track of subtitles: a line of the other file."""

    language: Annotated[str, Field(max_length=40)]
    start_ms: Annotated[int, Field(ge=0)]
    end_ms: Annotated[int, Field(ge=1)]
    text: Annotated[str, Field(min_length=1, max_length=MAX_LENGTH)]


class Result(BaseModel):
    key: str | None
    spans: int
    subtitles_key: str | None = None
    artifacts: list[Artifact]


@stage("index", params=Params, lane="media", needs={ROOM})
def run(task: TaskContext) -> Result:
    params = task.params(Params)
    batches = task.results_of(ocr.Result, "ocr")
    if not batches:
        raise Permanent(
            "no frame could be read",
            error_code="DEPENDENCY_FAILED",
            hint=f"look why in its job, then: rushes retranscode {params.asset[-8:]} --text",
        )
    end_ms = max(batch.until_ms for batch in batches)
    spans = text.merge(_readings(task, batches), end_ms)
    said = [cue.model_dump_json() for cue in _said(task, params)]
    found = [
        Found(span=span, entities=tuple(entities.find(span.text))).model_dump_json()
        for span in spans
    ]
    folder = task.files.folder(params.asset)
    files = {
        f"text/{name}": _written(folder / name, lines)
        for name, lines in ((SPANS, found), (SUBTITLES, said))
        if lines
    }
    artifacts = task.files.keep(files) if files else []
    keys = {made.name: made.key for made in artifacts}
    return Result(
        key=keys.get(f"text/{SPANS}"),
        spans=len(spans),
        subtitles_key=keys.get(f"text/{SUBTITLES}"),
        artifacts=artifacts,
    )


def _written(path: Path, lines: list[str]) -> Path:
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


def _said(task: TaskContext, params: Params) -> Iterator[Said]:
    """Yield the subtitles of the film. What is wrong with them is no reason to lose the rest."""
    for film in task.results_of(probe.Result, "probe"):
        streams = subtitles.tracks(film.source)[:MOST_TRACKS]
        if not streams:
            return
        path, folder = task.files.fetch(film.work_key), task.files.folder(params.asset)
        watch = TaskWatch(task, "subtitles")
        try:
            read = subtitles.extract(path, streams, folder=folder, watch=watch)
        except (StageError, Invalid) as error:
            task.log("warn", f"the subtitles in the film cannot be read: {error.message}")
            return
        for stream, cues in zip(streams, read, strict=True):
            language = short(stream.language)
            yield from (Said(language=language, **cue._asdict()) for cue in cues)


def _readings(task: TaskContext, batches: list[ocr.Result]) -> Iterator[Reading]:
    """Read the files of all batches, in the order of time."""
    for batch in sorted(batches, key=lambda batch: batch.until_ms):
        with task.files.fetch(batch.key).open("rb") as lines:
            yield from (ocr.READING.validate_json(line) for line in lines)
