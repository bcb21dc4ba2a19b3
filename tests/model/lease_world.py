"""What the model of the lease machine is made of: the row, the processes, and what is under way."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, TypeAlias

from rushes.domain.task import Move, State
from tests.model.explorer import Step

POISON = 3  # losses in a row without a checkpoint end a task


class Says(StrEnum):
    """How a worker reports the end of a run."""

    COMPLETE = "complete"
    RETRYABLE = "retryable failure"
    PERMANENT = "permanent failure"
    HAND_BACK = "hand back"


class Check(StrEnum):
    """What a guarded write compares."""

    STATE = "state"
    OWNER = "owner"
    EPOCH = "epoch"
    TIMER = "timer"


class Row(NamedTuple):
    """The columns of a task that decide. A timer at 0 has run out."""

    state: State = State.NEW
    epoch: int = 0
    attempt: int = 0
    losses: int = 0
    owner: str | None = None
    lease_left: int | None = None
    stall_left: int | None = None
    wait_left: int = 0
    last_owner: str | None = None


class Process(NamedTuple):
    """A worker's process. `owner` is its incarnation: `a2` is the second start of `a`."""

    owner: str
    alive: bool = True
    epoch: int = 0  # of the claim it works on; 0 while it is idle
    hung: bool = False
    popped: bool = False


class Report(NamedTuple):
    """The end of a run on its way to the server: late, twice, or after its sender died."""

    says: Says
    owner: str
    epoch: int


class Answer(NamedTuple):
    """What the server said to a report."""

    report: Report
    accepted: bool


class Lapse(NamedTuple):
    """What a recovery pass has read and will write, unless the row moves meanwhile."""

    cause: Move
    epoch: int
    verdict: Move | None = None  # None: it is decided by the row as it is when written


class Budget(NamedTuple):
    """How often each rare thing may still happen."""

    crashes: int = 0
    hangs: int = 0
    failovers: int = 0
    duplicates: int = 0
    hand_backs: int = 0
    kills: int = 0
    requeues: int = 0


NOTHING_RARE = Budget()


class Told(NamedTuple):
    """What an observer of one attempt series has seen."""

    runs: int = 0
    lost: int = 0
    accepted: tuple[tuple[str, int], ...] = ()
    killed: bool = False


class World(NamedTuple):
    row: Row
    processes: tuple[Process, ...]
    budget: Budget
    reports: tuple[Report, ...] = ()
    lapses: tuple[Lapse, ...] = ()
    told: Told = Told()
    hint: bool = False  # the task's entry in a queue beside the table; only `pops_first` reads it


LeaseStep: TypeAlias = Step[World, Answer]


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """How much is explored. Timers are in ticks."""

    workers: int = 2
    max_attempts: int = 2
    lease: int = 1
    stall: int = 2
    backoff: int = 1
    leaders: int = 1
    in_flight: int = 2
    embedded: bool = False  # a restarted process takes the tasks of its dead self back at once
    budget: Budget = NOTHING_RARE


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """The defaults are the rules that we use; every other value is a defect."""

    report_checks: frozenset[Check] = frozenset({Check.STATE, Check.OWNER, Check.EPOCH})
    recovery_checks: frozenset[Check] = frozenset({Check.STATE, Check.EPOCH, Check.TIMER})
    decides_at_the_write: bool = True
    owners_are_unique: bool = True
    loss_costs_an_attempt: bool = True
    has_poison_rule: bool = True
    has_stall_timer: bool = True
    needs_offline: bool = False
    pops_first: bool = False
    counts_from_one: bool = False
    answers_again: bool = True
    kill_fences: bool = True


OUR_RULES = Rules()
