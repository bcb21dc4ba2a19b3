"""When a failed attempt is tried again. Attempts count claims: 3 means three runs."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from random import Random
from typing import Protocol

JITTER = 0.2


class Backoff(Protocol):
    """How long to wait after attempt number `attempt` (from 1) has failed."""

    def delay(self, attempt: int) -> timedelta: ...


@dataclass(frozen=True, slots=True)
class Listed:
    """Fixed waits; the last one is used for every later attempt."""

    seconds: tuple[float, ...]

    def delay(self, attempt: int) -> timedelta:
        return timedelta(seconds=self.seconds[min(attempt, len(self.seconds)) - 1])


@dataclass(frozen=True, slots=True)
class Exponential:
    """Waits that double, up to a cap."""

    base: float
    cap: float

    def delay(self, attempt: int) -> timedelta:
        doublings = min(attempt - 1, 32)
        return timedelta(seconds=min(self.cap, self.base * 2**doublings))


HEAVY = Listed((60, 300, 900))
LIGHT = Exponential(base=10, cap=300)


def may_retry(*, attempt: int, max_attempts: int, retryable: bool) -> bool:
    """Return whether another run is allowed after this one failed.

    >>> may_retry(attempt=2, max_attempts=3, retryable=True)
    True
    >>> may_retry(attempt=3, max_attempts=3, retryable=True)
    False
    """
    return retryable and attempt < max_attempts


def jittered(backoff: Backoff, attempt: int, random: Random) -> timedelta:
    """Return the wait after `attempt`, moved by up to 20 % either way."""
    return backoff.delay(attempt) * random.uniform(1 - JITTER, 1 + JITTER)
