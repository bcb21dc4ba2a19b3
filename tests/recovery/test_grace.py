"""After a standstill of everything, workers get one lease to renew theirs; no more than one."""

from __future__ import annotations

from datetime import timedelta

import pytest

from rushes.domain.task import Claim
from rushes.engine.recovery import Recovered
from tests.world import World, sql


@pytest.fixture
def claim(world: World) -> Claim:
    """A claim in a world in which recovery has run a moment ago."""
    world.submit()
    [claim] = world.claim(world.worker())
    world.recover()
    return claim


def test_first_pass_after_a_standstill_only_grants_a_grace(world: World, claim: Claim):
    """000-092, 000-116, 000-156 (C74, D17)."""
    world.tick(timedelta(hours=1))

    recovered = world.recover()

    assert recovered == Recovered(in_grace=True)
    assert world.task(claim.id).state == "running"


def test_worker_that_comes_back_within_the_grace_keeps_its_task(world: World, claim: Claim):
    """000-116, 000-156 (D17): a server that was down does not cost the work of a farm."""
    world.tick(timedelta(minutes=5))
    world.recover()

    kept = world.beat(claim, moved=True)
    world.tick(world.lease / 2)
    recovered = world.recover()
    world.beat(claim)
    world.tick(world.lease / 2)
    world.beat(claim)

    assert kept is None
    assert recovered.in_grace
    assert world.recover() == Recovered()
    assert world.complete(claim)


def test_task_of_a_worker_that_stays_away_is_recovered_after_the_grace(world: World, claim: Claim):
    """000-156."""
    world.tick(timedelta(hours=1))
    world.recover()
    world.tick(world.lease)

    assert world.recover() == Recovered(expired=1)


def test_process_that_restarts_in_a_loop_cannot_postpone_recovery(world: World, claim: Claim):
    """000-092 (C74, D17), F-API-6: the grace is in the database, and is granted once."""
    world.tick(timedelta(hours=1))
    passes = []
    for _ in range(6):
        passes.append(world.recover().in_grace)
        world.tick(world.lease / 4)

    assert passes == [True, True, True, True, False, False]
    assert world.task(claim.id).state == "ready"


def test_loop_that_is_always_late_still_recovers(world: World, claim: Claim):
    """000-092 (C74): every pass comes three leases after the last, one in two works."""
    states = []
    for _ in range(2):
        world.tick(3 * world.lease)
        world.recover()
        states.append(world.task(claim.id).state)

    assert states == ["running", "ready"]


def test_short_pause_of_recovery_needs_no_grace(world: World, claim: Claim):
    """000-091, 000-139: recovery that is merely late is no standstill."""
    world.tick(2 * world.lease)

    assert world.recover() == Recovered(expired=1)


def test_database_in_which_recovery_never_ran_needs_no_grace(world: World):
    world.submit()
    world.claim(world.worker())
    world.tick(timedelta(hours=1))

    assert world.recover() == Recovered(expired=1)


def test_grace_is_written_down(world: World, claim: Claim):
    """000-092 (C74)."""
    world.tick(timedelta(hours=1))
    world.recover()

    [row] = sql(world.db, "SELECT grace_until FROM loops WHERE name = 'recovery'")

    assert row["grace_until"] == world.now + 60_000
