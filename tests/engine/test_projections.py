"""A stage's result becomes rows in the very transaction that ends its task."""

from __future__ import annotations

import json

import pytest

from rushes.domain.graph import Step
from rushes.domain.outcome import Done
from rushes.engine import complete
from rushes.engine.engine import Finished
from rushes.errors import NotFound, Unavailable
from rushes.store.database import Database, Transaction
from tests.kinds import KINDS
from tests.world import World, armed, sql


def project(tx: Transaction, task: Finished) -> None:
    """Write a row that a test can look for; refuse a result that says so."""
    said = json.loads(task.result)
    if said == "refuse":
        raise ValueError("no such frame")
    if said == "break":
        raise RuntimeError("a bug")
    if said == "gone":
        raise NotFound("the file x is missing")
    if said == "no text":
        tx.run("pause", kind="\0", paused_by="nobody", reason=None)
    if said == "against a rule":
        tx.run("set_loop", name=None, ran_at=1, grace_until=None)
    if said == "too large":
        tx.run("set_loop", name="x", ran_at=1 << 70, grace_until=None)
    tx.run("pause", kind=f"{task.kind}-{task.item}", paused_by=str(said), reason=task.step)


@pytest.fixture
def world(db: Database) -> World:
    return World(db, KINDS, projections={"noop": project})


def test_rows_and_completion_are_committed_together(world: World):
    """000-065, 000-069, 003-025."""
    world.submit({"noop": Step(items=[{}, {}])})
    claims = world.claim(world.worker(), 2)

    for claim in claims:
        world.complete(claim, claim.item * 10)

    assert _rows(world) == [("noop-0", "0"), ("noop-1", "10")]
    assert [world.task(claim.id).state for claim in claims] == ["done", "done"]


def test_rows_vanish_with_a_completion_that_breaks(world: World):
    """000-065, 000-118, 003-025."""
    world.submit()
    [claim] = world.claim(world.worker())
    with armed("complete.before_commit=error"), pytest.raises(Unavailable):
        world.complete(claim, 1)

    assert _rows(world) == []
    assert world.task(claim.id).state == "running"


def test_stale_completion_writes_no_rows(world: World):
    """001-014, 000-117."""
    world.submit()
    [claim] = world.claim(world.worker())
    world.hand_back(claim)

    accepted = world.complete(claim, 1)

    assert not accepted
    assert _rows(world) == []


def test_repeated_completion_writes_its_rows_once(world: World):
    world.submit()
    [claim] = world.claim(world.worker())
    world.complete(claim, 1)

    world.complete(claim, 2)

    assert _rows(world) == [("noop-0", "1")]


def test_result_that_cannot_be_stored_fails_its_task_alone(world: World):
    """000-120, 004-037."""
    job_id = world.submit({"noop": Step(items=[{}] * 3)})
    owner = world.worker()
    claims = world.claim(owner, 3)
    results = ["1", '"refuse"', "3"]
    outcomes = [Done(c.id, c.epoch, r) for c, r in zip(claims, results, strict=True)]

    refused = complete.report(world.engine, owner, outcomes, now=world.now)

    assert refused == frozenset()
    assert world.states(job_id) == {"noop": ["done", "error", "done"]}
    assert _rows(world) == [("noop-0", "1"), ("noop-2", "3")]
    failure = json.loads(world.task(claims[1].id).failure)
    assert failure["error_code"] == "OUTPUT_INVALID"
    assert "no such frame" in failure["error"]


@pytest.mark.parametrize("said", ["no text", "against a rule", "too large"])
def test_result_that_the_database_does_not_take_fails_its_task_alone(world: World, said: str):
    """A far worker may say anything; it must not come back with it for ever."""
    job_id = world.submit({"noop": Step(items=[{}] * 2, max_attempts=1)})
    owner = world.worker()
    good, bad = world.claim(owner, 2)

    outcomes = [Done(good.id, good.epoch, "1"), Done(bad.id, bad.epoch, json.dumps(said))]
    refused = complete.report(world.engine, owner, outcomes, now=world.now)

    assert refused == frozenset()
    assert world.states(job_id) == {"noop": ["done", "error"]}
    assert json.loads(world.task(bad.id).failure)["error_code"] == "OUTPUT_INVALID"


def test_result_whose_file_is_gone_is_made_again(world: World):
    """F-DK-5: an error that only another try can mend is no reason to repeat the report."""
    world.submit()
    [claim] = world.claim(world.worker())

    accepted = world.complete(claim, "gone")

    task = world.task(claim.id)
    assert (accepted, task.state) == (True, "new")
    assert json.loads(task.failure)["error"] == "the result cannot be read: the file x is missing"


def test_completion_that_became_a_failure_is_answered_the_same_when_it_is_repeated(world: World):
    """The answer was lost, the worker asks again."""
    world.submit()
    [claim] = world.claim(world.worker())

    first = world.complete(claim, "refuse")
    again = world.complete(claim, "refuse")

    assert (first, again) == (True, True)
    assert [attempt["outcome"] for attempt in world.attempts(claim.job_id)] == ["failed"]


def test_bug_in_a_projection_is_nobodys_fault_and_changes_nothing(world: World):
    world.submit()
    [claim] = world.claim(world.worker())

    with pytest.raises(RuntimeError, match="a bug"):
        world.complete(claim, "break")

    assert world.task(claim.id).state == "running"


def test_kind_without_a_projection_writes_no_rows(world: World):
    world.submit({"split": Step()})
    [claim] = world.claim(world.worker())

    world.complete(claim, "refuse")

    assert world.task(claim.id).state == "done"


def _rows(world: World) -> list[tuple[str, str]]:
    rows = sql(world.db, "SELECT kind, paused_by FROM pauses ORDER BY kind")
    return [(row["kind"], row["paused_by"]) for row in rows]
