"""Merges what was read into texts with their times, and finds the names and numbers in them.

What it found is a file; the projection makes rows of it in the transaction that completes the task.
"""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import BaseModel

from rushes.domain.artifact import Artifact
from rushes.domain.room import ROOM
from rushes.errors import Permanent
from rushes.media import entities, text
from rushes.media.entities import Entity
from rushes.media.ocr import Reading
from rushes.media.text import Span
from rushes.stages import ocr
from rushes.stages.context import TaskContext
from rushes.stages.registry import stage

SPANS = "spans.jsonl"


class Params(BaseModel):
    asset: str


class Found(BaseModel):
    """A line of the file."""

    span: Span
    entities: tuple[Entity, ...]


class Result(BaseModel):
    key: str | None
    spans: int
    artifacts: list[Artifact]


@stage("index", params=Params, needs={ROOM})
def run(task: TaskContext) -> Result:
    params = task.params(Params)
    batches = task.results_of(ocr.Result, "ocr")
    if not batches:
        raise Permanent("no frame could be read", error_code="DEPENDENCY_FAILED")
    end_ms = max(batch.until_ms for batch in batches)
    spans = text.merge(_readings(task, batches), end_ms)
    if not spans:
        return Result(key=None, spans=0, artifacts=[])
    path = task.files.folder(params.asset) / SPANS
    lines = (
        Found(span=span, entities=tuple(entities.find(span.text))).model_dump_json()
        for span in spans
    )
    path.write_text("\n".join(lines) + "\n", "utf-8")
    [kept] = artifacts = task.files.keep({f"text/{SPANS}": path})
    return Result(key=kept.key, spans=len(spans), artifacts=artifacts)


def _readings(task: TaskContext, batches: list[ocr.Result]) -> Iterator[Reading]:
    """Read the files of all batches, in the order of time."""
    for batch in sorted(batches, key=lambda batch: batch.until_ms):
        with task.files.fetch(batch.key).open("rb") as lines:
            yield from (ocr.READING.validate_json(line) for line in lines)
