"""A library of a test's own, and the command line as processes of its own."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from rushes.app import App, open_app
from rushes.domain.asset import Asset
from rushes.settings import load
from rushes.store import assets
from tests.system import missing
from tests.waiting import until

PATIENT = {"RUSHES_MAX_RETRY_ATTEMPTS": "1000", "RUSHES_MAX_CRASHES": "1000"}
ENCODER = re.compile(r'execve\("[^"]*ffmpeg[^"]*".*"-filter_complex"')


def slow(ms: int = 1_000) -> dict[str, str]:
    """Let each chunk wait before its encoder starts, so that there is something to interrupt."""
    return {"RUSHES_TEST": "1", "RUSHES_FAILPOINTS": f"stage.before_spawn=delay:{ms}"}


@dataclass(slots=True)
class Place:
    """A data folder and the settings of all processes that work on it."""

    root: Path
    settings: dict[str, str] = field(default_factory=dict)
    _started: list[subprocess.Popen[str]] = field(default_factory=list)

    def close(self) -> None:
        """Leave nothing running and no pipe open, also after a test that failed."""
        for process in self._started:
            process.kill()
            if process.stdout and not process.stdout.closed:
                process.communicate()

    @property
    def data(self) -> Path:
        return self.root / "data"

    @property
    def environment(self) -> dict[str, str]:
        mine = {name: value for name, value in os.environ.items() if name[:7] != "RUSHES_"}
        return {**mine, "RUSHES_DATA": str(self.data), **self.settings}

    def start(self, *arguments: object, under: tuple[object, ...] = ()) -> subprocess.Popen[str]:
        """Start a command; `under` is a program that runs it."""
        command = (*under, sys.executable, "-m", "rushes.cli.main", *arguments)
        process = subprocess.Popen(
            [str(word) for word in command],
            env=self.environment,
            cwd=self.root,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._started.append(process)
        return process

    def run(self, *arguments: object, code: int | None = 0) -> str:
        """Run a command to its end, and return what it printed."""
        process = self.start(*arguments)
        out, err = process.communicate(timeout=600)
        assert code is None or process.returncode == code, (out, err)
        assert "Traceback" not in err, err
        return out

    def ask(self, *arguments: object) -> Any:
        return json.loads(self.run(*arguments, "--json"))

    def lines(self, command: str, *arguments: object, code: int | None = 0) -> list[Any]:
        """Run a command that tells what happens, one object in a line."""
        out = self.run(command, "--json", *arguments, code=code)
        return [json.loads(line) for line in out.splitlines()]

    @contextmanager
    def app(self) -> Iterator[App]:
        """Open the library in this process."""
        before = dict(os.environ)
        os.environ.clear()
        os.environ.update(self.environment)
        try:
            settings = load()
        finally:
            os.environ.clear()
            os.environ.update(before)
        with open_app(settings) as app:
            yield app

    def asset(self, asset_id: str) -> Asset:
        with self.app() as app:
            return app.db.read(lambda tx: assets.get(tx, asset_id))

    def playlist(self, asset_id: str) -> Path:
        return self.data / "assets" / asset_id / "master.m3u8"


class Traced:
    """A command under strace, which notes every program that is started."""

    def __init__(self, place: Place, log: Path, *arguments: object) -> None:
        strace = shutil.which("strace")
        if strace is None:
            missing("strace")
        flags = ("-f", "-qq", "--seccomp-bpf", "-s", "4096", "-e", "trace=execve", "-o", log)
        self.log = log
        self.process = place.start(*arguments, under=(strace, *flags))

    def kill(self) -> None:
        """End the command with -9. Whatever it started has to be gone then."""
        until(lambda: self.process.poll() is not None or self._command())
        if (command := self._command()) is not None:
            started = command.children(recursive=True)
            command.kill()
            until(lambda: all(map(_is_gone, (command, *started))), 20)
        self.process.communicate(timeout=20)  # strace waits for whatever is left

    def _command(self) -> psutil.Process | None:
        """Return the command once strace, which tries itself out first, has started it."""
        with suppress(psutil.NoSuchProcess):
            for child in psutil.Process(self.process.pid).children():
                if "rushes.cli.main" in child.cmdline():
                    return child
        return None

    def encoder_starts(self) -> int:
        return sum(bool(ENCODER.search(line)) for line in self.log.read_text().splitlines())


def _is_gone(process: psutil.Process) -> bool:
    try:
        return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True
