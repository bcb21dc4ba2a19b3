"""Asks a server again until it answers, as long as something arrives now and then."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from rushes.errors import Conflict, RushesError, Unavailable

T = TypeVar("T")

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.2, 5.0


@dataclass(frozen=True, slots=True)
class Patience:
    """How long nothing at all may arrive."""

    seconds: float

    def __call__(self, attempt: Callable[[], T], reached: Callable[[], int] = lambda: 0) -> T:
        """Return what an attempt returns. `reached` grows with everything that arrives."""
        pause, last, since = FIRST_PAUSE_S, -1, time.monotonic()
        while True:
            try:
                return attempt()
            except RushesError as error:
                if not _may_pass(error):
                    raise
                if reached() > last:
                    pause, last, since = FIRST_PAUSE_S, reached(), time.monotonic()
                if time.monotonic() - since > self.seconds:
                    raise
            time.sleep(pause)
            pause = min(LONGEST_PAUSE_S, 2 * pause)


def _may_pass(error: RushesError) -> bool:
    """Whether an error is about the way or the moment. A task that is gone does not come back."""
    return isinstance(error, Unavailable) or error.code == Conflict.code
