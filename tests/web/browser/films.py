"""Films for the pictures of the page: shots with words on them, sharp and quick to read.

The pictures are those of the login page. They are small and soft, as what is behind the words in
a broadcast is; the words are drawn anew over them, in the type of the page.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

from rushes.web.static import FOLDER

WIDTH, HEIGHT, RATE = 1280, 720, 10
INK, PAPER, GREY = "#0c0e0e", "#ffffff", "#c9cfcb"
RED, BLUE, TEAL, AMBER = "#c8102e", "#1d4e89", "#1d6f7d", "#a34d0a"
PLATE = (72, 552, 772, 686)  # it covers the words that a picture has already
LOWER = {"studio": 30}
WIDER = {"studio": 822}
TAG_TO = {"swim": 432, "studio": 372, "weather": 346}
CLOCKS = {"council": (1066, 38, 1246, 98), "match": (66, 40, 452, 104)}
FONT = FOLDER / "fonts" / "archivo-latin.woff2"


@dataclass(frozen=True, slots=True)
class Shot:
    """A picture and the words on it: a tag, a line, a smaller one below, and a corner.

    `chapter` is the title of the one that begins with it.
    """

    picture: str
    line: str = ""
    below: str = ""
    tag: str = ""
    colour: str = RED
    corner: str = ""
    chapter: str = ""


def film(target: Path, shots: Sequence[Shot], seconds: int) -> Path:
    """Show some shots one after the other, each for as long."""
    ffmpeg = shutil.which("ffmpeg")
    assert ffmpeg is not None
    for number, shot in enumerate(shots):
        draw(shot).save(target.with_name(f"{target.stem}-{number}.png"), compress_level=1)
    read = ["-framerate", f"1/{seconds}", "-i", target.with_name(f"{target.stem}-%d.png")]
    chapters = target.with_suffix(".txt")
    chapters.write_text("\n".join([";FFMETADATA1", *_chapters(shots, seconds)]))
    read += ["-f", "ffmetadata", "-i", chapters]
    read += ["-f", "lavfi", "-i", "anullsrc=r=48000:cl=stereo", "-c:a", "aac", "-b:a", "64k"]
    read += ["-vf", f"fps={RATE},tpad=stop=-1:stop_mode=clone", "-t", str(seconds * len(shots))]
    write = ["-c:v", "libx264", "-preset", "veryfast", "-crf", "16"]
    subprocess.run(
        [ffmpeg, "-v", "error", *read, *write, "-g", "30", "-pix_fmt", "yuv420p", target],
        check=True,
    )
    return target


def again(film: Path, target: Path, times: int) -> Path:
    """Make a film so long that it is in work for a while."""
    ffmpeg = shutil.which("ffmpeg")
    assert ffmpeg is not None
    loop = ["-stream_loop", str(times - 1), "-i", film, "-c", "copy"]
    subprocess.run([ffmpeg, "-v", "error", *loop, target], check=True)
    return target


def draw(shot: Shot) -> Image.Image:
    """Return one frame."""
    small = Image.open(FOLDER / "img" / "wall" / f"{shot.picture}.webp").convert("RGB")
    image = small.resize((WIDTH, HEIGHT), Image.Resampling.BICUBIC)
    pen = ImageDraw.Draw(image)
    if shot.line:
        _plate(pen, shot)
    if shot.corner:
        left, top, right, bottom = CLOCKS.get(shot.picture, CLOCKS["council"])
        pen.rectangle((left, top, right, bottom), fill=INK)
        middle = ((left + right) // 2, (top + bottom) // 2)
        pen.text(middle, shot.corner, font=_font(30, 700, 88), fill=PAPER, anchor="mm")
    return image


def _chapters(shots: Sequence[Shot], seconds: int) -> Iterator[str]:
    begins = [number for number, shot in enumerate(shots) if shot.chapter]
    for begin, end in pairwise([*begins, len(shots)]):
        yield "[CHAPTER]\nTIMEBASE=1/1"
        yield f"START={begin * seconds}\nEND={end * seconds}\ntitle={shots[begin].chapter}"


def _plate(pen: ImageDraw.ImageDraw, shot: Shot) -> None:
    down = LOWER.get(shot.picture, 0)
    left, top, right, bottom = PLATE[0], PLATE[1] + down, PLATE[2], PLATE[3] + down
    right = WIDER.get(shot.picture, right)
    bold, plain = _font(48, 700, 80), _font(27, 450, 92)
    wide = max(pen.textlength(shot.line, font=bold), pen.textlength(shot.below, font=plain))
    pen.rectangle((left, top, max(right, left + int(wide) + 56), bottom), fill=INK)
    pen.text((left + 28, top + 45), shot.line, font=bold, fill=PAPER, anchor="lm")
    pen.text((left + 28, top + 99), shot.below, font=plain, fill=GREY, anchor="lm")
    if shot.tag:
        small = _font(25, 650, 88)
        long = int(pen.textlength(shot.tag, font=small))
        pen.rectangle(
            (left, top - 50, max(left + long + 36, TAG_TO.get(shot.picture, 316)), top - 1),
            fill=shot.colour,
        )
        pen.text((left + 18, top - 26), shot.tag, font=small, fill=PAPER, anchor="lm")


def _font(size: int, weight: int, width: int) -> ImageFont.FreeTypeFont:
    font = ImageFont.truetype(FONT, size)
    font.set_variation_by_axes([weight, width])
    return font
