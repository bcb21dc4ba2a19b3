"""Files in one folder. Nothing is renamed or copied: a file is written once, where it stays.

A file counts only after a row in the database names it, so the order is: the file and its
folders reach the disk (`seal`), then the row is committed. What no row names is rubbish.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import secrets
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from rushes.domain.artifact import is_key
from rushes.errors import Invalid, NotFound

CHUNK = 1 << 20
TRASH = "trash"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sealed:
    """A file that will survive a power cut, and how to know it again."""

    bytes: int
    sha256: str


class LocalStorage:
    def __init__(self, root: Path) -> None:
        self.root = root

    def path(self, key: str) -> Path:
        """Return where the file of `key` is, or would be."""
        if not is_key(key):
            raise Invalid(f"{key!r} is not the key of a file")
        return self.root / key

    def key(self, path: Path) -> str:
        return path.relative_to(self.root).as_posix()

    def existing(self, key: str) -> Path:
        """Return the path of a file that is there. Raises NotFound if it is not."""
        path = self.path(key)
        if not path.is_file():
            raise NotFound(f"the file {key} is missing", key=key)
        return path

    def seal(self, paths: Sequence[Path]) -> list[Sealed]:
        """Bring files, and the folders on the way to them, to the disk; return sizes and hashes."""
        sealed = []
        for path in paths:
            with path.open("rb") as file:
                sha256 = _sha256(file)
                sealed.append(Sealed(bytes=file.tell(), sha256=sha256))
                os.fsync(file.fileno())
        self.sync_way_to(*paths)
        return sealed

    def sha256(self, key: str) -> str:
        """Read a whole file and return its hash."""
        with self.path(key).open("rb") as file:
            return _sha256(file)

    def sync_way_to(self, *paths: Path) -> None:
        """Bring the names of files, and of the folders that they are in, to the disk."""
        lowest = {path.parent.relative_to(self.root) for path in paths}
        for folder in {folder for low in lowest for folder in (low, *low.parents)}:
            _sync_folder(self.root / folder)

    def delete(self, key: str) -> None:
        """Remove a file and the folders that it leaves empty; one that is gone is fine."""
        self.unlink(self.path(key))

    def unlink(self, path: Path) -> None:
        """The same for a file that may have no key."""
        path.unlink(missing_ok=True)
        self._prune(path)

    def remove(self, folder: Path) -> None:
        """Take a folder away in one step, so that nobody sees half of it, and then delete it."""
        trash = self.root / TRASH / secrets.token_hex(8)
        trash.parent.mkdir(parents=True, exist_ok=True)
        try:
            folder.rename(trash)
        except FileNotFoundError:
            return
        except OSError:  # it lies on another disk
            trash = folder
        shutil.rmtree(trash, ignore_errors=True)
        self._prune(folder)

    def empty_trash(self) -> None:
        """Delete what a process that died had taken away."""
        shutil.rmtree(self.root / TRASH, ignore_errors=True)

    def files(self, folder: Path) -> list[Path]:
        """Return the files in a folder and below; what vanishes meanwhile is left out."""
        return [Path(at, name) for at, _, names in os.walk(folder) for name in names]

    def folders(self, prefix: str) -> list[Path]:
        """Return the folders two levels below `prefix`: one per asset and attempt."""
        return [folder for folder in (self.root / prefix).glob("*/*") if folder.is_dir()]

    def free_bytes(self) -> int:
        """Return how much can be written; nothing where nobody can write."""
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            disk = os.statvfs(self.root)
        except OSError:
            return 0
        return 0 if disk.f_flag & os.ST_RDONLY else disk.f_bavail * disk.f_frsize

    @contextmanager
    def locked(self, name: str, *, wait: bool = False) -> Iterator[bool]:
        """Hold a lock among all processes on this folder. Yields whether it was to be had."""
        self.root.mkdir(parents=True, exist_ok=True)
        with (self.root / f".{name}.lock").open("w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                yield False
            else:
                yield True

    def _prune(self, path: Path) -> None:
        """Remove the folders on the way to `path` that are empty."""
        for parent in path.relative_to(self.root).parents[:-1]:
            try:
                (self.root / parent).rmdir()
            except FileNotFoundError:
                continue
            except OSError:  # not empty
                return


def bring(source: Path, target: Path) -> bool:
    """Give a file a second place. Returns whether that is a hard link; else it is a copy."""
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(source, target)
    except FileExistsError:
        return True
    except OSError:  # another disk, or one without links
        _copy(source, target)
        return False
    return True


def _copy(source: Path, target: Path) -> None:
    part = target.with_name(target.name + ".part")
    try:
        with source.open("rb") as incoming, part.open("wb") as outgoing:
            shutil.copyfileobj(incoming, outgoing, CHUNK)
            outgoing.flush()
            os.fsync(outgoing.fileno())
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


def _sha256(file: IO[bytes]) -> str:
    return hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
