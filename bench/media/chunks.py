"""What cutting a film into chunks costs: each one seeks, decodes a little too much, starts anew."""

from __future__ import annotations

from functools import partial

from bench.media.duel import side_by_side
from bench.media.film import cache_folder, encode, lasting, look_at
from rushes.media.ladder import rungs
from rushes.media.plan import (
    CHUNK_SEGMENTS,
    FIRST_CHUNK_SEGMENTS,
    SEGMENT_S,
    Chunk,
    Cut,
    Grid,
    plan,
)

# the first chunk, and one of the usual length
SECONDS = int(SEGMENT_S) * (FIRST_CHUNK_SEGMENTS + CHUNK_SEGMENTS)


def run(rounds: int) -> dict[str, float]:
    """Measure both, print a table, and return the CPU of chunks over that of one."""
    path = lasting(SECONDS)
    source = look_at(path)
    ladder = rungs(source)
    cut, single = plan(source), plan(source, Cut(first_chunk_segments=1000))
    duel = side_by_side(
        rounds,
        partial(encode, path, source, cut, ladder),
        partial(encode, path, source, single, ladder),
        cache_folder(),
    )
    lengths = ", ".join(f"{seconds(cut.grid, chunk):.0f} s" for chunk in cut.chunks)
    title = f"{SECONDS} s of film into {len(ladder)} rungs"
    print(duel.table(title, f"chunks of {lengths}", "one encode"))
    print(f"chunks cost {duel.ratio:.3f} times as much")
    return {"chunk_overhead": round(duel.ratio, 3)}


def seconds(grid: Grid, chunk: Chunk) -> float:
    return float((chunk.end_frame - chunk.first_frame) / grid.fps)
