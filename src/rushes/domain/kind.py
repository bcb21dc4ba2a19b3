"""What the engine knows about a kind of task: where it may run and for how long."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta

from rushes.domain.failure import Phase
from rushes.domain.retry import LIGHT, Backoff

DEFAULT_LANE = "default"


def accept_anything(_params: Mapping[str, object]) -> None:
    """The check of a kind that takes any params."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One kind of task. `check` raises Invalid for params that the stage cannot take.

    A lane is a pool of slots with an index range of its own: kinds that need rare
    hardware, or that are paused for long, stand in nobody's way in their own lane.
    `short` kinds (below a second) may be claimed ahead of a free slot. `phase` is where in a job
    a failure of it is said to have happened.
    """

    name: str
    version: int = 1
    lane: str = DEFAULT_LANE
    needs: frozenset[str] = frozenset()
    prefers: frozenset[str] = frozenset()
    short: bool = False
    backoff: Backoff = LIGHT
    max_attempts: int = 3
    phase: Phase = Phase.PROCESSING
    stall: timedelta = timedelta(minutes=10)
    hard_limit: timedelta = timedelta(hours=4)
    check: Callable[[Mapping[str, object]], None] = accept_anything


def stage_offer(kind: str) -> str:
    """Return the name under which a worker offers to run `kind`."""
    return f"stage:{kind}"
