"""Two ways of doing the same, at the same time: CPU seconds, and how many times one is dearer.

The CPU time of one and the same encode varies by a sixth from minute to minute on a machine that
is shared. Running side by side, both meet the same minute; each round gives one ratio, and the
median of these counts.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from statistics import median

from bench.engine.cpu import wait_until_idle
from bench.media.cpu import spent

Work = Callable[[Path], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Duel:
    """What each round cost, and how idle the machine was before it."""

    first: list[float]
    second: list[float]
    idle: float

    @property
    def ratio(self) -> float:
        """How many times the first costs what the second does."""
        return median(one / other for one, other in zip(self.first, self.second, strict=True))

    def table(self, title: str, first: str, second: str) -> str:
        lines = [f"{title:<44} CPU s  (least, most)"]
        for name, costs in ((first, self.first), (second, self.second)):
            lines.append(f"{name:<44} {median(costs):5.1f}  ({min(costs):.1f}, {max(costs):.1f})")
        return "\n".join([*lines, f"the machine was at least {self.idle:.0%} idle before a round"])


def side_by_side(rounds: int, first: Work, second: Work, cache: Path) -> Duel:
    """Do both at once, each in a process and a folder of its own; this again in every round."""
    costs: tuple[list[float], list[float]] = ([], [])
    idle: list[float] = []
    for _ in range(rounds):
        idle.append(wait_until_idle(wanted=0.95, patience_s=20))
        with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
            running = [pool.submit(_cost, work, cache) for work in (first, second)]
            for paid, one in zip(costs, running, strict=True):
                paid.append(one.result())
    return Duel(first=costs[0], second=costs[1], idle=min(idle))


def _cost(work: Work, cache: Path) -> float:
    with tempfile.TemporaryDirectory(dir=cache) as folder:
        before = spent()
        work(Path(folder))
        return spent() - before
