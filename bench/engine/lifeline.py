"""Ends a process when its parent is gone, so that a killed benchmark leaves nothing behind."""

from __future__ import annotations

import os
import threading
import time


def end_with_parent() -> None:
    """Watch the parent from a thread; the benchmark's own processes need no other clean-up."""
    threading.Thread(target=_watch, args=(os.getppid(),), daemon=True).start()


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)
