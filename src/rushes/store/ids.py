"""Ids that sort by the time they were made: UUIDv7, monotonic within a process."""

from __future__ import annotations

import os
import threading
import time
import uuid

_lock = threading.Lock()
_last = 0


def new_id() -> str:
    """Return a new UUIDv7. Two calls in one millisecond still sort in order of the calls."""
    global _last  # noqa: PLW0603  (monotonic across threads needs one shared value)
    with _lock:
        # 48 bits of milliseconds, then 12 bits that count within the millisecond.
        _last = max(_last + 1, time.time_ns() // 1_000_000 << 12)
        millis, count = _last >> 12, _last & 0xFFF
    tail = int.from_bytes(os.urandom(8)) & (1 << 62) - 1
    return str(uuid.UUID(int=millis << 80 | 0x7 << 76 | count << 64 | 0b10 << 62 | tail))
