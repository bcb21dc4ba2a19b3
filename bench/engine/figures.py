"""The values that pass between the runner and its measurements, as JSON.

A `Run` travels down: from the runner to one measurement, and on to its workers, in an
environment variable. A `Drain`, `Latency` or `Growth` travels back up on stdout.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

RUN_VARIABLE = "RUSHES_BENCH_RUN"

Kind = Literal["drain", "latency", "growth"]
Setting = dict[str, int | str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One measurement: what to measure, with which setting of the peer, and where."""

    peer: str
    kind: Kind
    setting: Setting
    tasks: int = 0
    workers: int = 1
    limit_s: float = 0.0
    url: str = ""
    large_url: str = ""
    folder: Path = Path()
    server_pid: int | None = None

    def to_json(self) -> str:
        return json.dumps(asdict(self), default=str)

    @classmethod
    def from_environment(cls) -> Run:
        fields = json.loads(os.environ[RUN_VARIABLE])
        return cls(**{**fields, "folder": Path(fields["folder"])})


@dataclass(frozen=True, slots=True, kw_only=True)
class Drain:
    """How fast a full queue was filled and emptied."""

    bulk_per_s: float
    tasks_per_s: float
    worker_us: float
    server_us: float
    tasks: int
    finished: int
    seconds: float
    idle_before: float

    @property
    def cpu_us(self) -> float:
        """CPU per task of everything that took part: workers and database server."""
        return self.worker_us + self.server_us


@dataclass(frozen=True, slots=True, kw_only=True)
class Latency:
    """How long one task waits for an idle worker, and how fast such tasks can be made."""

    single_per_s: float
    p50_ms: float
    p99_ms: float
    idle_before: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """What a claim costs in an almost empty table and in a very full one, taken in turns."""

    empty_p50_ms: float
    full_p50_ms: float
    idle_before: float

    @property
    def ratio(self) -> float:
        return self.full_p50_ms / self.empty_p50_ms


Figures = Drain | Latency | Growth


def percentile(values: list[float], share: float) -> float:
    """Return the value below which `share` of the values lie.

    >>> percentile([4.0, 1.0, 3.0, 2.0], 0.5)
    3.0
    """
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]
