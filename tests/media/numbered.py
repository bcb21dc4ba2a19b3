"""Films whose frames carry their number in the picture: twelve cells, black or white, one per bit.

    clip("numbered") -> Path        read_number(pixels) -> 57

The cells are large, so the number survives scaling, JPEG and every encoder.
"""

from __future__ import annotations

import subprocess
import wave
from collections.abc import Callable, Iterable
from pathlib import Path

import av
import numpy as np
from numpy.typing import NDArray
from PIL import Image

from rushes.media import ffmpeg
from tests.media.clips import RECIPES

Pixels = NDArray[np.uint8]

ROWS, COLUMNS = 3, 4
WIDTH, HEIGHT = 192, 108
FPS = 30
COUNT = 120
DARK, LIGHT = 30, 220
CLICKS_S = (1.0, 2.0, 3.0)
SOUND_RATE = 48_000


def draw(number: int) -> Pixels:
    """Return a grey picture that shows `number`."""
    bits = [(number >> place) & 1 for place in range(ROWS * COLUMNS)]
    cells = np.where(np.array(bits).reshape(ROWS, COLUMNS), LIGHT, DARK).astype(np.uint8)
    return np.kron(cells, np.ones((HEIGHT // ROWS, WIDTH // COLUMNS), np.uint8))


def read_number(pixels: Pixels) -> int:
    """Return the number that a picture shows, whatever its size."""
    grey = pixels.mean(axis=2) if pixels.ndim == 3 else pixels
    height, width = grey.shape
    number = 0
    for place in range(ROWS * COLUMNS):
        row, column = divmod(place, COLUMNS)
        y, x = int((row + 0.5) * height / ROWS), int((column + 0.5) * width / COLUMNS)
        reach = max(1, min(height, width) // 20)
        cell = grey[y - reach : y + reach, x - reach : x + reach].mean()
        number |= int(cell > (DARK + LIGHT) / 2) << place
    return number


def read_jpeg(path: str | Path) -> Pixels:
    with Image.open(path) as image:
        return np.asarray(image.convert("RGB"))


def numbers_of(path: str | Path) -> list[int]:
    """Return the number of every frame of a film, as it is stored."""
    with av.open(str(path)) as container:
        return [read_number(frame.to_ndarray(format="gray")) for frame in container.decode(video=0)]


def encode(target: Path, pictures: Iterable[Pixels], *options: str, kind: str = "") -> None:
    """Write pictures as a film, with the wheel's ffmpeg; grey or RGB unless `kind` says else."""
    binary = ffmpeg.wheel()
    assert binary is not None
    frames = iter(pictures)
    first = next(frames)
    height, width = first.shape[:2]
    if kind == "gray16le":
        width //= 2
    kind = kind or ("rgb24" if first.ndim == 3 else "gray")
    raw = ["-f", "rawvideo", "-pix_fmt", kind, "-s", f"{width}x{height}", "-r", str(FPS)]
    process = subprocess.Popen(
        [binary.path, "-v", "error", "-y", *raw, "-i", "pipe:0", *options, str(target)],
        stdin=subprocess.PIPE,
        env={"GCONV_PATH": "/none"},
    )
    assert process.stdin is not None
    with process.stdin as pipe:
        pipe.write(first.tobytes())
        for picture in frames:
            pipe.write(picture.tobytes())
    assert process.wait() == 0


def clicks(target: Path, seconds: float) -> Path:
    """Write a silent sound with a click of 5 ms at each of CLICKS_S."""
    samples = np.zeros(int(seconds * SOUND_RATE), np.int16)
    for click in CLICKS_S:
        start = int(click * SOUND_RATE)
        samples[start : start + 240] = 20_000
    with wave.open(str(target), "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(SOUND_RATE)
        sound.writeframes(samples.tobytes())
    return target


X264 = ("-c:v", "libx264", "-preset", "veryfast", "-crf", "20", "-pix_fmt", "yuv420p")


def numbered(*options: str, turn: int = 0) -> Callable[[Path], None]:
    """Return the recipe of a film of 4 s whose pictures are stored with `turn` quarter turns."""

    def make(target: Path) -> None:
        sound = clicks(target.with_suffix(".wav"), COUNT / FPS)
        pictures = (np.ascontiguousarray(np.rot90(draw(n), turn)) for n in range(COUNT))
        try:
            encode(target, pictures, "-i", str(sound), *X264, "-c:a", "aac", *options)
        finally:
            sound.unlink()

    make.__doc__ = f"numbered {' '.join(options)} {turn}"
    return make


FEWER = ("-vf", "select='lt(n,45)+gt(n,75)*not(mod(n,4))'", "-fps_mode", "vfr")

RECIPES |= {
    "numbered": ("mp4", numbered("-g", "30", "-bf", "2")),
    "numbered_one_key": ("mp4", numbered("-g", "250")),
    # 30 fps up to frame 44, then every fourth frame from 76 on
    "numbered_vfr": ("mp4", numbered(*FEWER)),
    "numbered_sideways": ("mp4", numbered("-g", "30", turn=3)),
    "numbered_rotated": ("mp4", "-display_rotation 90 -i {numbered_sideways} -c copy"),
    "numbered_ts": ("ts", "-i {numbered} -c copy"),
    "numbered_remuxed": ("mkv", "-i {numbered_ts} -c copy"),
}
