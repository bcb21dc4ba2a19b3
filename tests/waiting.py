"""Waiting for what other threads or processes bring about."""

from __future__ import annotations

import time
from collections.abc import Callable


def until(is_so: Callable[[], object], seconds: float = 30) -> None:
    """Wait until something is so; fail when it takes too long."""
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end, f"it did not happen within {seconds} s"
        time.sleep(0.01)
