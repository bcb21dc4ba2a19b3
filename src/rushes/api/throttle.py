"""Slows down whoever does something too often: tries keys that are wrong, or lets machines join.

Nobody guesses 256 bits; this keeps the database and the logs quiet while somebody tries. It is
kept in memory: every process counts for itself.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable
from math import ceil

from rushes.api.recent import Recent
from rushes.errors import TooMany

WINDOW_S = 60.0
MOST = 10_000


class Throttle:
    """Counts what each caller did within a minute. `complaint` is what too many are told."""

    def __init__(
        self, tries: int, complaint: str, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._tries, self._complaint = tries, complaint
        self._clock = clock
        self._done: Recent[Hashable, tuple[int, float]] = Recent(MOST)

    def check(self, who: Hashable) -> None:
        """Raise TooMany for whoever has done it too often."""
        n, since = self._done.get(who) or (0, 0.0)
        left = since + WINDOW_S - self._clock()
        if n >= self._tries and left > 0:
            wait = ceil(left)
            raise TooMany(self._complaint, retry_after=wait, hint=f"try again in {wait} s")

    def count(self, who: Hashable) -> None:
        """Note that it was done."""
        now = self._clock()
        n, since = self._done.get(who) or (0, now)
        self._done.put(who, (n + 1, since) if since + WINDOW_S > now else (1, now))
