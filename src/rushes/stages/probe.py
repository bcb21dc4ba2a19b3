"""Looks at a film and plans the work: its ladder, its chunks, its parts to be read."""

from __future__ import annotations

from dataclasses import replace

from pydantic import BaseModel

from rushes.domain.artifact import Artifact
from rushes.domain.failure import Phase
from rushes.domain.room import ROOM
from rushes.errors import Permanent
from rushes.media import audio, hls, ladder, plan, probe, sample
from rushes.media.audio import Track
from rushes.media.encoders import Tools
from rushes.media.ladder import Rung
from rushes.media.plan import Chunk, Grid
from rushes.media.sample import Part
from rushes.media.source import Caps, Source
from rushes.stages.context import TaskContext
from rushes.stages.registry import stage
from rushes.stages.watch import TaskWatch

REMUXED = "source.mkv"


class Params(BaseModel):
    asset: str
    source_key: str
    qualities: tuple[str, ...] | None = None
    caps: Caps = Caps()


class Piece(BaseModel):
    """One chunk, as the params of its task."""

    chunk: Chunk


class Sound(BaseModel):
    """One chunk of one sound track, as the params of its task."""

    track: Track
    chunk: Chunk


class Stretch(BaseModel):
    part: Part


class Result(BaseModel):
    """What the rest of the pipeline is made of. `work_key` is the file that is really read."""

    source: Source
    grid: Grid
    rungs: tuple[Rung, ...]
    chunks: list[Piece]
    sounds: list[Sound]
    parts: list[Stretch]
    work_key: str
    artifacts: list[Artifact]


@stage("probe", params=Params, lane="media", phase=Phase.INIT, needs={ROOM})
def run(task: TaskContext) -> Result:
    params = task.params(Params)
    path, folder = task.files.fetch(params.source_key), task.files.folder(params.asset)
    source = probe.probe(path, folder=folder, caps=params.caps, watch=TaskWatch(task, "probe"))
    work_key, artifacts = params.source_key, []
    if source.remux:
        copied = hls.remux(path, source, folder=folder, tools=Tools(watch=TaskWatch(task, "remux")))
        [kept] = artifacts = task.files.keep({REMUXED: copied})
        work_key = kept.key
        source = probe.probe(copied, folder=folder, caps=params.caps)
    planned, tracks = plan.plan(source), audio.tracks(source)
    return Result(
        source=source,
        grid=planned.grid,
        rungs=_wanted(ladder.rungs(source), params.qualities),
        chunks=[Piece(chunk=chunk) for chunk in planned.chunks],
        sounds=[Sound(track=track, chunk=chunk) for chunk in planned.sounds for track in tracks],
        parts=[Stretch(part=part) for part in sample.parts(source.duration_ms)],
        work_key=work_key,
        artifacts=artifacts,
    )


def _wanted(rungs: tuple[Rung, ...], qualities: tuple[str, ...] | None) -> tuple[Rung, ...]:
    """Return the rungs that were asked for; without the lowest of them it would be for nothing."""
    if qualities is None:
        return rungs
    wanted = tuple(rung for rung in rungs if rung.name in qualities)
    if not wanted:
        possible = ", ".join(rung.name for rung in rungs)
        raise Permanent(
            f"none of {', '.join(qualities)} can be made of this film; possible: {possible}",
            error_code="INVALID_INPUT",
        )
    return (*wanted[:-1], replace(wanted[-1], required=True))
