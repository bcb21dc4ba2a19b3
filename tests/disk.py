"""Disks of a test's own."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def other_disk() -> Iterator[Path]:
    """A folder on another disk than the temporary folders of tests."""
    with tempfile.TemporaryDirectory(dir="/dev/shm", prefix="rushes-") as folder:
        yield Path(folder)


@contextmanager
def small_disk(folder: Path, options: str) -> Iterator[Path]:
    """A disk in memory at `folder`, such as `size=1m` or `ro`; without the right to, a skip."""
    folder.mkdir(parents=True, exist_ok=True)
    mount = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", folder]
    if subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("only root can mount a disk")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)
