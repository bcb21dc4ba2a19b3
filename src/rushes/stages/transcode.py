"""Encodes one chunk of a film in all its qualities, or in those that were asked for."""

from __future__ import annotations

from datetime import timedelta

from pydantic import BaseModel

from rushes.domain.artifact import Artifact
from rushes.domain.retry import HEAVY
from rushes.domain.room import ROOM
from rushes.errors import ToolFailed
from rushes.media import hls
from rushes.media.encoders import X264, Tools
from rushes.media.hls import Failure
from rushes.media.ladder import Rung
from rushes.media.plan import Chunk, Grid
from rushes.media.rendition import Rendition
from rushes.observability import failpoints
from rushes.stages import probe
from rushes.stages.context import TaskContext
from rushes.stages.registry import stage
from rushes.stages.watch import TaskWatch


class Params(BaseModel):
    asset: str
    chunk: Chunk


class Result(BaseModel):
    renditions: tuple[Rendition, ...]
    failures: tuple[Failure, ...]
    artifacts: list[Artifact]


class Marked(X264):
    """The usual encoder, with a place for each rung where a test may make it fail."""

    def options(self, rung: Rung, grid: Grid) -> list[str]:
        failpoints.hit(f"encode.{rung.name}", ToolFailed)
        return super().options(rung, grid)


@stage(
    "transcode",
    params=Params,
    needs={ROOM},
    lane="encode",
    backoff=HEAVY,
    stall=timedelta(minutes=30),
    hard_limit=timedelta(hours=12),
)
def run(task: TaskContext) -> Result:
    """The last attempt takes rung by rung: one that fails must not take the others along."""
    params = task.params(Params)
    film = task.result(probe.Result, "probe")
    folder = task.files.folder(params.asset)
    piece = hls.Piece(video=film.source.video, grid=film.grid, chunk=params.chunk, rungs=film.rungs)
    failpoints.hit("stage.before_spawn")
    encoded = hls.encode_chunk(
        task.files.fetch(film.work_key),
        piece,
        folder=folder,
        separately=task.is_last_attempt,
        tools=Tools(encoder=Marked(), watch=TaskWatch(task, "transcode")),
    )
    names = [name for made in encoded.renditions for name in _kept(made, params.chunk)]
    return Result(
        renditions=encoded.renditions,
        failures=encoded.failures,
        artifacts=task.files.keep({name: folder / name for name in names}),
    )


def _kept(made: Rendition, chunk: Chunk) -> tuple[str, ...]:
    """The init is the same in all chunks, and the film begins with the first."""
    return made.files if chunk.index == 0 else made.files[1:]
