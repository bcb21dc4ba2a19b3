"""A task that takes its worker down again and again is ended, whatever its attempts."""

from __future__ import annotations

import json

import pytest

from rushes.domain.graph import Step
from rushes.domain.task import Claim
from rushes.engine.engine import Limits
from rushes.store.database import Database
from tests.kinds import KINDS
from tests.world import World


def test_three_losses_in_a_row_end_a_task_that_has_attempts_left(world: World):
    """000-084, 003-057 (C2, C61, D3)."""
    claim = _submitted(world)

    _lose(world, claim, times=3)

    task = world.task(claim.id)
    assert (task.state, task.attempt, task.max_attempts) == ("error", 3, 50)
    assert json.loads(task.failure)["error_code"] == "WORKER_CRASHED"
    assert not json.loads(task.failure)["retryable"]
    assert world.attempts(claim.job_id)[-1]["killed_by"] == "worker_crash"


def test_two_losses_leave_it_ready(world: World):
    claim = _submitted(world)

    _lose(world, claim, times=2)

    assert (world.task(claim.id).state, world.task(claim.id).losses) == ("ready", 2)


def test_checkpoint_between_losses_starts_the_count_again(world: World):
    """000-088, 000-112."""
    claim = _submitted(world)
    claim = _lose(world, claim, times=2, claims_again=True)
    world.beat(claim, checkpoint='{"at": 1}')

    _lose(world, claim, times=2)

    assert (world.task(claim.id).state, world.task(claim.id).losses) == ("ready", 2)


def test_heartbeat_without_a_checkpoint_does_not_start_the_count_again(world: World):
    claim = _submitted(world)
    claim = _lose(world, claim, times=2, claims_again=True)
    world.beat(claim, moved=True, progress=50)

    _lose(world, claim, times=1)

    assert world.task(claim.id).state == "error"


def test_failure_that_was_reported_starts_the_count_again(world: World):
    """003-057: a worker that can still report was not taken down."""
    claim = _submitted(world)
    claim = _lose(world, claim, times=2, claims_again=True)
    world.fail(claim)

    assert (world.task(claim.id).state, world.task(claim.id).losses) == ("new", 0)


def test_hand_back_does_not_hide_the_losses_before_it(world: World):
    claim = _submitted(world)
    claim = _lose(world, claim, times=2, claims_again=True)
    world.hand_back(claim)
    [claim] = world.claim(claim.owner)

    _lose(world, claim, times=1)

    assert world.task(claim.id).state == "error"


def test_stall_is_no_loss_of_a_worker(world: World):
    """000-055 (C5): two stalls and one crash are not three crashes."""
    claim = _submitted(world)
    for _ in range(2):
        _stall(world, claim)
        [claim] = world.claim(claim.owner)

    _lose(world, claim, times=1)

    assert (world.task(claim.id).state, world.task(claim.id).losses) == ("ready", 1)


def test_person_who_tries_again_starts_the_count_again(world: World):
    """002-059."""
    claim = _submitted(world)
    _lose(world, claim, times=3)
    world.requeue(claim.job_id)
    [claim] = world.claim(claim.owner)

    _lose(world, claim, times=2)

    assert world.task(claim.id).state == "ready"


@pytest.mark.parametrize("max_losses", [1, 2, 5])
def test_number_of_losses_is_a_setting(db: Database, max_losses: int):
    world = World(db, KINDS, limits=Limits(max_losses=max_losses))
    claim = _submitted(world)

    _lose(world, claim, times=max_losses)

    assert world.task(claim.id).state == "error"
    assert world.task(claim.id).lease_epoch == max_losses


def _submitted(world: World) -> Claim:
    world.submit({"noop": Step(max_attempts=50)})
    [claim] = world.claim(world.worker())
    return claim


def _lose(world: World, claim: Claim, *, times: int, claims_again: bool = False) -> Claim:
    """Let the lease of a claim run out, and those that follow it."""
    for left in reversed(range(times)):
        world.tick(world.lease)
        world.recover()
        if left or claims_again:
            [claim] = world.claim(claim.owner)
    return claim


def _stall(world: World, claim: Claim) -> None:
    """Let the work stand still while its worker beats on."""
    for _ in range(20):
        world.tick(world.lease / 2)
        world.beat(claim)
        world.recover()
