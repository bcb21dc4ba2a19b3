"""How an attempt ended, as a value: what a worker reports of a claim, and is answered."""

from __future__ import annotations

from dataclasses import dataclass, field

from rushes.domain.failure import Failure
from rushes.domain.task import Claim


@dataclass(frozen=True, slots=True)
class Done:
    """The work is finished; `result` is JSON text."""

    id: int
    epoch: int
    result: str


@dataclass(frozen=True, slots=True)
class Failed:
    """The work failed; the engine decides whether it is tried again."""

    id: int
    epoch: int
    failure: Failure


@dataclass(frozen=True, slots=True)
class HandedBack:
    """The work was not finished, through no fault of its own: drain, shutdown."""

    id: int
    epoch: int


Outcome = Done | Failed | HandedBack


@dataclass(frozen=True, slots=True, kw_only=True)
class Beat:
    """What a heartbeat says of one claim. `moved`: the work made progress since the last."""

    id: int
    epoch: int
    moved: bool = False
    progress: int | None = None
    phase: str | None = None
    message: str | None = None
    checkpoint: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """The answer to a report: which outcomes were refused, and new claims."""

    refused: frozenset[int] = frozenset()
    claims: list[Claim] = field(default_factory=list)
