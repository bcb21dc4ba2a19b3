"""Makes a whole set of files out of a clip, and reads its pictures and sound back."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from pathlib import Path

import av
import numpy as np
from numpy.typing import NDArray

from rushes.media import hls, playlist
from rushes.media.audio import Take, Track, encode_audio, tracks
from rushes.media.check import check_set
from rushes.media.ladder import Rung, rungs
from rushes.media.plan import Cut, Grid, Plan, plan
from rushes.media.probe import probe
from rushes.media.rendition import MASTER, Rendition, join, playlist_name
from rushes.media.source import Source

# short, so that a clip of four seconds has several chunks
SHORT = Cut(
    segment_s=Fraction(1), key_frame_s=Fraction(1, 2), chunk_segments=2, first_sound_segments=1
)
WHOLE = replace(SHORT, chunk_segments=1000, first_chunk_segments=1000, first_sound_segments=1000)


@dataclass(frozen=True)
class Made:
    """A set of files in a folder."""

    folder: Path
    grid: Grid
    pictures: tuple[Rendition, ...]
    sounds: tuple[Rendition, ...]
    chunks: int

    def stitched(self, rendition: Rendition) -> bytes:
        return b"".join((self.folder / name).read_bytes() for name in rendition.files)

    def write_playlists(self) -> dict[str, str]:
        every = (*self.pictures, *self.sounds)
        texts = {playlist_name(one.name): playlist.media(one, self.grid) for one in every}
        texts[MASTER] = playlist.master(every, self.grid)
        for name, text in texts.items():
            (self.folder / name).write_text(text)
        return texts

    def check(self) -> None:
        files = (path for path in self.folder.rglob("*") if path.is_file())
        sizes = {path.relative_to(self.folder).as_posix(): path.stat().st_size for path in files}
        check_set(self.grid, (*self.pictures, *self.sounds), sizes, self.write_playlists())


@cache
def _probed(path: Path) -> Source:
    with tempfile.TemporaryDirectory() as folder:
        return probe(path, folder=Path(folder))


def look_at(path: Path, folder: Path) -> tuple[Path, Source]:
    """Probe a clip and copy it into Matroska if that is what it needs."""
    source = _probed(path)
    if not source.remux or source.linear:
        return path, source
    copied = hls.remux(path, source, folder=folder)
    return copied, probe(copied, folder=folder)


def two_rungs(source: Source) -> tuple[Rung, ...]:
    """Return the lowest rung of the ladder and one of half its size."""
    lowest = rungs(source)[-1]
    width, height = (side // 4 * 2 for side in (lowest.width, lowest.height))
    half = replace(lowest, name=f"{min(width, height)}p", width=width, height=height)
    return replace(lowest, required=False), half


def make(path: Path, source: Source, folder: Path, cut: Cut, *, sound: bool = True) -> Made:
    """Encode a film into a folder of its own, the last chunk first."""
    folder.mkdir()
    made = plan(source, cut)
    ladder = two_rungs(source)
    parts: dict[str, list[Rendition]] = {rung.name: [] for rung in ladder}
    for chunk in reversed(made.chunks):
        piece = hls.Piece(video=source.video, grid=made.grid, chunk=chunk, rungs=ladder)
        for rendition in hls.encode_chunk(path, piece, folder=folder).renditions:
            parts[rendition.name].append(rendition)
    sounds = [
        join(encode_audio(path, take, folder=folder) for take in takes(made, track))
        for track in (tracks(source) if sound else ())
    ]
    return Made(
        folder=folder,
        grid=made.grid,
        pictures=tuple(join(part) for part in parts.values()),
        sounds=tuple(sounds),
        chunks=len(made.chunks),
    )


def takes(made: Plan, track: Track) -> list[Take]:
    """Return what a sound track is encoded in."""
    return [Take(track=track, grid=made.grid, chunk=chunk) for chunk in made.sounds]


@dataclass(frozen=True)
class Pictures:
    """What a decoder makes of a stitched rendition."""

    times: list[Fraction]
    small: NDArray[np.float32]
    first: NDArray[np.float32]
    colour: tuple[str, int, int, int]
    complaints: list[str]


def decode(data: bytes) -> Pictures:
    """Decode every frame, strictly, and keep small grey copies."""
    times, frames = [], []
    with complaining() as complaints, av.open(io.BytesIO(data)) as container:
        stream = container.streams.video[0]
        stream.codec_context.options = {"err_detect": "explode"}
        for frame in container.decode(stream):
            assert not frame.is_corrupt
            times.append(frame.pts * frame.time_base)
            frames.append(frame)
    context = stream.codec_context
    return Pictures(
        times=times,
        small=np.stack([_grey(frame, width=32, height=18) for frame in frames]),
        first=_grey(frames[0]),
        colour=(context.pix_fmt, context.color_primaries, context.color_trc, context.colorspace),
        complaints=[text for _, _, text in complaints],
    )


@contextmanager
def complaining() -> Iterator[list[tuple[int, str, str]]]:
    """Collect what libav says of a stream, from every thread; it is silent otherwise."""
    av.logging.set_level(av.logging.WARNING)
    try:
        with av.logging.Capture(local=False) as said:
            yield said
    finally:
        av.logging.set_level(None)


def _grey(frame: av.VideoFrame, **size: int) -> NDArray[np.float32]:
    return frame.reformat(format="gray", **size).to_ndarray().astype(np.float32)


def decode_sound(data: bytes) -> NDArray[np.float32]:
    """Decode all samples of the first channel."""
    with av.open(io.BytesIO(data)) as container:
        return np.concatenate([frame.to_ndarray()[0] for frame in container.decode(audio=0)])


def difference(one: NDArray[np.float32], other: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return how far each frame is from its counterpart: the root of the mean square, of 255."""
    distance: NDArray[np.float64] = np.sqrt(((one - other) ** 2).mean(axis=(-2, -1)))
    return distance
