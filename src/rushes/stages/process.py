"""Runs one program in a process group of its own and keeps the end of what it prints.

The group dies with the worker, so one that is killed with -9 leaves no child.
"""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import IO

from rushes.media.walls.isolation import dying_with_us

TAIL_BYTES = 65_536
CHUNK = 65_536


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    """What a program did: a row of `executions`."""

    type: str
    command: tuple[str, ...]
    started_at: int
    duration_ms: int
    exit_code: int
    stdout: str
    stderr: str


class Tail:
    """Reads a stream to its end and keeps the last part, so that memory stays flat."""

    def __init__(self, stream: IO[bytes] | None) -> None:
        assert stream is not None
        self._stream = stream
        self._kept = b""
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def text(self) -> str:
        self._thread.join()
        return self._kept.decode("utf-8", "replace").replace("\x00", "")

    def _read(self) -> None:
        while chunk := self._stream.read1(CHUNK):  # type: ignore[attr-defined]
            self._kept = (self._kept + chunk)[-TAIL_BYTES:]
        self._stream.close()


def run(
    command: Sequence[str],
    *,
    type: str,
    cwd: str,
    on_start: Callable[[subprocess.Popen[bytes]], None],
) -> Execution:
    """Run `command` to its end. `on_start` gets the process, to stop its group if need be."""
    started_at, start = time.time_ns() // 1_000_000, time.monotonic()
    with subprocess.Popen(
        dying_with_us(command),
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        process_group=0,
    ) as process:
        on_start(process)
        stdout, stderr = Tail(process.stdout), Tail(process.stderr)
        exit_code = process.wait()
        stop_group(process)  # what the program started itself must not outlive it
        return Execution(
            type=type,
            command=tuple(command),
            started_at=started_at,
            duration_ms=int((time.monotonic() - start) * 1000),
            exit_code=exit_code,
            stdout=stdout.text(),
            stderr=stderr.text(),
        )


def stop_group(process: subprocess.Popen[bytes]) -> None:
    """Kill the program and everything it started. Its output is thrown away, so no mercy."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
