"""The embedded worker restarts: its dead self's tasks come back at once, at no cost."""

from __future__ import annotations

import json

import pytest

from rushes.domain.graph import Step
from rushes.domain.task import Claim
from rushes.engine.recovery import Recovered, take_back
from tests.world import World


@pytest.fixture
def claim(world: World) -> Claim:
    """The claim of the only task there is, which may run twice."""
    world.submit({"noop": Step(max_attempts=2)})
    [claim] = world.claim(world.worker())
    return claim


def test_tasks_of_a_dead_process_are_ready_at_once_and_keep_their_attempt(
    world: World, claim: Claim
):
    """001-018 (C2): the lease still had time to run."""
    recovered = take_back(world.engine, [claim.owner], now=world.now)

    task = world.task(claim.id)
    assert recovered == Recovered(expired=1)
    assert (task.state, task.attempt, task.lease_epoch) == ("ready", 0, 1)


def test_restart_is_in_the_history(world: World, claim: Claim):
    """001-017."""
    take_back(world.engine, [claim.owner], now=world.now)

    [attempt] = world.attempts(claim.job_id)
    [event] = [event for event in world.events() if event.type == "task.expired"]

    assert (attempt["outcome"], attempt["attempt"]) == ("restarted", 1)
    assert event.data["cause"] == "restart"


def test_three_restarts_in_a_row_on_one_task_end_it(world: World, claim: Claim):
    """001-018: a file that takes the whole process down cannot do so for ever."""
    for _ in range(2):
        take_back(world.engine, [claim.owner], now=world.now)
        [claim] = world.claim(world.worker())

    recovered = take_back(world.engine, [claim.owner], now=world.now)

    assert recovered == Recovered(exhausted=1)
    assert world.task(claim.id).state == "error"
    assert json.loads(world.task(claim.id).failure)["error_code"] == "WORKER_CRASHED"


def test_checkpoint_between_restarts_starts_the_count_again(world: World, claim: Claim):
    """000-088."""
    for _ in range(5):
        world.beat(claim, checkpoint="{}")
        take_back(world.engine, [claim.owner], now=world.now)
        [claim] = world.claim(world.worker())

    assert world.complete(claim)


def test_restart_on_the_last_attempt_costs_nothing(world: World, claim: Claim):
    """001-018 (C2)."""
    world.fail(claim)
    world.tick(20)
    world.advance()
    [last] = world.claim(claim.owner)

    recovered = take_back(world.engine, [last.owner], now=world.now)

    assert (last.attempt, recovered) == (2, Recovered(expired=1))
    assert world.task(claim.id).attempt == 1


def test_tasks_of_other_processes_are_left(world: World, claim: Claim):
    recovered = take_back(world.engine, [world.worker("bob")], now=world.now)

    assert recovered == Recovered()
    assert world.complete(claim)


def test_nobody_dead_is_nothing_to_do(world: World):
    assert take_back(world.engine, [], now=world.now) == Recovered()


def test_late_report_of_the_dead_process_is_refused(world: World, claim: Claim):
    """001-014."""
    take_back(world.engine, [claim.owner], now=world.now)

    assert not world.complete(claim)
