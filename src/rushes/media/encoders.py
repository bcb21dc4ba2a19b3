"""How a rung is encoded. x264 is the floor: it is in every build and plays everywhere."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from rushes.media.ffmpeg import Ffmpeg
from rushes.media.ladder import Rung
from rushes.media.plan import Grid
from rushes.media.sandbox import SILENT, Watch

PIXELS_PER_THREAD = 1_000_000


class Encoder(Protocol):
    """Turns frames on the grid into a stream whose key frames stand on the grid, too."""

    def options(self, rung: Rung, grid: Grid) -> list[str]:
        """Return the output options of ffmpeg for one rung.

        Every chunk must get the same ones: they are written into the init that all share.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class X264:
    """H.264 by libx264: constant quality under a cap."""

    preset: str = "veryfast"

    def options(self, rung: Rung, grid: Grid) -> list[str]:
        gop = str(grid.gop_frames)
        return [
            *("-c:v", "libx264", "-preset", self.preset, "-profile:v", "high"),
            *("-crf", str(rung.crf), "-level:v", rung.level),
            *("-maxrate:v", str(rung.maxrate_bps), "-bufsize:v", str(rung.bufsize_bits)),
            # a key frame exactly every `gop` frames, and no frame that looks over that border
            *("-g", gop, "-keyint_min", gop, "-sc_threshold", "0", "-flags:v", "+cgop+bitexact"),
        ]


def threads(rung: Rung, *, urgent: bool = False) -> list[str]:
    """Return the option for the threads of one encoder. They do not show in the init.

    All rungs of a chunk, and chunks, are encoded side by side, so one encoder needs few: one for
    each million pixels takes an eighth less CPU than x264's own choice. Twice as many for what is
    `urgent`: the first segment of a 1080p film is there after 6.9 s instead of 7.8 s.
    """
    per_thread = PIXELS_PER_THREAD // 2 if urgent else PIXELS_PER_THREAD
    return ["-threads:v", str(max(1, round(rung.width * rung.height / per_thread)))]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tools:
    """What an encode works with. No `ffmpeg` means the best one on this machine."""

    encoder: Encoder = field(default_factory=X264)
    ffmpeg: Ffmpeg | None = None
    watch: Watch = SILENT


USUAL = Tools()
