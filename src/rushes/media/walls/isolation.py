"""The walls around a program that reads a foreign file, as strong as this machine allows.

A level counts only after it was tried here: a program inside it fails to open a file that was
not given to it and to reach a listener on loopback. Containers often forbid namespaces although
the tools are installed, so asking for a version would say nothing.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path

IMPORTED_FROM = Path(__file__).resolve().parents[3]
LAUNCHER = Path(__file__).with_name("launch.py")
# what a dynamically linked program needs to start, and no file of a user's
SYSTEM = (
    *("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/nix/store"),
    *("/etc/ld.so.cache", "/etc/alternatives"),
)
DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
PROCESSOR = ("/proc/cpuinfo", "/proc/meminfo", "/sys/devices/system/cpu")
PROOF = """
import socket, sys
def fails(attempt):
    try: attempt()
    except OSError: return "closed"
    return "open"
def connect():
    socket.create_connection(("127.0.0.1", int(sys.argv[2])), timeout=5).close()
open("inside", "w").close()
print(fails(lambda: open(sys.argv[1]).close()), fails(connect))
"""


class Level(StrEnum):
    """Which walls stand, the best first."""

    BUBBLEWRAP = "bubblewrap"  # no network, no other process, no path but those given
    LANDLOCK_NAMESPACE = "landlock+namespace"  # no network, no file but those given
    LANDLOCK = "landlock"  # no file but those given; no TCP where the kernel is new enough
    NAMESPACE = "namespace"  # no network
    NONE = "none"  # limits alone


PROMISES = {
    Level.BUBBLEWRAP: ("closed", "closed"),
    Level.LANDLOCK_NAMESPACE: ("closed", "closed"),
    Level.LANDLOCK: ("closed", None),
    Level.NAMESPACE: (None, "closed"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Walls:
    """What one program may see and use."""

    folder: Path
    reads: tuple[Path, ...]
    resources: dict[str, int]
    nice: int = 0


def enclose(command: Sequence[str], walls: Walls, level: Level) -> list[str]:
    """Return the command that runs `command` inside its walls."""
    orders: dict[str, object] = {
        "limits": walls.resources,
        "nice": walls.nice,
        "namespace": level in {Level.LANDLOCK_NAMESPACE, Level.NAMESPACE},
    }
    if level in {Level.LANDLOCK, Level.LANDLOCK_NAMESPACE}:
        orders["landlock"] = _landlock(command, walls)
    inner = _bubblewrap(command, walls) if level is Level.BUBBLEWRAP else command
    return dying_with_us(inner, orders)


def dying_with_us(command: Sequence[str], orders: Mapping[str, object] | None = None) -> list[str]:
    """Return the command that runs `command`; however this process ends, nothing of it is left."""
    told = json.dumps({"parent": os.getpid(), **(orders or {})})
    return [sys.executable, "-I", "-S", str(LAUNCHER), told, *command]


def python_files() -> tuple[Path, ...]:
    """Return what a child of our own Python must see to import this package."""
    homes = _homes(Path(sys.executable))
    return tuple({Path(sys.prefix), Path(sys.base_prefix), IMPORTED_FROM, *homes})


@cache
def best() -> Level:
    """Return the strongest level that keeps its promises on this machine."""
    return next((level for level in PROMISES if _holds(level)), Level.NONE)


def _bubblewrap(command: Sequence[str], walls: Walls) -> list[str]:
    folder = str(_absolute(walls.folder))
    return [
        shutil.which("bwrap") or "bwrap",
        *("--unshare-all", "--die-with-parent", "--cap-drop", "ALL", "--hostname", "rushes"),
        *("--proc", "/proc", "--dev", "/dev"),
        *_mounts(_visible(command, walls), _absolute(walls.folder)),
        # a root of memory that can be written is a way to fill the memory
        *("--remount-ro", "/dev", "--remount-ro", "/", "--chdir", folder),
        "--",
        *command,
    ]


def _mounts(reads: Iterable[Path], folder: Path) -> Iterator[str]:
    """Mount parents before children, and nothing that its parent shows already."""
    kinds = {**dict.fromkeys(reads, "--ro-bind"), folder: "--bind"}
    mounted: dict[Path, str] = {}
    for path, kind in sorted(kinds.items()):
        around = next((mounted[parent] for parent in path.parents if parent in mounted), None)
        if kind == around:
            continue
        if path.is_symlink() and str(path) in SYSTEM:
            yield from ("--symlink", str(path.readlink()), str(path))
        else:
            yield from (kind, str(path), str(path))
            mounted[path] = kind


def _landlock(command: Sequence[str], walls: Walls) -> dict[str, list[str]]:
    reads = (*_visible(command, walls), *PROCESSOR)
    return {"read": list(map(str, reads)), "write": [str(_absolute(walls.folder)), *DEVICES]}


def _visible(command: Sequence[str], walls: Walls) -> set[Path]:
    given = [_absolute(path) for path in (Path(command[0]), *walls.reads)]
    system = (path for path in map(Path, SYSTEM) if path.exists())
    return {*system, *given, *(path.resolve() for path in given)}


def _absolute(path: Path) -> Path:
    return Path(os.path.abspath(path))  # noqa: PTH100  resolve() would follow links


def _homes(program: Path) -> Iterator[Path]:
    """Every Python on the way from a link in a virtual environment to the real one."""
    library = Path("lib", f"python{sys.version_info.major}.{sys.version_info.minor}", "os.py")
    while program.is_symlink():
        program = _absolute(program.parent / program.readlink())
        home = program.parents[1]
        yield home if (home / library).exists() else program


def _holds(level: Level) -> bool:
    if sys.platform != "linux" or (level is Level.BUBBLEWRAP and not shutil.which("bwrap")):
        return False
    with (
        tempfile.TemporaryDirectory() as folder,
        tempfile.NamedTemporaryFile() as outside,
        socket.create_server(("127.0.0.1", 0)) as listener,
    ):
        walls = Walls(folder=Path(folder), reads=python_files(), resources={})
        port = str(listener.getsockname()[1])
        prover = (sys.executable, "-I", "-S", "-c", PROOF, outside.name, port)
        proof = subprocess.run(
            enclose(prover, walls, level),
            cwd=folder,
            env={},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
    found = proof.stdout.split()
    return len(found) == 2 and all(
        promise in {None, said} for promise, said in zip(PROMISES[level], found, strict=True)
    )
