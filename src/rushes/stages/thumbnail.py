"""Makes the poster of a film."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel

from rushes.domain.artifact import Artifact
from rushes.domain.room import ROOM
from rushes.media import thumbnail
from rushes.stages import probe
from rushes.stages.context import TaskContext
from rushes.stages.registry import stage
from rushes.stages.watch import TaskWatch


class Params(BaseModel):
    asset: str
    at_ms: int | None = None


class Result(BaseModel):
    t_ms: int
    artifacts: list[Artifact]


@stage("thumbnail", params=Params, lane="media", needs={ROOM})
def run(task: TaskContext) -> Result:
    params = task.params(Params)
    film = task.result(probe.Result, "probe")
    poster = thumbnail.thumbnail(
        task.files.fetch(film.work_key),
        film.source,
        folder=task.files.folder(params.asset),
        at_ms=params.at_ms,
        watch=TaskWatch(task, "thumbnail"),
    )
    paths = [Path(still.path) for still in poster.stills]
    return Result(t_ms=poster.t_ms, artifacts=task.files.keep({path.name: path for path in paths}))
