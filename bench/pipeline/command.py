"""One ffmpeg command that makes a whole ladder: one decode, each rung scaled from the one above."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from rushes.media import ffmpeg
from rushes.media.encoders import X264, threads
from rushes.media.ladder import Rung
from rushes.media.plan import Grid

SEGMENT_S = "6"


@dataclass(frozen=True, slots=True)
class Command:
    """A ladder as one command; the number of threads is x264's own choice, or that of Rushes."""

    ladder: tuple[Rung, ...]
    grid: Grid
    as_x264_likes: bool

    @property
    def name(self) -> str:
        return "ffmpeg" if self.as_x264_likes else "ffmpeg, a thread per million pixels"

    def line(self, path: Path) -> list[str]:
        """Return the command, to be run in the folder that it may fill."""
        ordered = sorted(self.ladder, key=lambda rung: rung.height, reverse=True)
        words = [
            *("nice", "-n", "10", ffmpeg.find().path, "-v", "error", "-nostdin", "-i", str(path)),
            *("-filter_complex", _graph(ordered)),
        ]
        for rung in ordered:
            words += ["-map", f"[{rung.name}]", *self._encoder(rung), *_segments(rung.name)]
        sound = ("-map", "0:a:0", "-c:a", "aac", "-b:a", "128k", "-ac", "2", "-ar", "48000")
        return [*words, *sound, *_segments("audio")]

    def _encoder(self, rung: Rung) -> list[str]:
        options = X264().options(rung, self.grid)
        return options if self.as_x264_likes else [*options, *threads(rung)]


def _graph(ordered: list[Rung]) -> str:
    first = ordered[0]
    steps = [f"[0:v:0]scale={first.width}:{first.height},setsar=1,format=yuv420p"]
    for above, rung in pairwise(ordered):
        steps[-1] += f",split[{above.name}][above_{rung.name}]"
        steps.append(f"[above_{rung.name}]scale={rung.width}:{rung.height},setsar=1")
    return ";".join(steps) + f"[{ordered[-1].name}]"


def _segments(name: str) -> tuple[str, ...]:
    return (
        *("-f", "hls", "-hls_time", SEGMENT_S, "-hls_playlist_type", "vod"),
        *("-hls_segment_type", "fmp4", "-hls_fmp4_init_filename", f"{name}.mp4"),
        *("-hls_segment_filename", f"{name}-%05d.m4s", f"{name}.m3u8"),
    )
