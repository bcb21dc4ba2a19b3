"""Judges the clips of the demo's film: a line appears with their first frame, and the scene ends
with their last, so a clip that is one frame off shows something else.

A check returns what is not true, one sentence each, or raises it.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from PIL import Image, ImageChops, ImageStat

from rushes.library import demo_film, instant
from rushes.library.demo_check import Made
from rushes.library.demo_film import FPS
from rushes.media import ffmpeg
from rushes.media.clip import Window

MOMENT = Window(start_ms=6_200, end_ms=7_600)
FRAMES = range(MOMENT.start_ms * FPS // 1000, MOMENT.end_ms * FPS // 1000)


def wrong_instant(made: Made) -> list[str]:
    """Decode the first segments that the instant playlist names, as a player does."""
    cut = instant.excerpt(made.seen, MOMENT)
    picture = min((one for one in cut.renditions if not one.is_audio), key=lambda one: one.width)
    text = instant.media(made.seen, picture.name, MOMENT)
    missing = [name for name in picture.files if Path(name).name not in text]
    with tempfile.TemporaryDirectory() as scratch:
        film = Path(scratch) / "film.mp4"
        film.write_bytes(b"".join((made.folder / name).read_bytes() for name in picture.files))
        first = round(cut.start * FPS)
        shown = _pictures(film, range(first, first + len(FRAMES)))
    return [*(f"the playlist does not name {name}" for name in missing), *_wrong(shown)]


def wrong_clip(path: Path) -> list[str]:
    """Compare the first and the last frame of the exact clip, and those around them."""
    return _wrong(_pictures(path, range(len(FRAMES)), whole=True))


def _wrong(shown: list[Image.Image]) -> list[str]:
    if len(shown) != 2:
        return ["it does not have the frames that it should"]
    ends = (("first", shown[0], FRAMES[0], -1), ("last", shown[1], FRAMES[-1], 1))
    return [
        f"its {word} frame is not frame {number} of the film"
        for word, picture, number, beyond in ends
        if _distance(picture, number) >= _distance(picture, number + beyond)
    ]


def _pictures(film: Path, numbers: range, *, whole: bool = False) -> list[Image.Image]:
    """Decode the first and the last of some frames; `whole`: the film must have no others."""
    chosen = f"eq(n,{numbers[0]})+eq(n,{numbers[-1]})" + (f"+gt(n,{numbers[-1]})" if whole else "")
    with tempfile.TemporaryDirectory() as scratch:
        ffmpeg.run(
            (
                *(*ffmpeg.input_options(), "-i", ffmpeg.source(film)),
                *("-vf", f"select='{chosen}'", "-fps_mode", "passthrough", "frame-%03d.png"),
            ),
            folder=Path(scratch),
            reads=[film],
        )
        return [Image.open(path).convert("RGB") for path in sorted(Path(scratch).glob("*.png"))]


def _distance(picture: Image.Image, number: int) -> float:
    """Return how far a picture is from a frame as it was drawn."""
    drawn = demo_film.draw(*demo_film.look_of(number)).resize(picture.size)
    return sum(ImageStat.Stat(ImageChops.difference(picture, drawn)).mean)
