"""Makes the small pictures that a player shows above its time line: sheets of tiles, and WebVTT.

A cue covers `interval_ms` of the film and its tile shows a picture from within that cue, whatever
its length. A long film gets a longer interval, not more tiles.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rushes.media import output, sandbox
from rushes.media.sandbox import Limits, Watch
from rushes.media.source import Source
from rushes.media.view import View, view_of

TILE_PX = 160
COLUMNS = ROWS = 10
MAX_TILES = 200
SHORTEST_MS = 1_000
VTT = "storyboard.vtt"


@dataclass(frozen=True, slots=True, kw_only=True)
class Board:
    """How the tiles of a film are laid out: even steps in time, rows of ten, a hundred a sheet."""

    duration_ms: int
    interval_ms: int
    tile_width: int
    tile_height: int

    @property
    def tiles(self) -> int:
        return max(1, -(-self.duration_ms // self.interval_ms))

    @property
    def sheets(self) -> tuple[str, ...]:
        """The names of the sheets."""
        count = -(-self.tiles // (COLUMNS * ROWS))
        return tuple(f"storyboard-{number}.jpg" for number in range(count))

    def cue(self, tile: int) -> tuple[int, int]:
        """Return when a tile is shown; the last one ends with the film."""
        start = tile * self.interval_ms
        return start, max(start + 1, min(start + self.interval_ms, self.duration_ms))

    def place(self, tile: int) -> tuple[int, int, int]:
        """Return the sheet of a tile, and where its left upper corner is in it."""
        sheet, rest = divmod(tile, COLUMNS * ROWS)
        row, column = divmod(rest, COLUMNS)
        return sheet, column * self.tile_width, row * self.tile_height


@dataclass(frozen=True, slots=True, kw_only=True)
class Storyboard:
    """What was written: the sheets in order, and the WebVTT file that points into them."""

    board: Board
    sheets: tuple[str, ...]
    vtt: str


def plan(duration_ms: int, width: int, height: int) -> Board:
    """Return the layout for a film of this length and shown size.

    >>> plan(7_200_000, 1920, 1080).interval_ms, plan(7_200_000, 1920, 1080).tiles
    (36000, 200)
    """
    view = View(stream=0, width=width, height=height)
    tile_width, tile_height = view.fit(TILE_PX)
    seconds = -(-duration_ms // (MAX_TILES * 1000))
    return Board(
        duration_ms=duration_ms,
        interval_ms=max(SHORTEST_MS, seconds * 1000),
        tile_width=tile_width,
        tile_height=tile_height,
    )


def webvtt(board: Board) -> str:
    """Return the WebVTT text: one cue per tile, pointing into its sheet by `#xywh=`."""
    return "\n\n".join(["WEBVTT", *_cues(board)]) + "\n"


def storyboard(
    path: Path, source: Source, *, folder: Path, watch: Watch = sandbox.SILENT
) -> Storyboard:
    """Write storyboard-{i}.jpg and storyboard.vtt into `folder`."""
    video = source.video
    board = plan(source.duration_ms, video.display_width, video.display_height)
    sandbox.call(
        "rushes.media.child.sprite:run",
        {
            "path": str(path.absolute()),
            "view": view_of(video),
            "cues_ms": [board.cue(tile) for tile in range(board.tiles)],
            "size": [board.tile_width, board.tile_height],
            "sheets": list(board.sheets),
        },
        folder=folder,
        reads=[path],
        limits=_limits(source.duration_ms),
        watch=watch,
        on_message=lambda done: watch.progress(done) if isinstance(done, float) else None,
    )
    sheets = [folder / name for name in board.sheets]
    output.require(*sheets)
    (folder / VTT).write_text(webvtt(board), "utf-8")
    return Storyboard(board=board, sheets=tuple(map(str, sheets)), vtt=str(folder / VTT))


def _cues(board: Board) -> Iterator[str]:
    for tile in range(board.tiles):
        sheet, x, y = board.place(tile)
        times = " --> ".join(_clock(time) for time in board.cue(tile))
        size = f"{board.tile_width},{board.tile_height}"
        yield f"{times}\n{board.sheets[sheet]}#xywh={x},{y},{size}"


def _clock(t_ms: int) -> str:
    """Write a time the way WebVTT does.

    >>> _clock(3_723_004)
    '01:02:03.004'
    """
    minutes, rest = divmod(t_ms, 60_000)
    return f"{minutes // 60:02d}:{minutes % 60:02d}:{rest // 1000:02d}.{rest % 1000:03d}"


def _limits(duration_ms: int) -> Limits:
    """Return room for one decode of the whole film: what a film without key frames costs."""
    seconds = 300 + duration_ms // 1000 * 4
    return Limits(wall_s=seconds, cpu_s=seconds * 4)
