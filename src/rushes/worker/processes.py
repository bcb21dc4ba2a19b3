"""Which worker processes of this machine are alive: each holds a lock on a file of its own.

The kernel gives the lock back when the process ends, however it ends. So a worker that
starts on an embedded database knows at once which of the earlier ones are dead, and need
not wait for their leases. A process without a file may be anywhere: nothing is known of it.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def alive(folder: Path, owner: str) -> Iterator[None]:
    """Let others see that `owner` lives while the block runs."""
    folder.mkdir(parents=True, exist_ok=True)
    path = _path(folder, owner)
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        try:
            yield
        finally:
            path.unlink(missing_ok=True)


def dead(folder: Path, owners: Iterable[str]) -> list[str]:
    """Return those of `owners` whose process is known to be gone."""
    return [owner for owner in owners if _is_dead(_path(folder, owner))]


def _is_dead(path: Path) -> bool:
    with suppress(FileNotFoundError, BlockingIOError), path.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        path.unlink(missing_ok=True)
        return True
    return False


def _path(folder: Path, owner: str) -> Path:
    return folder / f"{owner.replace(os.sep, '_')}.lock"
