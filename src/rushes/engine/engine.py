"""What every part of the engine needs: the database, the kinds, and a few numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from random import Random

from rushes.domain.graph import HIGHEST, Boost
from rushes.domain.kind import Kind
from rushes.store.database import Database, Transaction


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """A task that has just become DONE, as its projection sees it."""

    id: int
    job_id: str
    epoch: int
    kind: str
    step: str
    item: int
    result: str


Projection = Callable[[Transaction, Finished], None]
"""Writes the rows that follow from a result, inside the completing transaction."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    lease: timedelta = timedelta(seconds=60)
    gpu_grace: timedelta = timedelta(seconds=10)
    late_after: timedelta = timedelta(seconds=45)
    offline_after: timedelta = timedelta(minutes=5)
    max_losses: int = 3
    priority_step: timedelta = timedelta(hours=24)
    boost: timedelta = timedelta(hours=12)


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    db: Database
    kinds: Mapping[str, Kind]
    limits: Limits = field(default_factory=Limits)
    projections: Mapping[str, Projection] = field(default_factory=dict)
    random: Random = field(default_factory=Random)

    def wait_ms(self, priority: int, boost: Boost, item: int = 0) -> int:
        """How long a task of this priority waits behind one of priority 10."""
        boosted = boost is Boost.ALL or (boost is Boost.FIRST and item == 0)
        ahead = self.limits.boost if boosted else timedelta(0)
        return millis((HIGHEST - priority) * self.limits.priority_step - ahead)


def millis(duration: timedelta) -> int:
    return duration // timedelta(milliseconds=1)
