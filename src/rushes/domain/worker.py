"""What a worker is shown as. Display only: the fate of a task hangs on its lease alone."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

LATE_AFTER_MS = 45_000
OFFLINE_AFTER_MS = 300_000


class Mode(StrEnum):
    """What the operator, or the worker itself, asked for."""

    ACTIVE = "active"
    DRAINING = "draining"
    DISABLED = "disabled"
    STOPPED = "stopped"


class Presence(StrEnum):
    IDLE = "idle"
    BUSY = "busy"
    LATE = "late"
    DRAINING = "draining"
    DISABLED = "disabled"
    OFFLINE = "offline"


class Usage(NamedTuple):
    """How busy the machine of a worker is."""

    cpu_percent: int
    memory_percent: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Worker:
    """One row of `workers`. `owner` names this start of it: `name#random`."""

    id: str
    name: str
    owner: str
    type: str
    mode: Mode
    hostname: str
    version: str
    lanes: dict[str, int]
    capabilities: list[str]
    kinds: list[str]
    metadata: dict[str, object]
    started_at: int
    last_heartbeat: int
    load: int
    tasks_done: int
    tasks_failed: int
    usage: Usage | None = None

    @property
    def slots(self) -> int:
        return sum(self.lanes.values())


def presence(
    worker: Worker,
    *,
    now: int,
    late_after: int = LATE_AFTER_MS,
    offline_after: int = OFFLINE_AFTER_MS,
) -> Presence:
    """Return the word for a worker: what was asked of it, then what it was last seen doing."""
    silent = now - worker.last_heartbeat
    if worker.mode is Mode.DISABLED:
        return Presence.DISABLED
    if worker.mode is Mode.STOPPED or silent > offline_after:
        return Presence.OFFLINE
    if worker.mode is Mode.DRAINING:
        return Presence.DRAINING
    if silent > late_after:
        return Presence.LATE
    return Presence.BUSY if worker.load else Presence.IDLE
