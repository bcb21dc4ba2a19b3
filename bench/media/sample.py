"""Sampling beside the usual way: ffmpeg writes ten pictures a second, imagehash drops look-alikes.

Both get the same film, the same rate and the same threshold, and are measured with everything
they start: CPU seconds of all children, ours with the sandbox around it.
"""

from __future__ import annotations

import hashlib
import inspect
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from PIL import Image

from bench.engine.options import DEFAULT_CACHE
from bench.media.cpu import spent
from rushes.media import ffmpeg
from rushes.media.probe import probe
from rushes.media.sample import Part, sample
from rushes.media.source import Source
from tests.media import cards

PINS = Path(__file__).parent / "pins" / "imagehash.txt"
WIDTH, HEIGHT, FPS = 1920, 1080, 30
LINES = [line for lines in cards.LINES.values() for line in lines]
LINE_S = 2
NAIVE = """
import sys
from pathlib import Path
import imagehash
from PIL import Image

kept, last = [], None
for path in sorted(Path(sys.argv[1]).glob("*.jpg")):
    with Image.open(path) as picture:
        found = imagehash.phash(picture)
    if last is None or 1 - (found - last) / 64 < 0.95:
        kept.append(path.stem)
        last = found
    else:
        path.unlink()
print(*kept)
"""


def run(rounds: int) -> dict[str, float]:
    """Measure both, print a table, and return how many times cheaper ours is at the least."""
    cache = Path(os.environ.get("RUSHES_BENCH_CACHE") or DEFAULT_CACHE).expanduser()
    python = _environment(cache)
    films = {film.__name__: _film(film, cache) for film in (ticker, feed, cards_on_the_move)}
    seconds: dict[tuple[str, str], list[float]] = {}
    kept: dict[tuple[str, str], list[int]] = {}
    for _ in range(rounds):
        for name, path in films.items():
            with tempfile.TemporaryDirectory() as folder:
                source = probe(path, folder=Path(folder))
            for arm in ("naive", "rushes"):
                with tempfile.TemporaryDirectory() as folder:
                    before = spent()
                    times = (
                        _naive(path, Path(folder), python)
                        if arm == "naive"
                        else _rushes(path, source, Path(folder))
                    )
                    seconds.setdefault((name, arm), []).append(spent() - before)
                    kept[name, arm] = times
    return _report(films, seconds, kept)


def ticker() -> Iterator[Image.Image]:
    """Yield a still picture on which one small line changes every two seconds."""
    for line in LINES:
        picture = cards.line_on_scenery(line, width=WIDTH, height=HEIGHT)
        yield from [picture] * (LINE_S * FPS)


def feed() -> Iterator[Image.Image]:
    """Yield a column of posts that is scrolled for a third of every second."""
    posts = [f"{number}: {LINES[number % len(LINES)]}" for number in range(90)]
    column = cards.feed(posts, 0, width=WIDTH, height=60 * len(posts))
    for number in range(30 * FPS):
        second, frame = divmod(number, FPS)
        offset = 120 * second + min(120, 12 * frame)
        yield column.crop((0, offset, WIDTH, offset + HEIGHT))


def cards_on_the_move() -> Iterator[Image.Image]:
    """Yield a line of text, new every three seconds, before a street that passes by."""
    street = np.asarray(cards.scenery(WIDTH + 2 * 15 * FPS, HEIGHT))
    banners = [
        np.asarray(cards.line_on_scenery(line, width=WIDTH, height=HEIGHT))[-48:-12]
        for line in LINES[:5]
    ]
    for number in range(15 * FPS):
        picture = street[:, 2 * number : 2 * number + WIDTH].copy()
        picture[-48:-12] = banners[number // (3 * FPS)]
        yield Image.fromarray(picture)


def _naive(path: Path, folder: Path, python: Path) -> list[int]:
    """Return the ms of each picture kept; the first file of ffmpeg is that of 0."""
    command = [ffmpeg.find().path, "-v", "error", "-nostdin", "-i", path, "-vf", "fps=10"]
    subprocess.run([*command, "-q:v", "4", folder / "%06d.jpg"], check=True)
    arguments = [python, "-c", NAIVE, folder]
    done = subprocess.run(arguments, check=True, capture_output=True, text=True)
    return [(int(stem) - 1) * 100 for stem in done.stdout.split()]


def _rushes(path: Path, source: Source, folder: Path) -> list[int]:
    whole = Part(start_ms=0, end_ms=source.duration_ms)
    taken = sample(path, source.video, whole, folder=folder)
    return [frame.t_ms for frame in taken.frames]


def _report(
    films: dict[str, Path],
    seconds: dict[tuple[str, str], list[float]],
    kept: dict[tuple[str, str], list[int]],
) -> dict[str, float]:
    ratios: list[float] = []
    print(f"{'sampling, CPU s':<20} {'naive':>8} {'rushes':>8} {'ratio':>6}   kept  kept")
    for name in films:
        naive, ours = (statistics.median(seconds[name, arm]) for arm in ("naive", "rushes"))
        ratios.append(naive / ours)
        counts = "  ".join(f"{len(kept[name, arm]):>4}" for arm in ("naive", "rushes"))
        print(f"{name:<20} {naive:>8.2f} {ours:>8.2f} {ratios[-1]:>6.2f}   {counts}")
    found = {arm: _lines_seen(kept["ticker", arm]) for arm in ("naive", "rushes")}
    print(f"ticker: lines seen, of {len(LINES)}: naive {found['naive']}, rushes {found['rushes']}")
    return {"sample_ratio": round(min(ratios), 2), "ticker_changes_found": found["rushes"]}


def _lines_seen(times_ms: list[int]) -> int:
    return len({t_ms // (LINE_S * 1000) for t_ms in times_ms})


def _film(pictures: Callable[[], Iterator[Image.Image]], cache: Path) -> Path:
    """Return the film of these pictures; made once, and again when its recipe changes."""
    drawn_by = (pictures, cards.scenery, cards.line_on_scenery, cards.feed, cards.font)
    recipe = "".join([*map(inspect.getsource, drawn_by), *LINES])
    digest = hashlib.sha256(recipe.encode()).hexdigest()[:8]
    path = cache / "films" / f"{pictures.__name__}-{digest}.mp4"
    if not path.exists():
        print(f"making the film {pictures.__name__}", file=sys.stderr)
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_suffix(f".{os.getpid()}.mp4")
        raw = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{WIDTH}x{HEIGHT}", "-r", str(FPS)]
        x264 = ["-c:v", "libx264", "-preset", "veryfast", "-crf", "20", "-pix_fmt", "yuv420p"]
        command = [ffmpeg.find().path, "-v", "error", "-y", *raw, "-i", "pipe:0", *x264, draft]
        with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
            assert process.stdin is not None
            for picture in pictures():
                process.stdin.write(picture.tobytes())
        draft.rename(path)
    return path


def _environment(cache: Path) -> Path:
    """Return the interpreter that has imagehash, in an environment of its own."""
    digest = hashlib.sha256(PINS.read_bytes()).hexdigest()[:8]
    home = cache / "environments" / f"imagehash-{digest}"
    if not home.exists():
        print("creating the environment of imagehash", file=sys.stderr)
        draft = home.with_name(f"{home.name}.{os.getpid()}")
        shutil.rmtree(draft, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", draft], check=True)
        install = [draft / "bin" / "python", "-m", "pip", "install", "-q", "--no-deps", "-r", PINS]
        subprocess.run(install, check=True)
        draft.rename(home)
    return home / "bin" / "python"
