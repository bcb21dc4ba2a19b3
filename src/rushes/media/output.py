"""Looks at a file that a child was asked to write, before anybody relies on it."""

from __future__ import annotations

import stat
from pathlib import Path

from rushes.media.mp4.box import invalid


def require(*paths: Path) -> None:
    """Raise unless each is a file with something in it. A link is none: it could lead anywhere."""
    for path in paths:
        try:
            status = path.lstat()
        except FileNotFoundError as error:
            raise invalid(f"{path.name} was not written") from error
        if not stat.S_ISREG(status.st_mode) or status.st_size == 0:
            raise invalid(f"{path.name} was not written")
