"""The end of a film's main branch: its projection publishes the version."""

from __future__ import annotations

from pydantic import BaseModel

from rushes.domain.failure import Phase
from rushes.stages import playlist
from rushes.stages.context import TaskContext
from rushes.stages.registry import stage


class Params(BaseModel):
    asset: str


class Result(BaseModel):
    complete: list[str]


@stage("finalize", params=Params, lane="media", phase=Phase.FINALIZING)
def run(task: TaskContext) -> Result:
    return Result(complete=task.result(playlist.Result, "playlist").complete)
