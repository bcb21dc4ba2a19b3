"""The database itself refuses rows that the state machine does not know.

Also: Python's words and the database's are the same.
"""

from __future__ import annotations

import re
import sqlite3

import psycopg
import pytest

from rushes.domain.asset import QualityStatus
from rushes.domain.failure import KilledBy
from rushes.domain.job import Status
from rushes.domain.person import KeyKind, Role
from rushes.domain.task import SkipReason, State
from rushes.domain.worker import Mode
from rushes.library.audit import Result
from rushes.media.clip import Mode as ClipMode
from rushes.media.entities import Kind as EntityKind
from rushes.store.database import Database
from rushes.store.migrate import migrations
from rushes.store.uploads import State as UploadState
from tests.world import World, sql

REFUSED = (sqlite3.IntegrityError, psycopg.IntegrityError)

OUTCOMES = {
    *("done", "retried", "failed", "handed_back", "expired", "timed_out"),
    *("exhausted", "restarted", "killed"),
}
WORDS = {
    "tasks.state": set(State),
    "tasks.skip_reason": set(SkipReason),
    "jobs.status": set(Status),
    "jobs.killed_by": set(KilledBy),
    "attempts.killed_by": set(KilledBy),
    "attempts.outcome": OUTCOMES,
    "workers.mode": set(Mode),
    "workers.type": {"local", "remote"},
    "logs.level": {"debug", "info", "warn", "error"},
    "renditions.status": set(QualityStatus),
    "clips.mode": set(ClipMode),
    "entities.kind": set(EntityKind),
    "users.role": set(Role),
    "keys.kind": set(KeyKind),
    "audit.result": set(Result),
    "uploads.state": set(UploadState),
    "uploads.duplicate": {"refuse", "allow"},
}

LEASE = "lease_owner = 'ann#1', lease_expires_at = 1, lease_epoch = 1, due_at = 1"
ENDED = "finished_at = 1, due_at = 1, lease_owner = NULL, lease_expires_at = NULL"
TASKS = {
    "new": "finished_at = NULL",
    "ready": "due_at = 1",
    "running": LEASE,
    "done": ENDED,
    "error": f"{ENDED}, failure = '{{}}'",
    "killed": ENDED,
    "skipped": f"{ENDED}, skip_reason = 'not_applicable'",
}
CLOSED = "finished_at = 2, open_tasks = 0"
JOBS = {
    "queued": "open_tasks = 1",
    "running": "open_tasks = 1",
    "completed": CLOSED,
    "failed": f"{CLOSED}, failure = '{{}}'",
    "killed": f"{CLOSED}, killed_at = 2, killed_by = 'user'",
}
ATTEMPT = (
    "INSERT INTO attempts (task_id, epoch, attempt, job_id, owner, claimed_at, ended_at, outcome,"
    " killed_by) SELECT 1, {n}, 1, id, 'ann#1', 1, 2, '{outcome}', {killed_by} FROM jobs"
)


@pytest.fixture
def row(world: World) -> World:
    """A database with one worker, one job and its one task, which is ready."""
    world.worker()
    world.submit()
    return world


def test_words_of_python_are_those_of_the_schema():
    """001-001, 003-026, 004-004, 004-014."""
    text = "\n".join(text for _, _, text in migrations())
    found: dict[str, set[str]] = {}
    for table, body in re.findall(r"CREATE TABLE (\w+) \((.*?)\n\)", text, re.DOTALL):
        for column, words in re.findall(r"CHECK \((\w+) IN \(([^)]*)\)\)", body):
            found[f"{table}.{column}"] = set(re.findall(r"'(\w+)'", words))

    assert found == WORDS


@pytest.mark.parametrize("state", [*State, "paused"])
def test_task_can_have_every_state_and_no_other(row: World, state: str):
    """001-001, 001-002, 003-026."""
    statement = f"UPDATE tasks SET state = '{state}', {TASKS.get(state, 'due_at = 1')}"

    _check(row.db, statement, allowed=state in set(State))


@pytest.mark.parametrize("status", [*Status, "pending"])
def test_job_can_have_every_status_and_no_other(row: World, status: str):
    """004-004."""
    statement = f"UPDATE jobs SET status = '{status}', {JOBS.get(status, 'open_tasks = 1')}"

    _check(row.db, statement, allowed=status in set(Status))


@pytest.mark.parametrize("mode", [*Mode, "asleep"])
def test_worker_can_have_every_mode_and_no_other(row: World, mode: str):
    """000-024, 003-016."""
    _check(row.db, f"UPDATE workers SET mode = '{mode}'", allowed=mode in set(Mode))


@pytest.mark.parametrize("reason", [*SkipReason, "bored"])
def test_task_can_be_skipped_for_every_reason_and_no_other(row: World, reason: str):
    statement = f"UPDATE tasks SET state = 'skipped', {ENDED}, skip_reason = '{reason}'"

    _check(row.db, statement, allowed=reason in set(SkipReason))


@pytest.mark.parametrize("word", [*KilledBy, "eve"])
def test_job_can_be_killed_by_every_killer_and_no_other(row: World, word: str):
    """004-014."""
    killed = f"status = 'killed', {CLOSED}, killed_at = 2, killed_by = '{word}'"

    _check(row.db, f"UPDATE jobs SET {killed}", allowed=word in set(KilledBy))


