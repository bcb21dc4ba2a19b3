"""The state machine as a table: every move from every state, and who may make it."""

from __future__ import annotations

from itertools import product

import pytest

from rushes.domain.event import OF_MOVE
from rushes.domain.task import FINAL, RULES, Actor, Move, State, Task, after, claim_state
from rushes.errors import IllegalTransition
from tests.world import NOON

LEGAL = {
    ("advance", "new"): "ready",
    ("claim", "ready"): "running",
    ("extend", "running"): "running",
    ("complete", "running"): "done",
    ("retry", "running"): "new",
    ("fail", "running"): "error",
    ("hand back", "running"): "ready",
    ("expire", "running"): "ready",
    ("time out", "running"): "ready",
    ("exhaust", "running"): "error",
    ("kill", "new"): "killed",
    ("kill", "ready"): "killed",
    ("kill", "running"): "killed",
    ("skip", "new"): "skipped",
    ("requeue", "error"): "new",
    ("requeue", "killed"): "new",
    ("requeue", "skipped"): "new",
}


@pytest.mark.parametrize("move, state", list(product(Move, State)))
def test_move_leads_where_the_documents_say_or_nowhere(move: Move, state: State):
    """001-001, 001-002, 001-007, 002-045, 002-046, 003-030, 003-032, 003-033, 003-074."""
    target = LEGAL.get((move, state))

    if target is not None:
        assert after(move, state) == target
    else:
        with pytest.raises(IllegalTransition, match=f"cannot {move} a task that is {state}"):
            after(move, state)


def test_nobody_but_an_operator_moves_a_final_task():
    """002-047, 003-031, 003-034."""
    movers = {rule.actor for rule in RULES.values() if rule.source & FINAL}

    assert movers == {Actor.OPERATOR}


def test_done_task_never_moves_again():
    """002-047, 003-074."""
    assert not [move for move in Move if State.DONE in RULES[move].source]


def test_orchestrator_alone_decides_what_is_ready_first_and_never_marks_work_done():
    """001-003, 001-004."""
    firsts = {m for m, rule in RULES.items() if State.NEW in rule.source and rule.target == "ready"}
    targets = {rule.target for rule in RULES.values() if rule.actor is Actor.ORCHESTRATOR}

    assert {RULES[move].actor for move in firsts} == {Actor.ORCHESTRATOR}
    assert targets == {State.READY, State.SKIPPED}


def test_workers_alone_take_work_and_finish_it():
    """001-005, 001-006."""
    takes = {rule.actor for rule in RULES.values() if rule.target is State.RUNNING}
    finishes = {rule.actor for rule in RULES.values() if rule.target is State.DONE}
    sources = {s for rule in RULES.values() if rule.actor is Actor.WORKER for s in rule.source}

    assert takes == finishes == {Actor.WORKER}
    assert sources == {State.READY, State.RUNNING}


def test_every_move_but_extend_is_an_event():
    assert set(Move) - set(OF_MOVE) == {Move.EXTEND}


@pytest.mark.parametrize(
    "state, facts, word",
    [
        ("new", {}, "unclaimed"),
        ("ready", {}, "unclaimed"),
        ("running", {"lease_expires_at": NOON + 1}, "claimed"),
        ("running", {"lease_expires_at": NOON}, "expired"),
        ("done", {}, "completed"),
        ("error", {"failure": "{}"}, "failed"),
        ("new", {"failure": "{}"}, "retrying"),
        ("ready", {"failure": "{}"}, "retrying"),
    ],
)
def test_claim_state_is_read_off_the_row(state: str, facts: dict[str, object], word: str):
    """000-018…023, 000-035."""
    assert claim_state(_task(state, **facts), now=NOON) == word


@pytest.mark.parametrize("state", ["killed", "skipped"])
def test_task_that_will_not_run_is_not_called_retrying(state: str):
    """000-023."""
    assert claim_state(_task(state, failure="{}"), now=NOON) == "unclaimed"


def _task(state: str, **facts: object) -> Task:
    columns = dict.fromkeys(Task.__dataclass_fields__)
    return Task(**{**columns, "state": State(state), **facts})
