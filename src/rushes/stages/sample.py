"""Takes the pictures worth reading from one part of a film, and deals them out in batches."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

from pydantic import BaseModel

from rushes.domain.artifact import Artifact
from rushes.domain.room import ROOM
from rushes.media import sample
from rushes.media.sample import Part, Sample
from rushes.stages import probe
from rushes.stages.context import TaskContext
from rushes.stages.registry import stage
from rushes.stages.watch import TaskWatch

BATCH = 60  # frames: about half a minute of reading, so little is lost with a worker


class Params(BaseModel):
    asset: str
    part: Part


class Batch(BaseModel):
    """Frames to be read by one task. The last one stands for the film until `until_ms`."""

    folder: str
    times_ms: tuple[int, ...]
    width: int
    height: int
    until_ms: int


class Result(BaseModel):
    batches: list[Batch]
    cuts_ms: tuple[int, ...]
    looked_at: int
    artifacts: list[Artifact]


@stage("sample", params=Params, needs={ROOM}, lane="text", hard_limit=timedelta(hours=4))
def run(task: TaskContext) -> Result:
    params = task.params(Params)
    film = task.result(probe.Result, "probe")
    made = sample.sample(
        task.files.fetch(film.work_key),
        film.source.video,
        params.part,
        folder=task.files.folder(params.asset),
        watch=TaskWatch(task, "sample"),
    )
    paths = [Path(frame.path) for frame in made.frames]
    artifacts = task.files.keep({f"frames/{path.name}": path for path in paths})
    return Result(
        batches=list(_batches(made, artifacts)),
        cuts_ms=made.cuts_ms,
        looked_at=made.looked_at,
        artifacts=artifacts,
    )


def _batches(made: Sample, artifacts: list[Artifact]) -> Iterator[Batch]:
    """Deal the frames out. All frames of a film have one size and lie in one folder."""
    times = [frame.t_ms for frame in made.frames]
    for start in range(0, len(times), BATCH):
        yield Batch(
            folder=artifacts[0].key.rpartition("/")[0],
            times_ms=tuple(times[start : start + BATCH]),
            width=made.frames[0].width,
            height=made.frames[0].height,
            until_ms=[*times, made.part.end_ms][min(start + BATCH, len(times))],
        )
