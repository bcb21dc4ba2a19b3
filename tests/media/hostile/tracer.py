"""Runs Python code under strace and says which files, listeners and ports it touched."""

from __future__ import annotations

import json
import re
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from rushes.media.walls.isolation import IMPORTED_FROM
from tests.system import missing

CALLS = "open,openat,openat2,connect,bind"


@dataclass(frozen=True, slots=True)
class Trace:
    """What a command and all its children asked of the kernel."""

    exit_code: int
    stdout: str
    stderr: str
    lines: tuple[str, ...]

    def opened(self, path: Path, *, attempts: bool = False) -> bool:
        done = r".* = \d" if not attempts else ""
        return self._has(rf'open\w*\(.*"/*{re.escape(str(path))}"{done}')

    def called(self, port: int) -> bool:
        return self._has(rf"connect\(.*htons\({port}\)")

    def listened(self) -> bool:
        return self._has(r"bind\(.*AF_INET")

    def _has(self, pattern: str) -> bool:
        return any(re.search(pattern, line) for line in self.lines)


def trace(command: Sequence[str | Path], log: Path, *, seconds: int = 20) -> Trace:
    """Run a command to its end, or for some time, under strace."""
    strace = shutil.which("strace")
    if strace is None:
        missing("strace")
    strict = (strace, "-f", "-qq", "--seccomp-bpf", "-s", "4096", "-e", f"trace={CALLS}", "-o", log)
    ran = subprocess.run(
        [*strict, "timeout", str(seconds), *command],
        env={"GCONV_PATH": "/none", "PATH": "/usr/bin:/bin", "PYTHONPATH": str(IMPORTED_FROM)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    return Trace(ran.returncode, ran.stdout, ran.stderr, tuple(log.read_text().splitlines()))


def trace_python(code: str, log: Path, **values: object) -> tuple[Trace, object]:
    """Run code of ours under strace; return what it touched and the JSON that it printed."""
    text = (
        f"import json\nvalues = json.loads({json.dumps(json.dumps(values, default=str))})\n{code}"
    )
    found = trace([sys.executable, "-c", text], log)
    assert found.exit_code == 0, found.stderr
    return found, json.loads(found.stdout)


@dataclass(slots=True)
class Listener:
    """A port on loopback, and how often somebody came."""

    port: int
    visits: list[bytes] = field(default_factory=list)


@contextmanager
def listening() -> Iterator[Listener]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        listener = Listener(server.getsockname()[1])
        thread = threading.Thread(target=_serve, args=(server, listener), daemon=True)
        thread.start()
        yield listener
        server.shutdown(socket.SHUT_RDWR)
        thread.join()


def _serve(server: socket.socket, listener: Listener) -> None:
    while True:
        try:
            visitor, _ = server.accept()
        except OSError:
            return
        with visitor:
            visitor.settimeout(5)
            listener.visits.append(visitor.recv(1000))
