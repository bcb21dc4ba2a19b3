"""What a worker needs of the engine: the same words on this machine and over HTTP."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from rushes.domain.outcome import Beat, Exchange, Outcome
from rushes.domain.task import Claim
from rushes.domain.worker import Mode, Usage
from rushes.stages.files import Files
from rushes.stages.process import Execution


@dataclass(frozen=True, slots=True, kw_only=True)
class Pulse:
    """The answer to a heartbeat: what is asked of the worker, and which claims are gone."""

    mode: Mode
    gone: Mapping[int, str] = field(default_factory=dict)


class WorkerSession(Protocol):
    """Raises Unavailable when nobody answers, and Conflict when the worker was replaced."""

    @property
    def owner(self) -> str: ...

    @property
    def waits(self) -> bool:
        """Whether an exchange that brings nothing stays until there is work, or another comes."""

    def exchange(self, outcomes: Sequence[Outcome], want: Mapping[str, int]) -> Exchange:
        """Report finished work and claim more."""

    def beat(self, beats: Sequence[Beat], usage: Usage | None = None) -> Pulse:
        """Say that the worker and these claims are alive, and how busy the machine is."""

    def results(self, claim: Claim) -> list[dict[str, Any]]:
        """Return what the parents of a claimed task produced."""

    def files(self, claim: Claim) -> Files | None:
        """Return the files of a claimed task; None where there is no storage."""

    def record(
        self, claim: Claim, executions: Iterable[Execution], logs: list[dict[str, object]]
    ) -> None:
        """Keep what a stage ran and said."""

    def hand_back_strays(self, held: Iterable[int]) -> None:
        """Give back claims that this worker was given but never heard of."""

    def interrupt(self) -> None:
        """Let an exchange that waits for work return without it."""

    def leave(self) -> None:
        """Say that the worker stops."""
