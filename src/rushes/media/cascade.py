"""The filter graph of a chunk: on to the grid, cut out, then each rung scaled from the one above.

One decode serves all rungs, and each scaling starts from the smallest picture that is good enough.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from rushes.media import filters
from rushes.media.ladder import Rung
from rushes.media.plan import Chunk, Grid
from rushes.media.source import VideoStream

# Rounding may put the end of the grid this many frames after the last one of the source
END_FILL_FRAMES = 2
FOREVER = -1


def cascade(video: VideoStream, grid: Grid, chunk: Chunk, rungs: Sequence[Rung]) -> str:
    """Return the graph; each of its outputs has the name of a rung."""
    ordered = sorted(rungs, key=lambda rung: rung.width * rung.height, reverse=True)
    first, last = ordered[0], ordered[-1]
    chain = [
        *filters.deinterlace(video),
        *_frames(grid, chunk),
        *filters.resize(video, first.width, first.height),
        *filters.standard_colour(video),
    ]
    steps = [f"[0:{video.index}]{','.join(chain)}"]
    for above, rung in pairwise(ordered):
        steps[-1] += f",split[{above.name}][above_{rung.name}]"
        steps.append(f"[above_{rung.name}]scale=w={rung.width}:h={rung.height},setsar=1")
    return ";".join(steps) + f"[{last.name}]"


def _frames(grid: Grid, chunk: Chunk) -> list[str]:
    """Return the filters that fill the grid and take the frames of this chunk out of it."""
    fps = f"fps={filters.ratio(grid.fps)}"
    fill = FOREVER if grid.linear else END_FILL_FRAMES
    return [
        f"{fps}:start_time=0" if chunk.first_frame == 0 else fps,
        *([f"tpad=stop_mode=clone:stop={fill}"] if chunk.end_frame == grid.frames else []),
        f"setpts=PTS-{chunk.first_frame}",
        fps,  # setpts took the length of each frame away
        f"trim=start_pts=0:end_pts={chunk.end_frame - chunk.first_frame}",
    ]
