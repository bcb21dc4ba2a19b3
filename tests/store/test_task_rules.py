"""The whole table: every move from every state, tried by the real statements on both databases.

The row says yes to every statement but for its state: owner, epoch, times and attempts fit. The
database's own CHECKs, which would forbid most of these rows, stand aside for the moment.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any, NamedTuple

import pytest

from rushes.domain.graph import Step
from rushes.domain.task import RULES, Move, State
from rushes.store.database import Database, Transaction
from rushes.store.queries import load
from tests.store.test_queries import changes_state
from tests.world import NOON, World

STEPS = {"split": Step(), "noop": Step(after=("split",))}
SHAPES = ("lease", "claim", "ready", "final", "skip", "error", "attempt")
FAILURE = '{"error_code": "INTERNAL"}'


class Target(NamedTuple):
    """The row that is tried, its parent, and the claim that fits it."""

    id: int
    parent: int
    job_id: str
    owner: str

    @property
    def claim(self) -> dict[str, object]:
        told = {"result": "null", "failure": FAILURE, "delay_ms": 0}
        return {"id": self.id, "epoch": 1, "losses": 0, **told}


Params = Callable[[Target], dict[str, Any]]


class Attempt(NamedTuple):
    move: Move
    statements: tuple[str, ...]
    params: Params
    open_parents: int = 0
    stall_ms: int = 10**12


def _ids(target: Target) -> dict[str, Any]:
    return {"tasks": [target.id]}


def _children(target: Target) -> dict[str, Any]:
    return {"parents": [target.parent]}


def _report(target: Target) -> dict[str, Any]:
    return {"owner": target.owner, "claims": [target.claim]}


def _loss(target: Target) -> dict[str, Any]:
    return {"claims": [target.claim], "give_back": 0, "lost": 1, "certain": False}


def _job(target: Target) -> dict[str, Any]:
    return {"job_id": target.job_id, "task_id": None, "kind": None}


def _offer(target: Target) -> dict[str, Any]:
    limits = {"lease_ms": 60_000, "grace_ms": 0, "late_ms": 45_000}
    return {"owner": target.owner, "lane": "default", "n": 1, **limits}


ATTEMPTS = {
    "advance": Attempt(Move.ADVANCE, ("advance",), _ids),
    "release": Attempt(Move.ADVANCE, ("release_children",), _children, open_parents=1),
    "claim": Attempt(Move.CLAIM, ("claim",), _offer),
    "extend": Attempt(Move.EXTEND, ("extend",), _report),
    "complete": Attempt(Move.COMPLETE, ("complete",), _report),
    "retry": Attempt(Move.RETRY, ("retry",), _report),
    "fail": Attempt(Move.FAIL, ("fail",), _report),
    "hand back": Attempt(Move.HAND_BACK, ("hand_back",), _report),
    "expire": Attempt(Move.EXPIRE, ("expire",), _loss),
    "time out": Attempt(Move.TIME_OUT, ("expire",), _loss, stall_ms=0),
    "exhaust": Attempt(Move.EXHAUST, ("exhaust",), _loss),
    "kill": Attempt(Move.KILL, ("kill_running", "kill_waiting"), _job),
    "skip": Attempt(Move.SKIP, ("skip",), _ids),
    "skip children": Attempt(Move.SKIP, ("skip_children",), _children),
    "requeue": Attempt(Move.REQUEUE, ("requeue",), _job),
}


@pytest.mark.parametrize("name, state", list(product(ATTEMPTS, State)))
def test_store_moves_a_task_exactly_when_the_table_does(world: World, name: str, state: State):
    """001-002, 001-005, 001-007, 001-013, 002-045…047, 003-025, 003-026, 003-032…034, 003-074."""
    attempt = ATTEMPTS[name]
    target = _submitted(world)

    moved, after = _try(world.db, attempt, target, state)

    rule = RULES[attempt.move]
    assert moved == (state in rule.source)
    assert after == (rule.target if state in rule.source else state)


def test_every_move_is_tried():
    assert {attempt.move for attempt in ATTEMPTS.values()} == set(Move)


def test_every_statement_that_changes_a_state_is_tried(db: Database):
    tried = {name for attempt in ATTEMPTS.values() for name in attempt.statements}
    changes = {name for name, text in load(db.dialect).items() if changes_state(text)}

    assert changes - tried == set()


def _submitted(world: World) -> Target:
    owner = world.worker()
    job_id = world.submit(STEPS)
    parent, child = world.tasks(job_id)
    return Target(child.id, parent.id, job_id, owner)


class _Undo(Exception):
    pass


def _try(db: Database, attempt: Attempt, target: Target, state: State) -> tuple[bool, str]:
    """Put the row into `state`, try the move, undo everything. Returns (moved, state after)."""
    seen: list[tuple[bool, str]] = []

    def work(tx: Transaction) -> None:
        _loosen(tx, db)
        _put(tx, attempt, target, state)
        moved = [tx.rows(name, **attempt.params(target)) for name in attempt.statements]
        [row] = tx.rows("task", id=target.id)
        seen.append((any(moved), row["state"]))
        raise _Undo

    with pytest.raises(_Undo):
        db.transact(work, now=NOON)
    return seen[0]


def _loosen(tx: Transaction, db: Database) -> None:
    if db.dialect == "sqlite":
        tx._connection.execute("PRAGMA ignore_check_constraints = ON")
    else:
        drops = ", ".join(f"DROP CONSTRAINT {shape}_shape" for shape in SHAPES)
        tx._connection.execute(f"ALTER TABLE tasks {drops}")


def _put(tx: Transaction, attempt: Attempt, target: Target, state: State) -> None:
    reason = "'upstream_failed'" if state is State.SKIPPED else "NULL"
    tx._connection.execute(
        f"""
        UPDATE tasks
           SET state = '{state}', skip_reason = {reason}, failure = '{FAILURE}',
               open_parents = {attempt.open_parents}, due_at = 1, ready_at = 1, run_at = 1,
               attempt = 1, lease_epoch = 1, lease_owner = '{target.owner}', last_owner = 'x',
               lease_expires_at = 1, claimed_at = 1, progress_at = 1, stall_ms = {attempt.stall_ms}
         WHERE id = {target.id}
        """
    )
    tx._connection.execute(
        f"UPDATE tasks SET state = 'done', finished_at = 1 WHERE id = {target.parent}"
    )
