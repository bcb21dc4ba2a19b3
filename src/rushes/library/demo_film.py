"""Makes a short film of which everything is known: every word, and when it is seen.

The letters come with Pillow, so they look the same on every machine; those that its font lacks
are put together from parts.
"""

from __future__ import annotations

import subprocess
import tempfile
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont, ImageOps

from rushes.errors import ToolFailed
from rushes.media import ffmpeg

WIDTH, HEIGHT, FPS = 1280, 720, 25
DURATION_MS = 12_400
FRAMES = DURATION_MS * FPS // 1000
LEFT, PLATE, DRIFT = 90, 20, 280  # pixels; the last per second
INK, NIGHT = "#f4f1e8", "#101828"


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A text, when it is seen, and where its letters stand."""

    text: str
    start_ms: int
    end_ms: int
    y: int
    size: int = 46


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """A background between two colours; one that moves has plates behind its lines."""

    end_ms: int
    dark: str
    light: str
    moves: bool = False


SCENES = (
    Scene(end_ms=3_000, dark="#0b1f3a", light="#27527d"),
    Scene(end_ms=4_600, dark="#1d3b2a", light="#e0b45c", moves=True),
    Scene(end_ms=7_600, dark="#3a1026", light="#7d2f4a"),
    Scene(end_ms=DURATION_MS, dark="#14171c", light="#3b4452"),
)
LINES = (
    Line(text="Rushes reads the words in your film", start_ms=0, end_ms=3_000, y=250, size=60),
    Line(text="Follow @harbournews for more", start_ms=800, end_ms=3_000, y=380),
    Line(text="#firstlight #behindthescenes", start_ms=1_600, end_ms=3_000, y=470),
    Line(text="Fußgänger hören das Läuten über der Straße", start_ms=3_000, end_ms=4_600, y=620),
    Line(text="Le garçon rêve d'une œuvre très célèbre", start_ms=4_600, end_ms=7_600, y=330),
    Line(text="Où est passée la forêt ?", start_ms=6_200, end_ms=7_600, y=430),
    Line(text="The ferry to Hamburg leaves at 10:15", start_ms=7_600, end_ms=10_000, y=200),
    Line(text="The ferry to Hamburg is now boarding", start_ms=10_000, end_ms=DURATION_MS, y=200),
    Line(text="Tickets from 12,50 € at the pier", start_ms=7_600, end_ms=DURATION_MS, y=320),
    Line(text="https://example.org/ferry", start_ms=7_600, end_ms=DURATION_MS, y=440),
    Line(text="Call +44 20 7946 0958", start_ms=7_600, end_ms=DURATION_MS, y=560),
)
ENTITIES = frozenset(
    {
        ("mention", "@harbournews"),
        ("hashtag", "#firstlight"),
        ("hashtag", "#behindthescenes"),
        ("number", "12.5 EUR"),
        ("url", "example.org/ferry"),
        ("phone", "+442079460958"),
    }
)

# shapes in parts of the letters' size; a mark stands above the middle of its letter
MARKS = {
    "\u0301": ((-0.03, -0.07), (0.09, -0.2)),
    "\u0300": ((0.03, -0.07), (-0.09, -0.2)),
    "\u0302": ((-0.12, -0.07), (0, -0.19), (0.12, -0.07)),
}
DOTS, TAIL = "\u0308", "\u0327"
PAIRS = {"œ": ("o", "e", 0.0, 0.44), "€": ("=", "C", -0.06, 0.0)}
SHARP_S = (
    *((0.11, 0), (0.11, -0.55), (0.14, -0.66), (0.25, -0.71), (0.37, -0.66), (0.41, -0.56)),
    *((0.36, -0.46), (0.28, -0.41), (0.4, -0.34), (0.46, -0.2), (0.42, -0.08), (0.32, -0.02)),
    (0.22, -0.02),
)
STROKE, SHARP_S_WIDTH = 0.08, 0.53


def make(path: Path, on_progress: Callable[[float], None]) -> None:
    """Draw the film and encode it, with sound. Progress is told in percent."""
    size, rate = f"{WIDTH}x{HEIGHT}", str(FPS)
    command = [
        *(ffmpeg.find().path, "-v", "error", "-nostdin", "-y"),
        *("-f", "rawvideo", "-pix_fmt", "rgb24", "-s", size, "-r", rate, "-i", "pipe:0"),
        *("-f", "lavfi", "-i", "sine=frequency=220:beep_factor=4:sample_rate=48000"),
        *("-shortest", "-c:v", "libx264", "-preset", "veryfast", "-crf", "16", "-g", "50"),
        *("-pix_fmt", "yuv420p", "-c:a", "aac", "-ac", "2", "-movflags", "+faststart", str(path)),
    ]
    with (
        tempfile.TemporaryFile() as complaints,
        subprocess.Popen(command, stdin=subprocess.PIPE, stderr=complaints) as process,
    ):
        try:
            _send(process, on_progress)
        except BaseException:
            process.kill()
            raise
        if process.wait() != 0:
            complaints.seek(0)
            raise ToolFailed(
                "the sample film could not be encoded",
                error_code="FFMPEG_FAILED",
                stderr=complaints.read().decode("utf-8", "replace"),
            )


def pictures() -> Iterator[bytes]:
    """Draw the frames one by one; a still picture only once."""
    drawn: tuple[object, bytes] = (None, b"")
    for number in range(FRAMES):
        look = look_of(number)
        if look != drawn[0]:
            drawn = (look, draw(*look).tobytes())
        yield drawn[1]


def look_of(number: int) -> tuple[Scene, tuple[Line, ...], int]:
    """Return what a frame shows: its scene, its lines, and how far the scene has moved."""
    t_ms = number * 1000 / FPS
    scene = next(scene for scene in SCENES if t_ms < scene.end_ms)
    lines = tuple(line for line in LINES if line.start_ms <= t_ms < line.end_ms)
    return scene, lines, int(t_ms * DRIFT / 1000) if scene.moves else 0


def draw(scene: Scene, lines: tuple[Line, ...], shift: int) -> Image.Image:
    """Return one picture of the film."""
    picture = _backdrop(scene).copy()
    if scene.moves:
        _discs(picture, scene, shift)
        for line in lines:
            top, bottom = line.y - line.size - PLATE, line.y + PLATE
            ImageDraw.Draw(picture).rectangle((0, top, WIDTH, bottom), NIGHT)
    picture.paste(INK, mask=_letters(lines))
    return picture


def _send(process: subprocess.Popen[bytes], on_progress: Callable[[float], None]) -> None:
    assert process.stdin is not None
    try:
        for number, picture in enumerate(pictures()):
            process.stdin.write(picture)
            on_progress(100 * number / FRAMES)
        process.stdin.close()
    except BrokenPipeError:
        pass  # it ended early, and its exit code tells why


@cache
def _backdrop(scene: Scene) -> Image.Image:
    grey = Image.linear_gradient("L").resize((WIDTH, HEIGHT))
    return ImageOps.colorize(grey, scene.dark, scene.light)


def _discs(picture: Image.Image, scene: Scene, shift: int) -> None:
    """Draw a row of discs, moved to the left."""
    pen = ImageDraw.Draw(picture)
    for number in range(-1, 12):
        x, y = number * 240 - shift, 260 + 90 * (number % 3)
        pen.ellipse((x, y - 90, x + 180, y + 90), scene.light if number % 2 else scene.dark)


@cache
def _letters(lines: tuple[Line, ...]) -> Image.Image:
    """Return the mask of some lines; drawn twice as large, because strokes have no smooth edge."""
    mask = Image.new("L", (2 * WIDTH, 2 * HEIGHT))
    pen = ImageDraw.Draw(mask)
    for line in lines:
        font = ImageFont.load_default(size=2 * line.size)
        assert isinstance(font, ImageFont.FreeTypeFont)
        x = float(2 * LEFT)
        for letter in line.text:
            x = _write(pen, font, letter, x, 2 * line.y)
    return mask.reduce(2)


def _write(
    pen: ImageDraw.ImageDraw, font: ImageFont.FreeTypeFont, letter: str, x: float, y: float
) -> float:
    """Draw one letter on its line, and return where the next one begins."""
    em = font.size
    if letter == "ß":
        _stroke(pen, SHARP_S, em, x, y)
        return x + SHARP_S_WIDTH * em
    if letter in PAIRS:
        one, other, first, second = PAIRS[letter]
        pen.text((x + first * em, y), one, 255, font, "ls")
        pen.text((x + second * em, y), other, 255, font, "ls")
        return x + second * em + font.getlength(other)
    plain, *marks = list(unicodedata.normalize("NFD", letter))
    pen.text((x, y), plain, 255, font, "ls")
    left, top, right, _ = font.getbbox(plain, anchor="ls")
    middle = x + (left + right) / 2
    for mark in marks:
        if mark == DOTS:
            pen.text((middle, y + top - 0.08 * em), "..", 255, font, "ms")
        elif mark == TAIL:
            pen.text((middle, y + 0.08 * em), ",", 255, font, "ms")
        else:
            _stroke(pen, MARKS[mark], em, middle, y + top)
    return x + font.getlength(plain)


def _stroke(
    pen: ImageDraw.ImageDraw, shape: Iterable[tuple[float, float]], em: float, x: float, y: float
) -> None:
    points = [(x + dx * em, y + dy * em) for dx, dy in shape]
    pen.line(points, 255, round(STROKE * em), joint="curve")
