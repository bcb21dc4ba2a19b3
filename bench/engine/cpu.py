"""CPU time of process trees, and how busy the machine is, from /proc (Linux only).

CPU per task is the figure to trust on a machine that others use too: neighbours make
a drain slower, but hardly make it use more CPU.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_PROC = Path("/proc")


class _Process(NamedTuple):
    pid: int
    parent: int
    seconds: float


def tree_seconds(roots: Iterable[int]) -> float:
    """Return the CPU seconds of these processes and all their descendants.

    Counts the children that have ended too, so the sum never falls while a tree lives.
    """
    processes = _processes()
    wanted = set(roots)
    grown = True
    while grown:
        children = {process.pid for process in processes if process.parent in wanted}
        grown = not children <= wanted
        wanted |= children
    return sum(process.seconds for process in processes if process.pid in wanted)


def parent_of(pid: int) -> int:
    """Return the parent of a process: the postmaster, for a PostgreSQL backend."""
    return _parse(pid, (_PROC / str(pid) / "stat").read_text()).parent


def wait_until_idle(*, wanted: float = 0.85, patience_s: float = 3.0) -> float:
    """Wait for other work to end, but not for long; return the idle share seen last."""
    deadline = time.monotonic() + patience_s
    while (idle := _idle_share(0.25)) < wanted and time.monotonic() < deadline:
        pass
    return idle


def _processes() -> list[_Process]:
    found = []
    for folder in _PROC.iterdir():
        if folder.name.isdecimal():
            try:
                found.append(_parse(int(folder.name), (folder / "stat").read_text()))
            except (FileNotFoundError, ProcessLookupError):
                continue  # it ended while we looked
    return found


def _parse(pid: int, stat: str) -> _Process:
    """Read one line of /proc/PID/stat: the name may hold spaces, so count after it."""
    fields = stat.rpartition(")")[2].split()
    used = sum(int(field) for field in fields[11:15])  # utime stime cutime cstime
    return _Process(pid, int(fields[1]), used / _TICKS_PER_S)


def _idle_share(seconds: float) -> float:
    before = _machine_ticks()
    time.sleep(seconds)
    idle, total = (now - then for now, then in zip(_machine_ticks(), before, strict=True))
    return idle / max(1, total)


def _machine_ticks() -> tuple[int, int]:
    """Return (idle, all) clock ticks of the machine since it started."""
    with (_PROC / "stat").open() as stat:
        fields = [int(field) for field in stat.readline().split()[1:9]]
    return fields[3] + fields[4], sum(fields)
