"""The systems in the table, and the settings that each may be tried with.

The calibration round tries every candidate and keeps the fastest, separately for one
and for two workers. The candidates are the range in which exploration found the best;
one candidate means that there is nothing to choose.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from bench.engine.figures import Setting
from bench.engine.options import Options

Backend = Literal["postgres", "sqlite", "valkey"]


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    name: str
    peer: str
    """The module in `peers/`."""

    backend: Backend
    pins: str | None
    """The file in `pins/` that its environment is made from; None is our own environment."""

    candidates: tuple[Setting, ...] = ({},)
    in_default: bool = True
    grows: bool = False
    """Whether the figure `claim_growth` is taken from it."""


RUSHES_POSTGRES = System(
    name="rushes-postgres", peer="rushes", backend="postgres", pins=None, grows=True
)
RUSHES_SQLITE = System(name="rushes-sqlite", peer="rushes", backend="sqlite", pins=None)

SYSTEMS = (
    RUSHES_POSTGRES,
    RUSHES_SQLITE,
    System(
        name="pgqueuer",
        peer="pgqueuer",
        backend="postgres",
        pins="pgqueuer",
        candidates=(
            {"driver": "connection", "batch": 200},
            {"driver": "connection", "batch": 500},
            {"driver": "connection", "batch": 2_000},
            {"driver": "pool", "batch": 200},
            {"driver": "pool", "batch": 1_000},
        ),
    ),
    System(
        name="procrastinate",
        peer="procrastinate",
        backend="postgres",
        pins="procrastinate",
        candidates=({"concurrency": 10}, {"concurrency": 30}),
    ),
    System(
        name="saq",
        peer="saq",
        backend="postgres",
        pins="saq",
        candidates=({"concurrency": 20}, {"concurrency": 100}),
        in_default=False,
    ),
    System(
        name="dbos",
        peer="dbos",
        backend="postgres",
        pins="dbos",
        candidates=({"pool": 10}, {"pool": 20}),
        in_default=False,
    ),
    System(
        name="celery",
        peer="celery",
        backend="valkey",
        pins="celery",
        candidates=(
            {"pool": "prefork", "prefetch": 64},
            {"pool": "solo", "prefetch": 64},
        ),
        in_default=False,
    ),
    System(
        name="dramatiq",
        peer="dramatiq",
        backend="valkey",
        pins="dramatiq",
        candidates=({"threads": 8}, {"threads": 32}),
        in_default=False,
    ),
)


def chosen(options: Options) -> list[System]:
    """Return the systems of this run; raises SystemExit when a name is unknown."""
    unknown = options.only - {system.name for system in SYSTEMS}
    if unknown:
        names = ", ".join(system.name for system in SYSTEMS)
        raise SystemExit(f"bench: ONLY names {', '.join(sorted(unknown))}; there are: {names}")
    if options.only:
        return [system for system in SYSTEMS if system.name in options.only]
    return [system for system in SYSTEMS if system.in_default or options.all_peers]