def test_attempt_can_end_in_every_way_and_no_other(row: World):
    for n, outcome in enumerate([*sorted(OUTCOMES), "lost"]):
        statement = ATTEMPT.format(n=n, outcome=outcome, killed_by="NULL")
        _check(row.db, statement, allowed=outcome in OUTCOMES)


def test_attempt_can_be_killed_by_every_killer_and_no_other(row: World):
    """004-014 (C61)."""
    for n, word in enumerate([*KilledBy, "eve"]):
        statement = ATTEMPT.format(n=n, outcome="expired", killed_by=f"'{word}'")
        _check(row.db, statement, allowed=word in set(KilledBy))


@pytest.mark.parametrize(
    "constraint, change",
    [
        ("lease_shape", "lease_owner = 'ann#1'"),
        ("lease_shape", "lease_expires_at = 1"),
        ("lease_shape", "state = 'running', lease_epoch = 1"),
        ("lease_shape", "state = 'running', lease_epoch = 1, lease_owner = 'ann#1'"),
        ("lease_shape", "state = 'done', finished_at = 1, lease_owner = 'ann#1'"),
        ("claim_shape", f"state = 'running', {LEASE}, lease_epoch = 0"),
        ("ready_shape", "due_at = NULL"),
        ("ready_shape", "open_parents = 1"),
        ("ready_shape", "each = 'values'"),
        ("ready_shape", f"state = 'running', {LEASE}, open_parents = 1"),
        ("final_shape", "state = 'done'"),
        ("final_shape", "finished_at = 1"),
        ("skip_shape", "skip_reason = 'not_applicable'"),
        ("skip_shape", f"state = 'skipped', {ENDED}"),
        ("error_shape", f"state = 'error', {ENDED}"),
        ("attempt_shape", "attempt = -1"),
        ("attempt_shape", "attempt = max_attempts + 1"),
        ("max_attempts", "max_attempts = 0"),
        ("open_parents", "open_parents = -1, state = 'new'"),
        ("progress", "progress = 101"),
        ("progress", "progress = -1"),
        ("priority", "priority = 11"),
    ],
)
def test_row_of_a_task_that_cannot_be_is_refused(row: World, constraint: str, change: str):
    """003-026, 003-035, 003-037 (C12, C13, C56)."""
    change = change.replace("lease_epoch = 1, due_at = 1, lease_epoch = 0", "due_at = 1")

    with pytest.raises(REFUSED, match=constraint):
        sql(row.db, f"UPDATE tasks SET {change}")


@pytest.mark.parametrize(
    "constraint, change",
    [
        ("finished_shape", "status = 'completed'"),
        ("finished_shape", "finished_at = 1, open_tasks = 0"),
        ("closed_shape", "open_tasks = 0"),
        ("closed_shape", "status = 'completed', finished_at = 1"),
        ("killed_shape", f"status = 'killed', {CLOSED}"),
        ("killed_shape", f"status = 'killed', {CLOSED}, killed_at = 1"),
        ("killed_shape", f"status = 'killed', {CLOSED}, killed_by = 'user'"),
        ("killed_shape", "killed_at = 1, killed_by = 'user'"),
        ("failed_shape", f"status = 'failed', {CLOSED}"),
        ("time_order", f"status = 'completed', {CLOSED}, started_at = 3"),
        ("priority", "priority = 11"),
        ("priority", "priority = -1"),
        ("open_tasks", "open_tasks = -1"),
    ],
)
def test_row_of_a_job_that_cannot_be_is_refused(row: World, constraint: str, change: str):
    """003-026, 003-036, 004-013 (C14): a failed or killed job always says who, when and why."""
    with pytest.raises(REFUSED, match=constraint):
        sql(row.db, f"UPDATE jobs SET {change}")


def test_two_tasks_cannot_stand_for_one_entry_of_a_step(row: World):
    job_id = row.submit()

    with pytest.raises(REFUSED, match=r"tasks_job_id_step_item_key|UNIQUE.*tasks\.job_id"):
        sql(row.db, f"UPDATE tasks SET job_id = '{job_id}'")


def test_two_active_jobs_cannot_have_one_dedupe_key(row: World):
    """002-052 (C30)."""
    row.submit()

    with pytest.raises(REFUSED, match=r"jobs_one_active|UNIQUE.*jobs\.dedupe_key"):
        sql(row.db, "UPDATE jobs SET dedupe_key = 'asset'")


def test_attempt_of_one_claim_is_recorded_once(row: World):
    sql(row.db, ATTEMPT.format(n=1, outcome="done", killed_by="NULL"))

    with pytest.raises(REFUSED, match=r"attempts_pkey|UNIQUE.*attempts\.task_id"):
        sql(row.db, ATTEMPT.format(n=1, outcome="expired", killed_by="NULL"))


def _check(db: Database, statement: str, *, allowed: bool) -> None:
    if allowed:
        sql(db, statement)
    else:
        with pytest.raises(REFUSED):
            sql(db, statement)
