"""Cuts one clip out of a film."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from pydantic import BaseModel

from rushes import __version__
from rushes.domain.artifact import Artifact
from rushes.domain.room import ROOM
from rushes.media import clip
from rushes.media.clip import Mode, Window
from rushes.media.source import Source
from rushes.observability import failpoints
from rushes.stages.context import TaskContext
from rushes.stages.registry import stage
from rushes.stages.watch import TaskWatch

FILE = "clip.mp4"


class Params(BaseModel):
    """`source` describes the very file of `work_key`: the original, or the copy that is read."""

    asset: str
    clip: str
    work_key: str
    source: Source
    window: Window
    mode: Mode


class Made(BaseModel):
    """A clip as it became. Times are those of the film."""

    mode: Mode
    start_ms: int
    end_ms: int
    frames: int
    width: int
    height: int
    audio: bool
    command: list[str]
    tools: list[str]


class Result(BaseModel):
    made: Made
    artifacts: list[Artifact]


@stage(
    "clip",
    params=Params,
    needs={ROOM},
    lane="encode",
    stall=timedelta(
        minutes=30
    ),  # a damaged film is read from its start, and nothing is heard of it
    hard_limit=timedelta(hours=12),
)
def run(task: TaskContext) -> Result:
    params = task.params(Params)
    path, folder = task.files.fetch(params.work_key), task.files.folder(params.asset)
    failpoints.hit("stage.before_spawn")
    made = clip.cut(
        path,
        params.source,
        params.window,
        target=folder / FILE,
        mode=params.mode,
        watch=TaskWatch(task, "clip"),
    )
    return Result(
        made=Made(
            mode=made.mode,
            start_ms=made.start_ms,
            end_ms=made.end_ms,
            frames=made.frames,
            width=made.width,
            height=made.height,
            audio=made.audio,
            command=[_public(word, path) for word in made.provenance.command],
            tools=[*made.provenance.tools, f"rushes {__version__}"],
        ),
        artifacts=task.files.keep({FILE: Path(made.path)}),
    )


def _public(word: str, path: Path) -> str:
    """Return a word of the command without the places of this machine, which are nobody's."""
    named = word.replace(str(path.absolute()), f"original{path.suffix}")
    return Path(named).name if named.startswith("/") else named
