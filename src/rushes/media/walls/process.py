"""Runs one program to its end in a session of its own: the clock, the lines, the tails.

One thread does it all, so the caller's `tick` can stop the program by raising. However it ends,
nothing that it started is left: the whole group is killed.
"""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from rushes.errors import ToolFailed

TAIL_BYTES = 65_536
LINE_BYTES = 5 * 1024 * 1024
TICK_S = 0.2
DRAIN_S = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """What a program did. A negative exit code is the signal that ended it."""

    command: tuple[str, ...]
    exit_code: int
    duration_ms: int
    stdout: str
    stderr: str
    stopped: str | None = None


class Watch:
    """What a caller wants to know while programs run. This one wants nothing."""

    def tick(self) -> None:
        """Called at least every 0.2 s while something runs. Raise to stop it."""

    def progress(self, fraction: float) -> None:
        """Called with 0…1."""

    def ran(self, output: Output) -> None:
        """Called after every program."""


class Stream:
    """The end of what a program prints, and its lines one by one for whoever wants them."""

    def __init__(self, on_line: Callable[[str], None] | None = None) -> None:
        self._on_line = on_line
        self._line = b""
        self._tail = b""

    def feed(self, chunk: bytes) -> None:
        self._tail = (self._tail + chunk)[-TAIL_BYTES:]
        if self._on_line is None:
            return
        *lines, self._line = (self._line + chunk).split(b"\n")
        for line in lines:
            self._on_line(_text(line))
        if len(self._line) > LINE_BYTES:
            raise ToolFailed(
                f"the program answered with more than {LINE_BYTES} bytes in one line",
                error_code="OUTPUT_INVALID",
            )

    def text(self) -> str:
        return _text(self._tail)


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """One program to run."""

    command: Sequence[str]
    folder: Path
    environment: Mapping[str, str]
    wall_s: float
    stdin: IO[bytes] | int = subprocess.DEVNULL


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """How a program ended; `late` when the clock ended it."""

    exit_code: int
    duration_ms: int
    late: bool


def supervise(order: Order, streams: tuple[Stream, Stream], watch: Watch) -> End:
    """Run a program to its end, or to the end of its time."""
    start = time.monotonic()
    with subprocess.Popen(
        order.command,
        cwd=order.folder,
        env=order.environment,
        stdin=order.stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        try:
            late = _follow(process, streams, watch, start + order.wall_s)
        finally:
            _stop(process)
        _drain(process, streams)
        code = process.wait()
    return End(exit_code=code, duration_ms=int((time.monotonic() - start) * 1000), late=late)


def _follow(
    process: subprocess.Popen[bytes], streams: tuple[Stream, Stream], watch: Watch, end: float
) -> bool:
    """Read until the program ends; return True if its time was over before."""
    with selectors.DefaultSelector() as selector:
        for pipe, stream in zip((process.stdout, process.stderr), streams, strict=True):
            assert pipe is not None
            os.set_blocking(pipe.fileno(), False)
            selector.register(pipe, selectors.EVENT_READ, stream)
        ticked = 0.0
        while process.poll() is None:
            now = time.monotonic()
            if now >= end:
                return True
            if now - ticked >= TICK_S:
                watch.tick()
                ticked = now
            if selector.get_map():
                _read(selector, min(TICK_S, end - now))
            else:
                with suppress(subprocess.TimeoutExpired):
                    process.wait(min(TICK_S, end - now))
    return False


def _read(selector: selectors.BaseSelector, timeout: float) -> None:
    for key, _ in selector.select(timeout):
        chunk = os.read(key.fd, TAIL_BYTES)
        if chunk:
            key.data.feed(chunk)
        else:
            selector.unregister(key.fileobj)


def _drain(process: subprocess.Popen[bytes], streams: tuple[Stream, Stream]) -> None:
    """Read what is left. Somebody who left the group may hold a pipe open: not for ever."""
    end = time.monotonic() + DRAIN_S
    with selectors.DefaultSelector() as selector:
        for pipe, stream in zip((process.stdout, process.stderr), streams, strict=True):
            assert pipe is not None
            selector.register(pipe, selectors.EVENT_READ, stream)
        while selector.get_map() and time.monotonic() < end:
            _read(selector, TICK_S)


def _stop(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace").replace("\x00", "")
