"""Browsers and changes of this machine's network keep out of each other's way.

A browser that sees an address come or go drops what it is loading, from whatever host. It looks up
to two seconds later, so whoever wants quiet waits for that, too. Across processes, by a file.
"""

from __future__ import annotations

import fcntl
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

LOCK = Path(tempfile.gettempdir()) / f"rushes-tests-network-{os.getuid()}"
SETTLED_S = 3


@contextmanager
def changing() -> Iterator[None]:
    """Wait until no browser is in a test, and let none begin meanwhile."""
    with LOCK.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
        LOCK.touch()


@contextmanager
def steady() -> Iterator[None]:
    """Keep the network as it is."""
    with LOCK.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_SH)
        time.sleep(max(0, LOCK.stat().st_mtime + SETTLED_S - time.time()))
        yield
