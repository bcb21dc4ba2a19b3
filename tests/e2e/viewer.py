"""Somebody who polls the playlist files of a film, and never believes them without looking."""

from __future__ import annotations

import hashlib
import re
import threading
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

EVERY = 0.05
URI = re.compile(r'URI="([^"]+)"')


@dataclass(frozen=True, slots=True)
class Seen:
    """A file as it was when it was first named."""

    stamp: tuple[int, int, int]
    digest: str


class Viewer:
    """Looks every 50 ms until it is left; `problems` says what it should never have seen."""

    def __init__(self, master: Path) -> None:
        self._master = master
        self._left = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._entries: dict[Path, list[str]] = {}
        self._files: dict[Path, Seen] = {}
        self.problems: list[str] = []
        self.looks = 0

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._left.set()
        self._thread.join()

    @property
    def segments(self) -> int:
        """How many different segments were seen."""
        return sum(path.suffix == ".m4s" for path in self._files)

    def look(self) -> None:
        """Read the master, every playlist that it ever named, and every file that they name."""
        if not self._master.exists() and not self._entries:
            return
        for name in named(self._master.read_text()):
            self._entries.setdefault((self._master.parent / name).resolve(), [])
        for playlist, before in self._entries.items():
            text = playlist.read_text()
            now = named(text)
            if now[: len(before)] != before:
                self.problems.append(f"{playlist} named {before}, now {now}")
            self._entries[playlist] = now
            for name in now:
                self._open(playlist.parent / name)
        self.looks += 1

    def _open(self, path: Path) -> None:
        status = path.stat()
        stamp = (status.st_ino, status.st_size, status.st_mtime_ns)
        seen = self._files.get(path)
        if seen is not None and seen.stamp == stamp:
            return
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        if seen is not None and seen.digest != digest:
            self.problems.append(f"{path} has changed")
        self._files[path] = Seen(stamp, digest)

    def _watch(self) -> None:
        while not self._left.wait(EVERY):
            try:
                self.look()
            except (OSError, ValueError) as error:
                self.problems.append(repr(error))


def named(playlist: str) -> list[str]:
    """Return the files that a playlist names, in order."""
    if not playlist.startswith("#EXTM3U"):
        raise ValueError(f"not a playlist: {playlist[:100]!r}")
    names: list[str] = []
    for line in playlist.splitlines():
        names += URI.findall(line) if line.startswith("#") else [line] if line else []
    return names
