"""Makes the small pictures that a player shows above its time line.

They are taken from the smallest quality, once it is whole: to decode that costs a twentieth of
what the original does, and it stands upright on an even grid.
"""

from __future__ import annotations

import shutil
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

from pydantic import BaseModel

from rushes.domain.artifact import Artifact
from rushes.domain.room import ROOM
from rushes.media import storyboard
from rushes.media.ladder import Rung
from rushes.media.rendition import init_name, segment_name
from rushes.media.source import Source
from rushes.stages import probe, transcode
from rushes.stages.context import TaskContext
from rushes.stages.registry import stage
from rushes.stages.watch import TaskWatch

STRIP = "strip.mp4"


class Params(BaseModel):
    asset: str


class Result(BaseModel):
    artifacts: list[Artifact]


@stage("storyboard", params=Params, lane="media", needs={ROOM})
def run(task: TaskContext) -> Result:
    params = task.params(Params)
    film = task.result(probe.Result, "probe")
    folder = task.files.folder(params.asset)
    smallest = min(film.rungs, key=lambda rung: rung.width * rung.height)
    strip = _stitch(task, smallest, film.grid.segments, folder / STRIP)
    made = storyboard.storyboard(
        strip, _described(film, smallest), folder=folder, watch=TaskWatch(task, "storyboard")
    )
    strip.unlink()
    paths = [Path(path) for path in (*made.sheets, made.vtt)]
    return Result(artifacts=task.files.keep({path.name: path for path in paths}))


def _stitch(task: TaskContext, rung: Rung, segments: int, target: Path) -> Path:
    """Put the files of a rung one after the other: that is a film of its own."""
    chunks = task.results_of(transcode.Result, "transcode")
    keys = {file.name: file.key for chunk in chunks for file in chunk.artifacts}
    names = [init_name(rung.name), *(segment_name(rung.name, n) for n in range(segments))]
    with target.open("wb") as strip:
        for name in names:
            task.check()
            with task.files.fetch(keys[name]).open("rb") as part:
                shutil.copyfileobj(part, strip, 1 << 20)
    return target


def _described(film: probe.Result, rung: Rung) -> Source:
    """Return the film as it is in one of its qualities."""
    video = replace(
        film.source.video,
        index=0,
        display_width=rung.width,
        display_height=rung.height,
        fps=film.grid.fps,
        variable=False,
        start_ms=0,
        rotation=0,
        sar=Fraction(1),
        interlaced=False,
        hdr=None,
    )
    return replace(film.source, video=video)
