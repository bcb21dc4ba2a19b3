"""`python -m bench.pipeline`: `rushes add` beside the best single ffmpeg command.

Both make the same ladder of the same film, with its sound, in segments of six seconds; the text on
the screen is left out. The command decodes once and scales from rung to rung; of two numbers of
threads it gets the one that is faster here. Rushes starts its workers, probes the film, also makes
a poster and a storyboard, reads every file again before it is published, and commits all of it.
Rounds take turns. CPU seconds are those of all processes.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from bench.engine.cpu import wait_until_idle
from bench.media.cpu import spent
from bench.media.film import cache_folder, lasting, look_at
from bench.pipeline.command import Command
from bench.progress import say
from rushes.media import ffmpeg
from rushes.media.ladder import rungs
from rushes.media.plan import plan

SAMPLE_S = 20
LOOK_EVERY_S = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What one run took; `first_s`: until the first segment could be watched."""

    cpu_s: float
    wall_s: float
    first_s: float = 0.0


def main() -> None:
    """Measure both in turns, print a table, and one JSON object as the last line."""
    rounds, seconds = int(os.environ.get("ROUNDS", "3")), int(os.environ.get("SECONDS", "300"))
    path = lasting(seconds, sound=True)
    command = _best(lasting(SAMPLE_S, sound=True))
    theirs: list[Run] = []
    ours: list[Run] = []
    idle: list[float] = []
    for number in range(1, rounds + 1):
        idle.append(wait_until_idle(wanted=0.95, patience_s=20))
        theirs.append(_measure(command.line(path)))
        say(f"round {number} {command.name}: {theirs[-1].wall_s:.1f} s")
        idle.append(wait_until_idle(wanted=0.95, patience_s=20))
        ours.append(_add(path))
        say(f"round {number} rushes add: {ours[-1].wall_s:.1f} s")
    _print(seconds, command, theirs, ours, min(idle))


def _best(sample: Path) -> Command:
    """Return the command with the number of threads that is faster on this machine."""
    source = look_at(sample)
    commands = [
        Command(rungs(source), plan(source).grid, as_x264_likes=free) for free in (True, False)
    ]
    return min(commands, key=lambda command: _measure(command.line(sample)).wall_s)


def _measure(line: list[str]) -> Run:
    with tempfile.TemporaryDirectory(dir=cache_folder()) as folder:
        before, start = spent(), time.monotonic()
        subprocess.run(line, cwd=folder, check=True)
        return Run(cpu_s=spent() - before, wall_s=time.monotonic() - start)


def _add(path: Path) -> Run:
    with tempfile.TemporaryDirectory(dir=cache_folder()) as folder:
        line = [sys.executable, "-m", "rushes.cli.main", "add", str(path), "--no-text", "--json"]
        before, start = spent(), time.monotonic()
        process = subprocess.Popen(
            line, env={**os.environ, "RUSHES_DATA": folder}, stdout=subprocess.DEVNULL
        )
        first_s = None
        while process.poll() is None:
            if first_s is None and list(Path(folder).glob("assets/*/master.m3u8")):
                first_s = time.monotonic() - start
            time.sleep(LOOK_EVERY_S)
        assert process.returncode == 0, "rushes add failed"
        assert first_s is not None, "the film was never laid out"
        return Run(cpu_s=spent() - before, wall_s=time.monotonic() - start, first_s=first_s)


def _print(seconds: int, command: Command, theirs: list[Run], ours: list[Run], idle: float) -> None:
    found = ffmpeg.find()
    print(
        f"{seconds} s of 1080p film into {', '.join(rung.name for rung in command.ladder)}; "
        f"medians of {len(ours)} round(s); {os.cpu_count()} cores, "
        f"Python {platform.python_version()}, ffmpeg {found.version} ({found.source})\n"
    )
    print(f"{'':<40} CPU s  wall s  first segment after s")
    for name, runs in ((command.name, theirs), ("rushes add --no-text", ours)):
        cpu, wall = median(run.cpu_s for run in runs), median(run.wall_s for run in runs)
        first = f"{median(run.first_s for run in runs):6.1f}" if runs is ours else "     -"
        print(f"{name:<40} {cpu:5.1f}  {wall:6.1f}  {first}")
    print(f"\nthe machine was at least {idle:.0%} idle before a run")
    print(json.dumps(_figures(theirs, ours)))


def _figures(theirs: list[Run], ours: list[Run]) -> dict[str, float]:
    pairs = list(zip(ours, theirs, strict=True))
    return {
        "pipeline_cpu_ratio": round(median(our.cpu_s / their.cpu_s for our, their in pairs), 3),
        "pipeline_wall_ratio": round(median(our.wall_s / their.wall_s for our, their in pairs), 3),
        "first_frame_share": round(median(our.first_s / our.wall_s for our in ours), 4),
    }


if __name__ == "__main__":
    main()
