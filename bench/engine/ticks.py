"""Counts the tasks that workers have run, without touching any database.

Every worker process owns one small file and writes its count there through shared
memory: about a microsecond per task, the same for every system measured. The bodies
of all benchmark tasks are one call of `tick` and nothing else.

Times are CLOCK_MONOTONIC nanoseconds, which all processes of a machine share.
"""

from __future__ import annotations

import mmap
import os
import struct
import threading
import time
from pathlib import Path
from typing import NamedTuple

from bench.engine.figures import Run

_COUNT = struct.Struct("q")


class Ticks(NamedTuple):
    """The tasks run so far, and how many processes have run at least one."""

    tasks: int
    processes: int


class _Counter:
    """The file of one process. Not shared with forked children: each makes its own."""

    def __init__(self, folder: Path) -> None:
        self.pid = os.getpid()
        self.tasks = 0
        with (folder / f"{self.pid}.count").open("w+b") as file:
            file.write(_COUNT.pack(0))
            file.flush()
            self._memory = mmap.mmap(file.fileno(), _COUNT.size)
        self._waits = (folder / f"{self.pid}.waits").open("ab", buffering=0)

    def add(self, wait_ns: int | None) -> None:
        self.tasks += 1
        if wait_ns is not None:
            self._waits.write(_COUNT.pack(wait_ns))
        _COUNT.pack_into(self._memory, 0, self.tasks)


_lock = threading.Lock()
_counter: _Counter | None = None


def tick(sent_ns: int | None = None) -> None:
    """Count one task; with the time at which it was sent, also note how long it waited."""
    now_ns = time.monotonic_ns()
    with _lock:
        _own_counter().add(None if sent_ns is None else now_ns - sent_ns)


def read(folder: Path) -> Ticks:
    """Return what all workers of a measurement have counted up to now."""
    counts = [_count(path) for path in folder.glob("*.count")]
    return Ticks(sum(counts), sum(count > 0 for count in counts))


def waits_ms(folder: Path) -> list[float]:
    """Return every waiting time noted so far, in milliseconds."""
    stored = b"".join(path.read_bytes() for path in folder.glob("*.waits"))
    return [wait_ns / 1e6 for (wait_ns,) in _COUNT.iter_unpack(stored)]


def _own_counter() -> _Counter:
    global _counter  # noqa: PLW0603 - one per process; a fork must replace its parent's
    if _counter is None or _counter.pid != os.getpid():
        _counter = _Counter(Run.from_environment().folder)
    return _counter


def _count(path: Path) -> int:
    stored = path.read_bytes()
    return int(_COUNT.unpack(stored)[0]) if len(stored) == _COUNT.size else 0
