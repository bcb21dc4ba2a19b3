"""CPU time of this process and of everything it started, however deep and however orphaned.

Bubblewrap does not wait for the process that it puts into a namespace, so the kernel adds that
one's time to nobody. Here orphans come back to us, and are waited for.
"""

from __future__ import annotations

import ctypes
import os
import resource
from contextlib import suppress
from functools import cache
from multiprocessing import resource_tracker

import psutil

PR_SET_CHILD_SUBREAPER = 36


def spent() -> float:
    """Return the CPU seconds so far. Call it only when every program that was started has ended."""
    _adopt_orphans()
    while ended := _children():
        for pid in ended:
            with suppress(ChildProcessError):
                os.waitpid(pid, 0)
    usages = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def _children() -> list[int]:
    """Return all children but Python's own, which lives as long as we do."""
    tracker = resource_tracker._resource_tracker._pid  # type: ignore[attr-defined]
    return [child.pid for child in psutil.Process().children() if child.pid != tracker]


@cache
def _adopt_orphans() -> None:
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "this kernel cannot give orphans back to us")
