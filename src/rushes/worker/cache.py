"""Files of a server on this worker's disk: fetched once, kept while there is room.

Several tasks of one film read the same original; whoever comes first fetches it, the others wait.
A download that was cut goes on where it ended, also after the worker was killed.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

PART = ".part"


class Cache:
    """`scratch` is where tasks work; what an earlier process left there is removed."""

    def __init__(self, root: Path, *, most_bytes: int) -> None:
        self._files, self.scratch = root / "sources", root / "scratch"
        self._most = most_bytes
        self._lock = threading.Lock()
        self._turns: dict[Path, threading.Lock] = {}
        self._in_use: dict[Path, int] = {}
        shutil.rmtree(self.scratch, ignore_errors=True)
        for folder in (self._files, self.scratch):
            folder.mkdir(parents=True, exist_ok=True)

    def get(self, key: str, size: int, load: Callable[[Path], None]) -> Path:
        """Return the file of a key, which stays until it is released. `load` makes it whole."""
        path = self._files / hashlib.sha256(key.encode()).hexdigest()
        part = path.with_suffix(PART)
        with self._lock:
            self._in_use[path] = self._in_use.get(path, 0) + 1
            turn = self._turns.setdefault(path, threading.Lock())
        try:
            with turn:
                if not path.exists() or size_of(path) != size:
                    self._make_room(size)
                    load(part)
                    part.replace(path)
                os.utime(path)
        except BaseException:
            self.release(path)
            raise
        return path

    def release(self, path: Path) -> None:
        """Say that a file is not read any more."""
        with self._lock:
            self._in_use[path] -= 1
            if not self._in_use[path]:
                del self._in_use[path]

    def free_bytes(self) -> int:
        """Return how much can be written. What is only kept in case counts as free."""
        disk = os.statvfs(self._files)
        return disk.f_bavail * disk.f_frsize + sum(size for _, size, _ in self._idle())

    def _make_room(self, size: int) -> None:
        """Drop what was read longest ago, until the new file fits."""
        kept = sum(size_of(path) for path in self._files.iterdir())
        for _, freed, path in sorted(self._idle()):
            if kept + size <= self._most:
                return
            path.unlink(missing_ok=True)
            kept -= freed

    def _idle(self) -> list[tuple[float, int, Path]]:
        """Return what nobody reads: when it was last asked for, its size, and where it is."""
        with self._lock:
            busy = {name for path in self._in_use for name in (path, path.with_suffix(PART))}
        found = []
        for path in self._files.iterdir():
            with suppress(FileNotFoundError):
                if path not in busy:
                    found.append((path.stat().st_mtime, path.stat().st_size, path))
        return found


def size_of(path: Path) -> int:
    """Return how long a file is; 0 if it is not there."""
    with suppress(FileNotFoundError):
        return path.stat().st_size
    return 0
