"""Checks the finished set as a whole, before its playlists are closed."""

from __future__ import annotations

from pydantic import BaseModel

from rushes.domain.failure import Phase
from rushes.media import check, playlist, rendition
from rushes.media.rendition import MASTER, Rendition
from rushes.stages import audio, probe, transcode
from rushes.stages.context import TaskContext
from rushes.stages.registry import stage


class Params(BaseModel):
    asset: str


class Result(BaseModel):
    """The renditions of which every segment is there."""

    complete: list[str]


@stage("playlist", params=Params, lane="media", phase=Phase.FINALIZING)
def run(task: TaskContext) -> Result:
    film = task.result(probe.Result, "probe")
    chunks = task.results_of(transcode.Result, "transcode")
    sounds = task.results_of(audio.Result, "audio")
    kept = [file for chunk in chunks for file in chunk.artifacts]
    kept += [file for sound in sounds for file in sound.artifacts]
    found = task.files.sizes([file.key for file in kept])
    sizes = {file.name: found[file.key] for file in kept}

    parts = [part for chunk in chunks for part in chunk.renditions]
    parts += [sound.rendition for sound in sounds]
    names = dict.fromkeys([*(rung.name for rung in film.rungs), *(part.name for part in parts)])
    whole = [name for name in names if _is_whole(name, parts, film.grid.segments)]
    complete = [rendition.join(part for part in parts if part.name == name) for name in whole]
    playlists = {
        rendition.playlist_name(made.name): playlist.media(made, film.grid) for made in complete
    }
    playlists[MASTER] = playlist.master(complete, film.grid)
    check.check_set(film.grid, complete, sizes, playlists)
    return Result(complete=[made.name for made in complete])


def _is_whole(name: str, parts: list[Rendition], segments: int) -> bool:
    return sum(len(part.segments) for part in parts if part.name == name) == segments
