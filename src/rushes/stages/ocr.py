"""Reads the text in a batch of frames. The raw finds are a file; `index` makes spans of them."""

from __future__ import annotations

from datetime import timedelta

from pydantic import BaseModel, TypeAdapter

from rushes.domain.artifact import Artifact
from rushes.domain.room import ROOM
from rushes.media import ocr
from rushes.media.ocr import Options, Reading
from rushes.media.sample import Frame, frame_name
from rushes.stages.context import TaskContext
from rushes.stages.registry import stage
from rushes.stages.sample import Batch
from rushes.stages.watch import TaskWatch

READING = TypeAdapter(Reading)


class Params(Batch):
    asset: str
    options: Options = Options()


class Result(BaseModel):
    """`key` is where the readings are, one JSON object a line; `lost` frames have none."""

    key: str
    until_ms: int
    lost: int
    artifacts: list[Artifact]


@stage("ocr", params=Params, lane="text", needs={"ocr", ROOM}, hard_limit=timedelta(hours=4))
def run(task: TaskContext) -> Result:
    params = task.params(Params)
    folder = task.files.folder(params.asset)
    frames = [
        Frame(
            t_ms=t_ms,
            path=str(task.files.fetch(f"{params.folder}/{frame_name(t_ms)}")),
            width=params.width,
            height=params.height,
        )
        for t_ms in params.times_ms
    ]
    with ocr.reader(params.options, folder=folder, watch=TaskWatch(task, "ocr")) as reader:
        readings = reader.read(frames)
    path = folder / f"{params.times_ms[0]:09d}.jsonl"
    path.write_bytes(b"\n".join(READING.dump_json(reading) for reading in readings) + b"\n")
    [kept] = artifacts = task.files.keep({f"text/{path.name}": path})
    return Result(
        key=kept.key,
        until_ms=params.until_ms,
        lost=sum(reading.error is not None for reading in readings),
        artifacts=artifacts,
    )
