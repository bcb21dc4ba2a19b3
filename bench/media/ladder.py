"""The ladder beside one ffmpeg per rung, which decodes the film anew for each.

Both encode the same four rungs with the same ffmpeg, quality, caps and key frames, without sound,
into segments of six seconds. Theirs is started directly, with as many threads as x264 likes; ours
runs in its sandbox, chunk by chunk as planned, and reads every file again. Both are as nice.
"""

from __future__ import annotations

import subprocess
from functools import partial
from pathlib import Path

from bench.media.duel import side_by_side
from bench.media.film import cache_folder, encode, lasting, look_at
from rushes.media import ffmpeg
from rushes.media.encoders import X264
from rushes.media.ladder import Rung, rungs
from rushes.media.plan import Grid, plan

SECONDS = 20


def run(rounds: int) -> dict[str, float]:
    """Measure both, print a table, and return how many times cheaper ours is."""
    path = lasting(SECONDS)
    source = look_at(path)
    planned, ladder = plan(source), rungs(source)
    duel = side_by_side(
        rounds,
        partial(_one_by_one, path, ladder, planned.grid),
        partial(encode, path, source, planned, ladder),
        cache_folder(),
    )
    names = ", ".join(rung.name for rung in ladder)
    title = f"{SECONDS} s of film into {names}"
    print(duel.table(title, "one ffmpeg per rung", "rushes: one decode, cascaded scaling"))
    print(f"one ffmpeg per rung costs {duel.ratio:.2f} times as much")
    return {"ladder_ratio": round(duel.ratio, 2)}


def _one_by_one(path: Path, ladder: tuple[Rung, ...], grid: Grid, folder: Path) -> None:
    for rung in ladder:
        command = [
            *("nice", "-n", "10", ffmpeg.find().path, "-v", "error", "-nostdin"),
            *("-i", str(path), "-map", "0:v:0"),
            *("-vf", f"scale={rung.width}:{rung.height},setsar=1,format=yuv420p"),
            *X264().options(rung, grid),  # alone, it needs all the threads that it likes
            *("-f", "hls", "-hls_time", "6", "-hls_playlist_type", "vod"),
            *("-hls_segment_type", "fmp4", "-hls_fmp4_init_filename", f"{rung.name}.mp4"),
            *("-hls_segment_filename", f"{rung.name}-%05d.m4s", f"{rung.name}.m3u8"),
        ]
        subprocess.run(command, cwd=folder, check=True)
