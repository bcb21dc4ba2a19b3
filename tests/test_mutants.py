"""Tests that cannot fail prove nothing: each guard is taken out of the SQL, and a test must object.

A mutant is a change to the text of loaded statements, for the length of one check. The checks are
ordinary tests, called by name; each passes on the true text and fails on the mutant.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from typing import Any

import psycopg
import pytest

from rushes.domain.task import State
from rushes.store.database import Database, open_database
from rushes.store.queries import Dialect, load
from tests.conftest import empty
from tests.kinds import KINDS
from tests.races import test_fan_in_races as fan_in
from tests.races import test_task_races as races
from tests.store import test_feed as feed
from tests.store import test_task_rules as rules
from tests.world import World

Change = Callable[[str], str]
Check = Callable[[World], None]
BROKEN = (sqlite3.OperationalError, sqlite3.ProgrammingError, psycopg.ProgrammingError)
REPORTS = ("complete", "fail", "retry", "hand_back", "extend")


def without(*patterns: str) -> Change:
    """Take out every piece of a statement that one of the patterns matches."""

    def change(statement: str) -> str:
        for pattern in patterns:
            statement, found = re.subn(pattern, "", statement)
            assert found, f"{pattern} is not in {statement}"
        return statement

    return change


def instead(text: str) -> Change:
    return lambda _: text


STATE = r"AND tasks\.state = 'running'"
OWNER = r"AND tasks\.lease_owner = (:owner|%\(owner\)s)"
EPOCH = r"AND tasks\.lease_epoch = c\.epoch"
LOSSES = r"AND tasks\.losses = c\.losses"
ABANDONED = r"AND \((:certain|%\(certain\)s) OR CASE[\s\S]*?END\s+IS NOT NULL\)"

NOT_EXISTS = """
UPDATE tasks
   SET state = 'ready', open_parents = 0, ready_at = %(now)s, due_at = %(now)s + wait_ms
 WHERE id IN (SELECT child_id
                FROM edges
                JOIN (SELECT CAST(value AS bigint) AS id
                        FROM json_array_elements_text(CAST(%(parents)s AS json))) AS p
                  ON edges.parent_id = p.id)
   AND state = 'new'
   AND NOT EXISTS (SELECT 1
                     FROM edges
                     JOIN tasks AS parent ON parent.id = edges.parent_id
                    WHERE edges.child_id = tasks.id AND parent.state <> 'done')
RETURNING id, job_id, lease_epoch AS epoch, lane, state, open_parents, each
"""
LARGEST_ID = """
SELECT CAST(xid AS text) AS xid, id, job_id, type, at, data
  FROM events
 WHERE id > %(id)s AND CAST(%(xid)s AS text) IS NOT NULL
   AND (CAST(%(job_id)s AS uuid) IS NULL OR job_id = %(job_id)s)
 ORDER BY id LIMIT %(n)s
