"""Judges what was made of the demo's film, of which everything is known.

A check returns what is not true, one sentence each, or raises it.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PIL import Image

from rushes.errors import RushesError
from rushes.library.demo_film import ENTITIES, LINES, Line
from rushes.library.playback import View, playlists
from rushes.media import check, ffmpeg
from rushes.media.ladder import Rung
from rushes.media.plan import Chunk
from rushes.media.rendition import MASTER
from rushes.media.text import distance, normalize

POSTER, STORYBOARD = "poster.jpg", "storyboard.vtt"
URI = re.compile(r'URI="([^"]*)"|^([^#\s].*)$', re.MULTILINE)
TOLERANCE_MS = 100  # a film is looked at ten times a second
TOLERANCE = 0.1  # of the letters


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """The files that were made of a film, and what they ought to be."""

    folder: Path
    seen: View
    rungs: tuple[Rung, ...]


def judge(made: Made | None, texts: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
    """Return every claim about the film, with what is not true about it."""
    files = {
        "every playlist is closed and names what is there": broken_playlists,
        "every quality and the sound are whole, frame by frame": broken_segments,
        "the first segment of each quality plays": undecodable,
        "poster and storyboard are there": missing_pictures,
    }
    found = {
        claim: ["nothing was made"] if made is None else _checked(look, made)
        for claim, look in files.items()
    }
    return {
        **found,
        "every line of text was found at its time": unseen(texts),
        "every name, tag, address and number was found": unfound(texts),
    }


def broken_playlists(made: Made) -> list[str]:
    """Compare the playlists in the folder with the library, and with the files that they name."""
    files = [path for path in made.folder.rglob("*") if path.is_file()]
    sizes = {path.relative_to(made.folder).as_posix(): path.stat().st_size for path in files}
    wanted = playlists(made.seen)
    found = {name: (made.folder / name).read_text("utf-8") for name in wanted if name in sizes}
    check.check_set(made.seen.grid, made.seen.renditions, sizes, found)
    wrong = [name for name, text in wanted.items() if found.get(name) != text]
    entry = made.folder.parent / MASTER
    named = [first or second for first, second in URI.findall(entry.read_text("utf-8"))]
    return [
        *(f"{name} is missing, or not what it should be" for name in wrong),
        *(f"{MASTER} names {name}" for name in named if not (entry.parent / name).is_file()),
        *([] if named and made.seen.closed else ["the playlists have no end"]),
    ]


def broken_segments(made: Made) -> list[str]:
    """Read every file of every quality and of the sound: boxes, key frames, each frame's place."""
    grid, renditions = made.seen.grid, made.seen.renditions
    whole = Chunk(
        index=0, first_frame=0, end_frame=grid.frames, first_segment=0, segments=grid.segments
    )
    pictures = [rendition for rendition in renditions if not rendition.is_audio]
    sounds = [rendition for rendition in renditions if rendition.is_audio]
    check.check_chunk(made.folder, grid, whole, made.rungs, pictures)
    for sound in sounds:
        check.check_audio(made.folder, grid, range(grid.segments), sound)
    return [] if sounds else ["the film has lost its sound"]


def undecodable(made: Made) -> list[str]:
    """Decode the first segment of every rendition, as a player does."""
    problems = []
    for rendition in made.seen.renditions:
        wanted = 0 if rendition.is_audio else len(made.seen.grid.segment(0))
        shown = _frames([made.folder / name for name in rendition.files[:2]])
        if shown != wanted:
            problems.append(f"{rendition.name} begins with {shown} frames instead of {wanted}")
    return problems


def missing_pictures(made: Made) -> list[str]:
    """Open the poster, and the sheets that the storyboard names."""
    text = (made.folder / STORYBOARD).read_text("utf-8")
    sheets = sorted(set(re.findall(r"^(\S+)#xywh=", text, re.MULTILINE)))
    for name in (POSTER, *sheets):
        with Image.open(made.folder / name) as picture:
            picture.load()
    return [] if sheets else [f"{STORYBOARD} names no picture"]


def unseen(texts: Sequence[Mapping[str, Any]]) -> list[str]:
    """Say which lines were not found, or not at their times."""
    return [problem for line in LINES for problem in _problem(line, texts)]


def unfound(texts: Iterable[Mapping[str, Any]]) -> list[str]:
    """Say which names, tags, addresses and numbers were not found."""
    found = {
        (entity["kind"], entity["normalized"]) for text in texts for entity in text["entities"]
    }
    return [f"the {kind} {value} was not found" for kind, value in sorted(ENTITIES - found)]


def _checked(look: Callable[[Made], list[str]], made: Made) -> list[str]:
    """Return what a check finds; what stops it is a find, too."""
    try:
        return look(made)
    except (RushesError, OSError, ValueError) as error:
        return [str(error)]


def _frames(parts: Iterable[Path]) -> int:
    """Decode a film that lies in parts, and count its frames. The first fault raises."""
    with tempfile.TemporaryDirectory() as scratch:
        film = Path(scratch) / "film.mp4"
        film.write_bytes(b"".join(part.read_bytes() for part in parts))
        strict = ("-xerror", "-err_detect", "explode", *ffmpeg.input_options())
        decode = ("-i", ffmpeg.source(film), "-fps_mode", "passthrough", "-f", "null", "-")
        output = ffmpeg.run((*strict, *decode), folder=film.parent, reads=())
    shown = re.findall(r"^frame=(\d+)", output.stdout, re.MULTILINE)
    return int(shown[-1]) if shown else 0


def _problem(line: Line, texts: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    alike = [text for text in texts if _is_alike(line.text, text["text"])]
    if not alike:
        yield f"{line.text!r} was not found"
    elif not any(_is_on_time(line, text) for text in alike):
        times = ", ".join(f"{text['start_ms']} to {text['end_ms']} ms" for text in alike)
        yield f"{line.text!r} was found at {times}, not {line.start_ms} to {line.end_ms} ms"


def _is_alike(known: str, found: str) -> bool:
    one, other = normalize(known), normalize(found)
    return distance(one, other) <= TOLERANCE * len(one)


def _is_on_time(line: Line, text: Mapping[str, Any]) -> bool:
    late: int = max(abs(text["start_ms"] - line.start_ms), abs(text["end_ms"] - line.end_ms))
    return late <= TOLERANCE_MS
