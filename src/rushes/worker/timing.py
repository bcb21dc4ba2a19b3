"""How often a worker does what, and how long it waits."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """`busy` is the heartbeat of one that holds tasks: so soon it hears that they are killed."""

    heartbeat: timedelta = timedelta(seconds=10)
    busy: timedelta | None = None
    patience: timedelta = timedelta(minutes=10)
    poll: timedelta = timedelta(seconds=1)
    drain: timedelta = timedelta(minutes=5)
