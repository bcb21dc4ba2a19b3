"""One process at a time runs a loop; the lease of it is a row."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

from rushes.engine.leader import lead, step_down
from tests.world import World

LEASE = 10_000


def test_one_of_two_leads(world: World):
    """003-057."""
    leads = [_lead(world, "ann"), _lead(world, "bob")]

    assert leads == [True, False]


def test_leader_renews_its_lease(world: World):
    _lead(world, "ann")
    world.tick(9)
    renewed = _lead(world, "ann")
    world.tick(9)

    assert renewed
    assert not _lead(world, "bob")


def test_lease_of_a_dead_leader_passes_on(world: World):
    """003-057."""
    _lead(world, "ann")
    world.tick(10)

    assert _lead(world, "bob")
    assert not _lead(world, "ann")


def test_leader_that_steps_down_makes_room_at_once(world: World):
    _lead(world, "ann")

    step_down(world.engine, "recovery", "ann")

    assert _lead(world, "bob")


def test_one_who_does_not_lead_cannot_step_down(world: World):
    _lead(world, "ann")

    step_down(world.engine, "recovery", "bob")

    assert not _lead(world, "bob")


def test_every_loop_has_its_own_leader(world: World):
    _lead(world, "ann")

    assert lead(world.engine, "orchestrator", "bob", lease_ms=LEASE, now=world.now)


def test_lease_of_a_loop_keeps_when_it_ran(world: World):
    """000-092: leadership and grace are in one row and do not disturb each other."""
    world.recover()
    _lead(world, "ann")
    step_down(world.engine, "recovery", "ann")
    world.tick(3 * world.lease)

    assert world.recover().in_grace


def test_rivals_for_a_loop_have_one_winner(world: World):
    """003-057."""
    start = Barrier(8, timeout=30)

    def run(name: str) -> bool:
        start.wait()
        return _lead(world, name)

    with ThreadPoolExecutor(8) as pool:
        won = list(pool.map(run, [f"process-{n}" for n in range(8)]))

    assert won.count(True) == 1


def _lead(world: World, holder: str) -> bool:
    return lead(world.engine, "recovery", holder, lease_ms=LEASE, now=world.now)
