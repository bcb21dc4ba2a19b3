"""Worker processes that a command starts beside itself, and takes down again.

Also when the command is told to stop or its terminal is closed. Should it be killed outright, the
workers leave by themselves when no job is open.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import NoReturn, Self

PREFIX = "RUSHES_"
LEAVE_SECONDS, STOP_SECONDS = 5.0, 10.0
ENDS = (signal.SIGTERM, signal.SIGHUP)


class Fleet:
    """One `rushes worker run` per name. They see the given settings and none of the user's own."""

    def __init__(self, names: Sequence[str], settings: Mapping[str, str], folder: Path) -> None:
        self.names = list(names)
        self.killed: set[str] = set()
        self._folder = folder
        kept = {name: value for name, value in os.environ.items() if not name.startswith(PREFIX)}
        self._environment = {**kept, **settings}
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    def __enter__(self) -> Self:
        self._handlers = {number: signal.signal(number, _leave) for number in ENDS}
        for name in self.names:
            self._processes[name] = self._start(name)
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._processes.values():
            if process.poll() is None:
                process.kill()
            process.wait()
        for number, handler in self._handlers.items():
            signal.signal(number, handler)

    def freeze(self, name: str) -> None:
        self._processes[name].send_signal(signal.SIGSTOP)

    def thaw(self, name: str) -> None:
        self._processes[name].send_signal(signal.SIGCONT)

    def kill(self, name: str) -> None:
        """Kill -9: the worker cannot say goodbye, hand back or clean up."""
        self._processes[name].kill()
        self._processes[name].wait()
        self.killed.add(name)

    def stop(self) -> dict[str, int]:
        """Wait until the workers leave by themselves, then ask. Returns their exit codes."""
        running = {name: self._processes[name] for name in self.names if name not in self.killed}
        deadline = time.monotonic() + LEAVE_SECONDS
        while time.monotonic() < deadline and None in [p.poll() for p in running.values()]:
            time.sleep(0.02)
        return {name: _end(process) for name, process in running.items()}

    def broken(self) -> str | None:
        """Return the name of a worker that ended as it should not."""
        for name, process in self._processes.items():
            if name not in self.killed and process.poll():
                return name
        return None

    def log(self, name: str) -> str:
        return (self._folder / f"{name}.log").read_text(errors="replace")

    def _start(self, name: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "rushes.cli.main", "worker", "run", "--until-idle"]
        with (self._folder / f"{name}.log").open("wb") as log:
            return subprocess.Popen(
                [*command, "--name", name],
                cwd=self._folder,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=log,
            )


def _leave(number: int, _frame: FrameType | None) -> NoReturn:
    raise SystemExit(128 + number)


def _end(process: subprocess.Popen[bytes]) -> int:
    process.terminate()
    try:
        return process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()
