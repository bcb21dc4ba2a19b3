"""Encodes one sound track: its beginning, which somebody may wait for, or the rest of it."""

from __future__ import annotations

from datetime import timedelta

from pydantic import BaseModel

from rushes.domain.artifact import Artifact
from rushes.domain.retry import HEAVY
from rushes.domain.room import ROOM
from rushes.media import audio
from rushes.media.audio import Take, Track
from rushes.media.encoders import Tools
from rushes.media.plan import Chunk
from rushes.media.rendition import Rendition
from rushes.stages import probe
from rushes.stages.context import TaskContext
from rushes.stages.registry import stage
from rushes.stages.watch import TaskWatch


class Params(BaseModel):
    asset: str
    track: Track
    chunk: Chunk


class Result(BaseModel):
    rendition: Rendition
    artifacts: list[Artifact]


@stage(
    "audio",
    params=Params,
    needs={ROOM},
    lane="encode",
    backoff=HEAVY,
    hard_limit=timedelta(hours=12),
)
def run(task: TaskContext) -> Result:
    params = task.params(Params)
    film = task.result(probe.Result, "probe")
    folder = task.files.folder(params.asset)
    made = audio.encode_audio(
        task.files.fetch(film.work_key),
        Take(track=params.track, grid=film.grid, chunk=params.chunk),
        folder=folder,
        tools=Tools(watch=TaskWatch(task, "audio")),
    )
    artifacts = task.files.keep({name: folder / name for name in made.files})
    return Result(rendition=made, artifacts=artifacts)
