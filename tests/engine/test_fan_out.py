"""One task per value: made when the parents are done, in the transaction that ends the last."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from rushes.domain.graph import MAX_TASKS, Boost, Step
from rushes.domain.outcome import Done
from rushes.domain.task import Claim
from rushes.engine import complete
from rushes.errors import Invalid
from rushes.store.database import Database
from tests.kinds import KINDS
from tests.world import World, sql

FAN = {
    "split": Step(),
    "part": Step(after=("split",), each="values", params={"size": 7}),
    "join": Step(after=("part",)),
}


def values(*numbers: int) -> dict[str, list[dict[str, int]]]:
    return {"values": [{"n": number} for number in numbers]}


@pytest.fixture
def split(world: World) -> Claim:
    """The claim of the task that fans out."""
    world.submit(FAN)
    [claim] = world.claim(world.worker())
    return claim


def test_step_becomes_one_task_per_value_with_params_of_its_own(world: World, split: Claim):
    """000-032, 001-023, 001-024, 004-032."""
    world.complete(split, values(1, 2, 3))

    claims = world.claim(split.owner, 10)
    assert [(claim.step, claim.item) for claim in claims] == [("part", 0), ("part", 1), ("part", 2)]
    assert [json.loads(claim.params) for claim in claims] == [
        {"size": 7, "n": n} for n in (1, 2, 3)
    ]


def test_finalizer_waits_for_every_task_of_the_fan_out(world: World, split: Claim):
    """004-001, 004-008, 004-033, 004-043: nothing blocks; the job runs until the last is done."""
    world.complete(split, values(1, 2, 3))
    *first, last = world.claim(split.owner, 10)

    for claim in first:
        world.complete(claim)
    between = (world.states(split.job_id)["join"], world.job(split.job_id).status)
    world.complete(last)

    assert between == (["new"], "running")
    assert [claim.step for claim in world.finish(split.owner)] == ["join"]
    assert world.job(split.job_id).status == "completed"


def test_value_overrules_a_param_of_the_step(world: World, split: Claim):
    world.complete(split, {"values": [{"size": 8}]})

    [claim] = world.claim(split.owner)

    assert json.loads(claim.params) == {"size": 8}


def test_job_counts_the_tasks_that_a_fan_out_adds(world: World, split: Claim):
    world.complete(split, values(1, 2, 3))

    assert world.job(split.job_id).open_tasks == 4
    assert world.states(split.job_id) == {
        "split": ["done"],
        "part": ["ready"] * 3,
        "join": ["new"],
    }


def test_fan_out_into_one_value_is_one_task(world: World, split: Claim):
    world.complete(split, values(1))

    assert world.states(split.job_id)["part"] == ["ready"]
    assert world.job(split.job_id).open_tasks == 2


def test_fan_out_into_nothing_is_skipped_and_its_children_go_on(world: World, split: Claim):
    """000-030: skipped as not applicable."""
    world.complete(split, values())

    [_, part, _] = world.tasks(split.job_id)
    assert (part.state, part.skip_reason) == ("skipped", "not_applicable")
    assert [claim.step for claim in world.finish(split.owner)] == ["join"]
    assert world.job(split.job_id).status == "completed"


def test_chain_of_fan_outs_into_nothing_ends_the_job(world: World):
    steps = {**FAN, "noop": Step(after=("part",), each="values"), "join": Step(after=("noop",))}
    job_id = world.submit(steps)
    owner = world.worker()
    [claim] = world.claim(owner)

    world.complete(claim, values())

    assert world.states(job_id) == {
        "split": ["done"],
        "part": ["skipped"],
        "noop": ["skipped"],
        "join": ["ready"],
    }


def test_values_of_several_parents_are_put_together_in_order(world: World):
    steps = {"split": Step(items=[{}] * 3), "part": Step(after=("split",), each="values")}
    world.submit(steps)
    owner = world.worker()
    first, second, third = world.claim(owner, 3)

    world.complete(third, values(5))
    world.complete(first, values(1, 2))
    world.complete(second, values(3, 4))

    parts = world.claim(owner, 10)
    assert [json.loads(claim.params)["n"] for claim in parts] == [1, 2, 3, 4, 5]


def test_first_parent_must_bring_the_list_and_the_others_may(world: World):
    steps = {
        "split": Step(),
        "noop": Step(),
        "part": Step(after=("split", "noop"), each="values"),
    }
    job_id = world.submit(steps)
    owner = world.worker()
    split, noop = world.claim(owner, 2)

    world.complete(noop, {"other": 1})
    world.complete(split, values(1, 2))

    assert world.states(job_id)["part"] == ["ready", "ready"]


@pytest.mark.parametrize(
    "result",
    [
        None,
        {},
        {"values": None},
        {"values": 7},
        {"values": [1, 2]},
        {"values": [{"n": 1}, "n"]},
        {"values": [{"n": "\x00"}]},
        {"values": [{"n": "x" * 65_536}]},
        {"values": [{}] * (MAX_TASKS + 1)},
        [{"n": 1}],
    ],
    ids=lambda result: json.dumps(result)[:24],
)
def test_result_without_a_proper_list_fails_its_task_and_nothing_else(
    world: World, split: Claim, result: object
):
    """004-016, 004-035."""
    accepted = world.complete(split, result)

    task, *_ = world.tasks(split.job_id)
    assert accepted
    assert (task.state, task.result) == ("error", None)
    assert json.loads(task.failure)["error_code"] == "OUTPUT_INVALID"
    assert world.states(split.job_id) == {
        "split": ["error"],
        "part": ["skipped"],
        "join": ["skipped"],
    }
    assert world.job(split.job_id).status == "failed"


def test_result_that_is_no_json_fails_its_task(world: World, split: Claim):
    outcome = Done(split.id, split.epoch, "{")

    complete.report(world.engine, split.owner, [outcome], now=world.now)

    assert world.task(split.id).state == "error"


def test_value_that_its_kind_refuses_fails_the_parent(db: Database):
    """002-005."""
    world = World(db, {**KINDS, "part": replace(KINDS["part"], check=_refuse_three)})
    world.submit(FAN)
    [split] = world.claim(world.worker())

    world.complete(split, values(1, 2, 3))

    assert json.loads(world.task(split.id).failure)["error"] == "three is one too many"


def test_value_is_checked_together_with_the_params_of_its_step(db: Database):
    """002-005: the kind wants both, and each comes from elsewhere."""
    world = World(db, {**KINDS, "part": replace(KINDS["part"], check=_want_both)})
    job_id = world.submit(FAN)
    [split] = world.claim(world.worker())

    world.complete(split, values(1))

    assert world.states(job_id)["part"] == ["ready"]


def test_bad_result_in_a_batch_fails_alone(world: World):
    """000-120."""
    good, bad = world.submit(FAN), world.submit(FAN)
    claims = world.claim(world.worker(), 2)
    results = [json.dumps(values(1)), "null"]
    outcomes = [Done(c.id, c.epoch, r) for c, r in zip(claims, results, strict=True)]

    refused = complete.report(world.engine, claims[0].owner, outcomes, now=world.now)

    assert refused == frozenset()
    assert [world.job(job_id).status for job_id in (good, bad)] == ["running", "failed"]


@pytest.mark.parametrize("last", ["failed", "lost"])
def test_too_many_values_in_sum_fail_the_parent_that_brought_one_too_many(world: World, last: str):
    """Whoever ends last, somebody is told and nothing goes round for ever."""
    half = {"values": [{}] * (MAX_TASKS // 2 + 1)}
    steps = {
        "split": Step(items=[{}] * 2, optional=True),
        "noop": Step(optional=True, max_attempts=1),
        "part": Step(after=("split", "noop"), each="values"),
    }
    job_id = world.submit(steps)
    first, second, other = world.claim(world.worker(), 3)
    world.complete(first, half)
    world.complete(second, half)

    if last == "failed":
        world.fail(other)
    else:
        world.tick(world.lease)
        world.recover()

    assert world.task(second.id).state == "error"
    assert len(world.states(job_id)["part"]) == MAX_TASKS // 2 + 1


def test_fan_out_at_the_limit_is_accepted(world: World, split: Claim):
    world.complete(split, {"values": [{}] * MAX_TASKS})

    assert len(world.tasks(split.job_id)) == MAX_TASKS + 2


def test_first_of_a_fan_out_is_boosted_alone(world: World):
    """003-044."""
    steps = {**FAN, "part": Step(after=("split",), each="values", boost=Boost.FIRST)}
    job_id = world.submit(steps)
    [claim] = world.claim(world.worker())
    world.complete(claim, values(1, 2, 3))

    rows = sql(
        world.db,
        f"SELECT due_at FROM tasks WHERE job_id = '{job_id}' AND step = 'part' ORDER BY id",
    )

    first, *others = [row["due_at"] for row in rows]
    assert others == [first + 12 * 3_600_000] * 2


def test_fan_out_of_a_job_with_a_later_start_waits_with_it(world: World):
    job_id = world.submit({"split": Step(), "part": Step(after=("split",), each="values")})
    [claim] = world.claim(world.worker())
    sql(world.db, f"UPDATE tasks SET run_at = {world.now + 1000} WHERE step = 'part'")

    world.complete(claim, values(1, 2))
    early = world.states(job_id)["part"]
    world.tick(1)
    world.advance()

    assert early == ["new", "new"]
    assert world.states(job_id)["part"] == ["ready", "ready"]


def test_fan_out_happens_after_a_retry_of_its_parent(world: World, split: Claim):
    """000-083."""
    world.fail(split)
    world.tick(20)
    world.advance()
    [again] = world.claim(split.owner)

    world.complete(again, values(1, 2))

    assert world.states(split.job_id)["part"] == ["ready", "ready"]


def test_fan_out_happens_after_a_requeue_of_its_parent(world: World, split: Claim):
    """002-059."""
    world.fail(split, retryable=False)
    world.requeue(split.job_id)
    [again] = world.claim(split.owner)

    world.complete(again, values(1, 2))

    assert world.states(split.job_id)["part"] == ["ready", "ready"]
    assert len(world.finish(split.owner)) == 3
    assert world.job(split.job_id).status == "completed"


def test_fan_out_happens_after_a_kill_and_a_requeue(world: World, split: Claim):
    world.kill(split.job_id)
    world.requeue(split.job_id)
    [again] = world.claim(split.owner)

    world.complete(again, values(1, 2))

    assert world.states(split.job_id)["part"] == ["ready", "ready"]


def test_nothing_that_a_worker_sends_makes_a_task_without_a_template(world: World):
    """001-006."""
    job_id = world.submit()
    [claim] = world.claim(world.worker())

    world.complete(claim, values(1, 2, 3))

    assert world.states(job_id) == {"noop": ["done"]}


def test_added_tasks_are_told_in_the_feed(world: World, split: Claim):
    """002-001."""
    world.complete(split, values(1, 2, 3))

    [added] = [event for event in world.events() if event.type == "task.added"]

    _, second, third = (task.id for task in world.tasks(split.job_id) if task.step == "part")
    assert added.data == {"step": "part", "tasks": [[second, 0], [third, 0]]}


def _refuse_three(params: Mapping[str, Any]) -> None:
    if params.get("n") == 3:
        raise Invalid("three is one too many")


def _want_both(params: Mapping[str, Any]) -> None:
    if set(params) != {"n", "size"}:
        raise Invalid("n and size are needed")