"""


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """What is changed in which statements, and the test that must object."""

    change: Change
    statements: tuple[str, ...]
    check: Check
    dialects: tuple[Dialect, ...] = ("sqlite", "postgres")


def stale_claim(world: World) -> None:
    races.test_stale_claim_cannot_complete_after_recovery(world, "slow")


def complete_what_was_killed(world: World) -> None:
    rules.test_store_moves_a_task_exactly_when_the_table_does(world, "complete", State.KILLED)


MUTANTS: dict[str, Mutant] = {
    "no epoch check": Mutant(
        change=without(EPOCH),
        statements=REPORTS,
        check=stale_claim,
    ),
    "no owner check": Mutant(
        change=without(OWNER),
        statements=REPORTS,
        check=races.test_worker_cannot_complete_the_claim_of_another,
    ),
    "no state guard": Mutant(
        change=without(STATE),
        statements=("complete",),
        check=complete_what_was_killed,
    ),
    "recovery checks only the id": Mutant(
        change=without(STATE, EPOCH, LOSSES, ABANDONED),
        statements=("expire", "exhaust"),
        check=races.test_completion_between_the_look_and_the_move_of_recovery_stands,
    ),
    "recovery of the last attempt checks only the id": Mutant(
        change=without(STATE, EPOCH, LOSSES, ABANDONED),
        statements=("expire", "exhaust"),
        check=races.test_completion_of_the_last_attempt_between_look_and_move_stands,
    ),
    "recovery does not look at the lease again": Mutant(
        change=without(ABANDONED),
        statements=("expire", "exhaust"),
        check=races.test_heartbeat_between_the_look_and_the_move_of_recovery_keeps_the_task,
    ),
    "recovery does not look at the epoch": Mutant(
        change=without(EPOCH, ABANDONED),
        statements=("expire", "exhaust"),
        check=races.test_new_claim_between_the_look_and_the_move_of_recovery_is_not_taken,
    ),
    "no SKIP LOCKED": Mutant(
        change=without(r"SKIP LOCKED"),
        statements=("claim",),
        check=races.test_rival_passes_a_task_that_is_being_claimed_and_takes_the_next,
        dialects=("postgres",),
    ),
    "NOT EXISTS instead of the counter": Mutant(
        change=instead(NOT_EXISTS),
        statements=("release_children",),
        check=fan_in.test_parents_that_are_both_about_to_commit_wake_the_finalizer_once,
        dialects=("postgres",),
    ),
    "feed read by the largest id": Mutant(
        change=instead(LARGEST_ID),
        statements=("feed",),
        check=feed.test_no_reader_passes_a_writer_that_has_not_committed,
        dialects=("postgres",),
    ),
}

CASES = [
    pytest.param(name, dialect, marks=[pytest.mark.postgres] if dialect == "postgres" else [])
    for name, mutant in MUTANTS.items()
    for dialect in mutant.dialects
]


@pytest.mark.parametrize("name, dialect", CASES)
def test_mutant_turns_its_check_red(name: str, dialect: Dialect, request: pytest.FixtureRequest):
    """000-095, 000-111, 000-117, 000-126, 001-008, 001-013, 001-014, 004-001."""
    mutant = MUTANTS[name]

    with _fresh_world(dialect, request) as world:
        mutant.check(world)

    with _fresh_world(dialect, request) as world, _mutated(mutant, dialect):
        objection = _objection(mutant.check, world)

    assert objection is not None
    assert not isinstance(objection, BROKEN), "the mutant cannot run at all"


def test_statements_are_whole_again_after_a_mutant():
    before = dict(load("sqlite"))
    mutant = MUTANTS["no epoch check"]

    with _mutated(mutant, "sqlite"):
        changed = {name for name, text in load("sqlite").items() if text != before[name]}

    assert changed == set(mutant.statements)
    assert load("sqlite") == before


def _objection(check: Check, world: World) -> BaseException | None:
    """Run a check. Returns what it raised, be it an assertion or the database's own refusal."""
    try:
        check(world)
    except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001
        return error
    return None


@contextmanager
def _mutated(mutant: Mutant, dialect: Dialect) -> Iterator[None]:
    """Change the loaded statements, which every transaction reads anew."""
    statements = load(dialect)
    original = dict(statements)
    try:
        for name in mutant.statements:
            statements[name] = mutant.change(original[name])
        yield
    finally:
        statements.update(original)


@contextmanager
def _fresh_world(dialect: Dialect, request: pytest.FixtureRequest) -> Iterator[World]:
    with ExitStack() as stack:
        if dialect == "postgres":
            database: Database = request.getfixturevalue("postgres_database")
            empty(database)
        else:
            folder: Any = request.getfixturevalue("tmp_path_factory").mktemp("mutant")
            database = stack.enter_context(closing(open_database(f"sqlite:///{folder}/rushes.db")))
            database.migrate()
        yield World(database, KINDS)
