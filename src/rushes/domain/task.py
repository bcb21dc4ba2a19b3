"""The task state machine: its states, its moves, and who may make each.

Pure: no clock, no database. The store repeats every `source` below as a WHERE
clause, so a move that loses a race changes zero rows instead of lying.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from rushes.errors import IllegalTransition


class State(StrEnum):
    NEW = "new"  # exists; waits for its parents, or for its time
    READY = "ready"  # may be claimed
    RUNNING = "running"  # held under a lease
    DONE = "done"  # final
    ERROR = "error"  # final, until somebody requeues it
    KILLED = "killed"  # final: somebody stopped it
    SKIPPED = "skipped"  # final: not needed, or a parent failed


class Actor(StrEnum):
    ORCHESTRATOR = "orchestrator"
    WORKER = "worker"
    RECOVERY = "recovery"
    OPERATOR = "operator"


class Move(StrEnum):
    ADVANCE = "advance"
    CLAIM = "claim"
    EXTEND = "extend"
    COMPLETE = "complete"
    RETRY = "retry"
    FAIL = "fail"
    HAND_BACK = "hand back"
    EXPIRE = "expire"
    TIME_OUT = "time out"
    EXHAUST = "exhaust"
    KILL = "kill"
    SKIP = "skip"
    REQUEUE = "requeue"


class SkipReason(StrEnum):
    NOT_APPLICABLE = "not_applicable"  # children go on as if it were done
    UPSTREAM_FAILED = "upstream_failed"  # passed on to every child


class Rule(NamedTuple):
    source: frozenset[State]
    target: State
    actor: Actor


def _rule(source: str, target: State, actor: Actor) -> Rule:
    return Rule(frozenset(State(name) for name in source.split()), target, actor)


RULES: dict[Move, Rule] = {
    #                     from                    to             who
    Move.ADVANCE:   _rule("new",                  State.READY,   Actor.ORCHESTRATOR),
    Move.CLAIM:     _rule("ready",                State.RUNNING, Actor.WORKER),
    Move.EXTEND:    _rule("running",              State.RUNNING, Actor.WORKER),
    Move.COMPLETE:  _rule("running",              State.DONE,    Actor.WORKER),
    Move.RETRY:     _rule("running",              State.NEW,     Actor.WORKER),
    Move.FAIL:      _rule("running",              State.ERROR,   Actor.WORKER),
    Move.HAND_BACK: _rule("running",              State.READY,   Actor.WORKER),
    Move.EXPIRE:    _rule("running",              State.READY,   Actor.RECOVERY),
    Move.TIME_OUT:  _rule("running",              State.READY,   Actor.RECOVERY),
    Move.EXHAUST:   _rule("running",              State.ERROR,   Actor.RECOVERY),
    Move.KILL:      _rule("new ready running",    State.KILLED,  Actor.OPERATOR),
    Move.SKIP:      _rule("new",                  State.SKIPPED, Actor.ORCHESTRATOR),
    Move.REQUEUE:   _rule("error killed skipped", State.NEW,     Actor.OPERATOR),
}  # fmt: skip

FINAL = frozenset({State.DONE, State.ERROR, State.KILLED, State.SKIPPED})


def after(move: Move, state: State) -> State:
    """Return the state that `move` leads to, or raise IllegalTransition.

    >>> after(Move.CLAIM, State.READY)
    <State.RUNNING: 'running'>
    """
    rule = RULES[move]
    if state not in rule.source:
        raise IllegalTransition(f"cannot {move} a task that is {state}", state=state, move=move)
    return rule.target


@dataclass(frozen=True, slots=True)
class Claim:
    """A task held under a lease: what a worker needs to run it and to report it.

    `epoch` counts the claims of the task and never falls; unlike `attempt`, which a hand
    back gives back. With `owner`, the process that claimed, it fences every later write.
    """

    id: int
    epoch: int
    owner: str
    job_id: str
    kind: str
    step: str
    item: int
    attempt: int
    max_attempts: int
    lease_ms: int
    params: str
    checkpoint: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One row of `tasks`, as people look at it."""

    id: int
    job_id: str
    step: str
    item: int
    kind: str
    lane: str
    state: State
    optional: bool
    priority: int
    skip_reason: str | None
    attempt: int
    max_attempts: int
    losses: int
    open_parents: int
    lease_epoch: int
    lease_owner: str | None
    lease_expires_at: int | None
    last_owner: str | None
    progress: int
    phase: str | None
    message: str | None
    created_at: int
    run_at: int
    ready_at: int | None
    claimed_at: int | None
    progress_at: int | None
    finished_at: int | None
    params: str
    result: str | None
    failure: str | None


def claim_state(task: Task, *, now: int) -> str:
    """Return the claim state of the transcoding document, read off the row."""
    if task.state is State.DONE:
        return "completed"
    if task.state is State.ERROR:
        return "failed"
    if task.state is State.RUNNING:
        return "expired" if (task.lease_expires_at or 0) <= now else "claimed"
    return "retrying" if task.failure and task.state not in FINAL else "unclaimed"
