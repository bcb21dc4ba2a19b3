"""The doctor says nothing about a healthy history, and names each defect by its invariant."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest

from rushes.domain.graph import Step
from rushes.domain.task import Claim, State
from rushes.engine import doctor, leader, operator, recovery
from rushes.engine.doctor import Finding, Severity, examine, wait_for_quiet
from rushes.store.database import Database, open_database
from tests.conftest import empty
from tests.kinds import KINDS
from tests.postgres import Cluster
from tests.world import World, sql

FAN = {
    "split": Step(),
    "part": Step(after=("split",), each="parts", optional=True),
    "join": Step(after=("part",)),
}
LINE = {"split": Step(), "join": Step(after=("split",))}


def run_all(world: World, owner: str) -> None:
    while claims := world.claim(owner, 4):
        for claim in claims:
            finish(world, claim)


def finish(world: World, claim: Claim) -> None:
    assert world.complete(claim, {"parts": [{}, {}, {}]} if claim.kind == "split" else None)


def keep_loops(world: World) -> None:
    leader.lead(world.engine, "orchestrator", "me", lease_ms=4_000, now=world.now)
    world.recover()


def test_healthy_history_has_no_findings(world: World):
    ann, bob = world.worker("ann"), world.worker("bob")
    done, killed, failed, poison = (world.submit(FAN) for _ in range(4))
    [claim] = world.claim(ann)
    world.fail(claim)
    world.tick(60)
    world.advance()
    for claim in world.claim(ann, 4):
        if claim.job_id == poison:
            world.hand_back(claim)
        elif claim.job_id == failed:
            world.fail(claim, retryable=False)
        else:
            finish(world, claim)
    operator.kill(world.engine, killed, name="eve", now=world.now)
    world.claim(bob, 4)
    world.tick(61)
    world.recover()
    world.claim(ann, 2)
    recovery.take_back(world.engine, [ann], now=world.now)
    [late, *_] = world.claim(bob, 4)
    world.beat(late, progress=40, checkpoint="half")
    world.tick(20 * 60)
    world.recover()
    world.tick(61)
    world.recover()
    operator.requeue(world.engine, failed, now=world.now)
    operator.requeue(world.engine, killed, now=world.now)
    run_all(world, ann)
    for _ in range(3):
        world.tick(400)
        world.advance()
        run_all(world, ann)

    report = examine(world.engine, strict=True, now=world.now)

    assert report.findings == []
    assert report.checked["jobs"] == 4
    assert report.checked["tasks"] >= 12
    assert report.checked["events"] > 20
    assert {world.job(id).status for id in (done, killed, failed)} == {"completed"}


def test_live_system_at_work_has_no_findings(world: World):
    ann = world.worker()
    jobs = [world.submit(FAN) for _ in range(3)]
    claims = world.claim(ann, 3)
    finish(world, claims[0])
    world.fail(claims[1])
    operator.set_priority(world.engine, jobs[2], 9, now=world.now)
    keep_loops(world)

    for strict in (False, True):
        report = examine(world.engine, strict=strict, now=world.now)

        assert report.findings == []
        assert report.checked["jobs"] == 3


def test_large_history_is_read_in_batches(world: World, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(doctor, "PAGE", 4)
    monkeypatch.setattr(doctor, "BATCH_TASKS", 5)
    for _ in range(9):
        world.submit(LINE)
    run_all(world, world.worker())

    report = examine(world.engine, strict=True, now=world.now)

    assert report.findings == []
    assert (report.checked["jobs"], report.checked["tasks"]) == (9, 18)


def test_leases_that_ran_out_during_a_standstill_are_given_their_grace(world: World):
    ann = world.worker()
    world.submit()
    world.claim(ann)
    keep_loops(world)
    world.tick(3_600)
    assert world.recover().in_grace

    report = examine(world.engine, strict=False, now=world.now)

    assert report.violations == []


def test_quiet_is_reached_when_nothing_can_move(world: World):
    assert wait_for_quiet(world.engine, timedelta(0))
    world.submit(run_at=(int(time.time()) + 3_600) * 1_000)
    assert wait_for_quiet(world.engine, timedelta(0))
    world.submit()
    assert not wait_for_quiet(world.engine, timedelta(seconds=0.15))


@dataclass
class Patient:
    """A world whose database lets its rows be made wrong, with one task in each situation."""

    world: World
    ids: dict[str, object]

    def harm(self, *statements: str) -> None:
        for statement in statements:
            sql(self.world.db, statement.format(**self.ids, now=self.world.now))

    def findings(self, *, strict: bool = True) -> list[Finding]:
        return examine(self.world.engine, strict=strict, now=self.world.now).findings


@pytest.fixture(scope="module")
def unchecked_postgres(
    postgres: Cluster, postgres_namespace: str, postgres_template: str
) -> Iterator[Database]:
    """A PostgreSQL database of this module's own, without CHECK constraints."""
    name = f"{postgres_namespace}_unchecked"
    url = postgres.create_database(name, template=postgres_template)
    with closing(open_database(url)) as database:
        with database.connect() as connection:  # type: ignore[attr-defined]
            checks = connection.execute(
                "SELECT CAST(CAST(conrelid AS regclass) AS text) AS at, conname"
                "  FROM pg_constraint WHERE contype = 'c' AND conrelid <> 0"
                "   AND connamespace = CAST('public' AS regnamespace)"
            ).fetchall()
            for row in checks:
                connection.execute(f"ALTER TABLE {row['at']} DROP CONSTRAINT {row['conname']}")
        yield database
    postgres.drop_database(name)


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def unchecked(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    if request.param == "postgres":
        database: Database = request.getfixturevalue("unchecked_postgres")
        empty(database)
        yield database
        return
    with closing(open_database(f"sqlite:///{tmp_path / 'unchecked.db'}")) as database:
        database.migrate()
        database._writer.execute("PRAGMA ignore_check_constraints = ON")  # type: ignore[attr-defined]
        yield database


@pytest.fixture
def patient(unchecked: Database) -> Patient:
    """Jobs that ended in each way, and tasks that wait, run and are held back. All in order."""
    world = World(unchecked, KINDS)
    ann = world.worker()
    done = world.submit(LINE, idempotency_key="k")
    run_all(world, ann)
    failed = world.submit()
    [claim] = world.claim(ann)
    world.fail(claim, retryable=False)
    killed = world.submit()
    operator.kill(world.engine, killed, name="eve", now=world.now)
    active = world.submit({**LINE, "noop": Step(), "heavy": Step()})
    backoff, running = world.claim(ann, 2)
    world.fail(backoff)
    keep_loops(world)
    ids = {task.step: task.id for task in world.tasks(active)}
    patient = Patient(
        world,
        {
            "done_job": done,
            "failed_job": failed,
            "killed_job": killed,
            "active": active,
            "split": world.tasks(done)[0].id,
            "join": world.tasks(done)[1].id,
            "failed": claim.id,
            "backoff": backoff.id,
            "running": running.id,
            "waiting": ids["join"],
            "ready": ids["heavy"],
            "ann": ann,
        },
    )
    assert patient.findings() == []
    states = {name: world.task(patient.ids[name]).state for name in ("backoff", "waiting", "ready")}
    assert states == {"backoff": State.NEW, "waiting": State.NEW, "ready": State.READY}
    return patient


VIOLATIONS = {
    "a lease that ran out long ago": (
        "I1",
        "running long after the lease ran out",
        "UPDATE tasks SET lease_expires_at = {now} - 20001 WHERE id = {running}",
    ),
    "a task that nobody advances": (
        "I1",
        "not ready although nothing is in the way and the time has come",
        "UPDATE tasks SET run_at = {now} - 10001 WHERE id = {backoff}",
    ),
    "too many open parents": (
        "I1",
        "the count of open parents is wrong",
        "UPDATE tasks SET open_parents = 2 WHERE id = {waiting}",
    ),
    "too few open parents": (
        "I1",
        "the count of open parents is wrong",
        "UPDATE tasks SET open_parents = 0, run_at = {now} WHERE id = {waiting}",
    ),
    "a task without a job": (
        "I1",
        "belongs to nothing that exists",
        "DELETE FROM jobs WHERE id = '{failed_job}'",
    ),
    "an edge to nowhere": (
        "I1",
        "belongs to nothing that exists",
        "INSERT INTO edges (parent_id, child_id) VALUES ({split}, 999)",
    ),
    "a lost task": (
        "I1",
        "the task is told of but does not exist",
        "DELETE FROM edges WHERE child_id = {join}",
        "DELETE FROM attempts WHERE task_id = {join}",
        "DELETE FROM tasks WHERE id = {join}",
    ),
    "two completions of one task": (
        "I2",
        "not exactly one completion, of the last claim",
        """
        INSERT INTO attempts (task_id, epoch, attempt, job_id, owner, claimed_at, ended_at, outcome)
        VALUES ({split}, 2, 2, '{done_job}', '{ann}', {now}, {now}, 'done')
        """,
    ),
    "a completion of an earlier claim": (
        "I2",
        "not exactly one completion, of the last claim",
        "UPDATE tasks SET lease_epoch = 2 WHERE id = {split}",
    ),
    "a completion of a task that is not done": (
        "I2",
        "not exactly one completion, of the last claim",
        "UPDATE attempts SET outcome = 'done' WHERE task_id = {failed}",
    ),
    "a completion that is told twice": (
        "I2",
        "complete of a task that was done",
        """
        INSERT INTO events (job_id, type, at, data)
        SELECT job_id, type, at, data FROM events WHERE type = 'task.done'
        """,
    ),
    "a final state that was changed": (
        "I3",
        "the task is new, its events end with error",
        "UPDATE tasks SET state = 'new', finished_at = NULL WHERE id = {failed}",
    ),
    "a move of a final task": (
        "I3",
        "expire of a task that was done",
        """
        INSERT INTO events (job_id, type, at, data)
        VALUES ('{done_job}', 'task.expired', {now}, '{{"cause":"expired","tasks":[[{split},1]]}}')
        """,
    ),
    "a state without a move": (
        "I4",
        "the task is ready, its events end with new",
        "UPDATE tasks SET state = 'ready', due_at = {now} WHERE id = {backoff}",
    ),
    "a move that the table forbids": (
        "I4",
        "advance of a task that was running",
        "UPDATE events SET type = 'task.ready' WHERE type = 'task.failed'",
    ),
    "a report of another worker": (
        "I4",
        "retry by another worker than the one that claimed it",
        "UPDATE events SET data = replace(data, '{ann}', 'bob#1') WHERE type = 'task.retrying'",
    ),
    "a state that is none": (
        "I4",
        "the task is lost, its events end with ready",
        "UPDATE tasks SET state = 'lost' WHERE id = {ready}",
    ),
    "a task that did not wait for its parent": (
        "I4",
        "went on although a parent is in the way",
        "UPDATE tasks SET optional = TRUE, lease_epoch = 0, state = 'new' WHERE id = {split}",
    ),
    "an epoch that was passed over": (
        "I5",
        "claim with epoch 2 after epoch 0",
        """
        UPDATE events SET data = replace(data, ',1]]', ',2]]')
         WHERE type = 'task.claimed' AND job_id = '{failed_job}'
        """,
    ),
    "a lease of a task that does not run": (
        "I5",
        "the lease columns are not set exactly while running",
        "UPDATE tasks SET lease_owner = '{ann}' WHERE id = {ready}",
    ),
    "a lease of somebody who did not claim": (
        "I5",
        "the lease is not that of the last claim in the events",
        "UPDATE tasks SET lease_owner = 'bob#1' WHERE id = {running}",
    ),
    "more attempts than allowed": (
        "I6",
        "attempts and claims do not add up",
        "UPDATE tasks SET attempt = 4 WHERE id = {running}",
    ),
    "an attempt that was not counted": (
        "I6",
        "attempt 0, by its events 1",
        "UPDATE tasks SET attempt = 0 WHERE id = {backoff}",
    ),
    "an attempt that left no row": (
        "I6",
        "attempts and claims do not add up",
        "DELETE FROM attempts WHERE task_id = {failed}",
    ),
    "a task that was given up too soon": (
        "I6",
        "in error with attempts left and an error that may be retried",
        """
        UPDATE tasks SET failure = replace(failure, '"retryable": false', '"retryable": true')
         WHERE id = {failed}
        """,
    ),
    "a wrong status": (
        "I7",
        "the status of the job is not what its tasks say",
        "UPDATE jobs SET status = 'queued' WHERE id = '{active}'",
    ),
    "a wrong count of open tasks": (
        "I7",
        "the counters of the job are not those of its tasks",
        "UPDATE jobs SET open_tasks = open_tasks + 1 WHERE id = '{active}'",
    ),
    "a wrong count of failed tasks": (
        "I7",
        "the counters of the job are not those of its tasks",
        "UPDATE jobs SET failed_tasks = 0 WHERE id = '{failed_job}'",
    ),
    "a wrong count of warnings": (
        "I7",
        "the counters of the job are not those of its tasks",
        "UPDATE jobs SET warnings = 1 WHERE id = '{done_job}'",
    ),
    "a failed job without a code": (
        "I11",
        "no code, or not who, when and why",
        "UPDATE jobs SET failure = '{{}}' WHERE id = '{failed_job}'",
    ),
    "a killed job without a reason": (
        "I11",
        "no code, or not who, when and why",
        "UPDATE jobs SET killed_reason = NULL WHERE id = '{killed_job}'",
    ),
    "a failed task without a phase": (
        "I11",
        "in error without code and phase",
        "UPDATE tasks SET failure = replace(failure, 'failed_phase', 'phase') WHERE id = {failed}",
    ),
    "a job that nobody submitted": (
        "I11",
        "no event tells that the task was made",
        "DELETE FROM events WHERE type = 'job.submitted' AND job_id = '{killed_job}'",
    ),
    "an end that is not told": (
        "I11",
        "the job is killed, its events end with queued",
        "DELETE FROM events WHERE type = 'job.killed'",
    ),
    "an attempt that ended otherwise": (
        "I11",
        "attempt of epoch 1 is recorded as expired, told as failed",
        "UPDATE attempts SET outcome = 'expired' WHERE outcome = 'failed'",
    ),
    "an event that cannot be read": (
        "I11",
        "an event job.submitted cannot be read",
        "UPDATE events SET data = '[' WHERE type = 'job.submitted' AND job_id = '{done_job}'",
    ),
    "a key of a job that was never made": (
        "I12",
        "an idempotency key of a job that does not exist",
        "UPDATE idempotency_keys SET job_id = '00000000-0000-7000-8000-000000000000'",
    ),
}

WARNINGS = {
    "more tasks than slots": (
        "I5",
        "more tasks than slots",
        "UPDATE workers SET lanes = '{{\"gpu\": 1}}'",
        "UPDATE tasks SET kind = 'heavy' WHERE id = {running}",
    ),
    "a ready task that no worker can take": (
        "I1",
        "heavy cannot start: NO_CAPABLE_WORKER",
        "UPDATE workers SET offers = '[]'",
    ),
    "ready tasks while all workers are gone": (
        "I1",
        "heavy cannot start: WORKERS_OFFLINE",
        "UPDATE workers SET last_heartbeat = {now} - 3600000",
    ),
    "ready tasks of a kind that is paused": (
        "I1",
        "heavy cannot start: QUEUE_PAUSED",
        "INSERT INTO pauses (kind, paused_by, at) VALUES ('heavy', 'eve', {now})",
    ),
    "recovery that does not get through": (
        "I17",
        "the loop does not run although jobs are open",
        "UPDATE loops SET ran_at = {now} - 15001 WHERE name = 'recovery'",
    ),
    "an orchestrator that nobody runs": (
        "I17",
        "the loop does not run although jobs are open",
        "UPDATE loops SET held_until = {now} WHERE name = 'orchestrator'",
    ),
    "loops that never ran": (
        "I17",
        "the loop does not run although jobs are open",
        "DELETE FROM loops",
    ),
}


@pytest.mark.parametrize("defect", VIOLATIONS)
def test_defect_is_found_by_its_invariant(patient: Patient, defect: str):
    invariant, text, *statements = VIOLATIONS[defect]

    patient.harm(*statements)

    found = [finding for finding in patient.findings() if finding.text.startswith(text)]
    assert [finding.invariant for finding in found] == [invariant]
    assert found[0].severity is Severity.VIOLATION
    assert found[0].ids


@pytest.mark.parametrize("defect", WARNINGS)
def test_neglect_is_a_warning(patient: Patient, defect: str):
    invariant, text, *statements = WARNINGS[defect]

    patient.harm(*statements)

    found = patient.findings(strict=False)
    [finding] = [finding for finding in found if finding.text.startswith(text)]
    assert (finding.invariant, finding.severity) == (invariant, Severity.WARNING)


def test_every_check_has_a_defect_that_breaks_it():
    checks = {check.text for check in (*doctor.LIVE, *doctor.OF_JOBS, *doctor.OF_ALL)}
    broken = {text for _, text, *_ in (*VIOLATIONS.values(), *WARNINGS.values())}
    named = {invariant for invariant, *_ in (*VIOLATIONS.values(), *WARNINGS.values())}

    assert checks - broken == set()
    assert named == set(doctor.INVARIANTS)
