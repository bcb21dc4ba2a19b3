"""Makes the small pictures that a player shows above its time line."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel

from rushes.domain.artifact import Artifact
from rushes.domain.room import ROOM
from rushes.media import storyboard
from rushes.stages import probe
from rushes.stages.context import TaskContext
from rushes.stages.registry import stage
from rushes.stages.watch import TaskWatch


class Params(BaseModel):
    asset: str


class Result(BaseModel):
    artifacts: list[Artifact]


@stage("storyboard", params=Params, needs={ROOM})
def run(task: TaskContext) -> Result:
    params = task.params(Params)
    film = task.result(probe.Result, "probe")
    made = storyboard.storyboard(
        task.files.fetch(film.work_key),
        film.source,
        folder=task.files.folder(params.asset),
        watch=TaskWatch(task, "storyboard"),
    )
    paths = [Path(path) for path in (*made.sheets, made.vtt)]
    return Result(artifacts=task.files.keep({path.name: path for path in paths}))
