"""Handing out work: in order, to whom it fits, never twice."""

from __future__ import annotations

from datetime import timedelta

import pytest

from rushes.domain.graph import Boost, Step
from rushes.domain.kind import Kind
from rushes.engine import operator, presence
from rushes.engine.claim import claim
from rushes.engine.engine import Limits
from rushes.errors import Conflict, Invalid
from rushes.store import workers
from rushes.store.database import Database
from tests.kinds import KINDS
from tests.world import World

GRACE = Limits().gpu_grace


def test_claim_starts_an_attempt_under_a_lease(world: World):
    """000-005…007, 000-009, 000-014, 000-051, 000-052, 001-009, 001-011, 001-012, 003-010."""
    owner = world.worker()
    job_id = world.submit({"noop": Step(params={"x": 1})})
    world.tick(1)

    [claim] = world.claim(owner)

    task = world.task(claim.id)
    assert (claim.epoch, claim.attempt, claim.owner, claim.params) == (1, 1, owner, '{"x":1}')
    assert (task.state, task.lease_owner, task.claimed_at) == ("running", owner, world.now)
    assert task.lease_expires_at == world.now + 60_000
    assert world.job(job_id).status == "running"
    assert world.job(job_id).started_at == world.now


def test_start_of_a_job_is_that_of_its_first_task(world: World):
    """000-014, 000-051."""
    owner = world.worker()
    job_id = world.submit({"noop": Step(items=[{}, {}])})
    world.claim(owner)
    started = world.now
    world.tick(1)

    world.claim(owner)

    assert world.job(job_id).started_at == started


def test_tasks_of_one_priority_are_claimed_first_in_first_out(world: World):
    """002-002, 003-044."""
    jobs = []
    for _ in range(5):
        jobs.append(world.submit())
        world.tick(0.001)

    claims = world.claim(world.worker(), 5)

    assert [claim.job_id for claim in claims] == jobs


def test_tasks_of_one_moment_are_claimed_in_the_order_of_their_ids(world: World):
    world.submit({"noop": Step(items=[{"n": n} for n in range(20)])})

    claims = world.claim(world.worker(), 20)

    assert [claim.item for claim in claims] == list(range(20))


def test_higher_priority_is_claimed_first(world: World):
    """000-122, 002-070, 003-043…045 (C40, D6)."""
    jobs = {priority: world.submit(priority=priority) for priority in (0, 5, 10, 2, 8)}

    claims = world.claim(world.worker(), 5)

    assert [claim.job_id for claim in claims] == [jobs[p] for p in (10, 8, 5, 2, 0)]


def test_job_of_the_last_hour_does_not_pass_one_of_higher_priority(world: World):
    """003-044: a step of priority is worth a day of waiting."""
    for _ in range(10):
        world.submit(priority=9)
    world.tick(timedelta(hours=23))
    urgent = world.submit(priority=10)

    [claim] = world.claim(world.worker())

    assert claim.job_id == urgent


def test_low_priority_does_not_starve_under_a_flood_of_urgent_work(world: World):
    """000-057: it waits at most its ten days."""
    patient = world.submit(priority=0)
    world.tick(timedelta(days=10, milliseconds=1))
    for _ in range(10):
        world.submit(priority=10)

    [claim] = world.claim(world.worker())

    assert claim.job_id == patient


def test_step_of_a_day_is_a_setting(db: Database):
    world = World(db, KINDS, limits=Limits(priority_step=timedelta(seconds=1)))
    patient = world.submit(priority=9)
    world.tick(2)
    world.submit(priority=10)

    [claim] = world.claim(world.worker())

    assert claim.job_id == patient


def test_boosted_task_goes_half_a_step_ahead_of_its_equals(world: World):
    """003-044."""
    plain = world.submit()
    world.tick(timedelta(hours=11))
    boosted = world.submit({"noop": Step(boost=Boost.ALL)})
    higher = world.submit(priority=6)

    claims = world.claim(world.worker(), 3)

    assert [claim.job_id for claim in claims] == [higher, boosted, plain]


def test_batch_is_at_most_what_was_asked_for(world: World):
    world.submit({"noop": Step(items=[{}] * 10)})

    assert len(world.claim(world.worker(), 3)) == 3


def test_nothing_wanted_is_nothing_claimed(world: World):
    world.submit()

    assert world.claim(world.worker(), 0) == []


def test_running_task_is_not_claimed_again(world: World):
    """000-050, 000-111, 000-151, 003-029: whether or not its lease has run out."""
    world.submit()
    first, second = world.worker("ann"), world.worker("bob")
    world.claim(first)
    world.tick(timedelta(days=1))

    assert world.claim(second, 10) == []


def test_lanes_are_queues_of_their_own(world: World):
    owner = world.worker(capabilities=["gpu"])
    world.submit({"noop": Step(items=[{}] * 3), "gpu": Step(items=[{}] * 3)})

    claims = claim(world.engine, owner, {"default": 2, "gpu": 1}, now=world.now)

    assert sorted(each.kind for each in claims) == ["gpu", "noop", "noop"]


def test_task_goes_only_to_a_worker_that_has_all_it_needs(world: World):
    """000-027."""
    world.submit({"gpu": Step()})
    plain, able = world.worker("cpu"), world.worker("gpu", capabilities=["gpu", "av1"])

    claimed = [world.claim(plain, lane="gpu"), world.claim(able, lane="gpu")]

    assert [len(claims) for claims in claimed] == [0, 1]


def test_task_goes_only_to_a_worker_that_knows_its_stage(world: World):
    """002-002, 002-065."""
    world.submit()

    assert world.claim(world.worker(kinds=["split"])) == []


def test_owner_that_nobody_knows_gets_nothing(world: World):
    world.submit()

    assert world.claim("ghost#1") == []


def test_process_that_lost_its_name_to_a_newer_one_gets_nothing(world: World):
    """000-025 (D2)."""
    world.submit()
    old = world.worker("ann")
    new = world.worker("ann")

    claimed = [world.claim(old), world.claim(new)]

    assert [len(claims) for claims in claimed] == [0, 1]


def test_free_worker_with_a_gpu_goes_first(world: World):
    """000-047, 000-056, 000-150, 000-163."""
    world.worker("gpu", capabilities=["gpu"])
    cpu = world.worker("cpu")
    world.submit({"encode": Step()})

    assert world.claim(cpu) == []


def test_worker_without_a_gpu_waits_no_longer_than_the_grace(world: World):
    """000-057, 000-115 (C15: a GPU worker that never claims blocks nobody)."""
    gpu = world.worker("gpu", capabilities=["gpu"])
    cpu = world.worker("cpu")
    world.submit({"encode": Step()})
    world.tick(GRACE)
    presence.present(world.engine, gpu, now=world.now)

    assert len(world.claim(cpu)) == 1


def test_worker_with_a_gpu_takes_it_at_once(world: World):
    """000-150."""
    gpu = world.worker("gpu", capabilities=["gpu"])
    world.submit({"encode": Step()})

    assert len(world.claim(gpu)) == 1


@pytest.mark.parametrize("why", ["full", "late", "draining", "stopped", "incapable", "no lane"])
def test_nobody_waits_for_a_gpu_that_cannot_come(world: World, why: str):
    """000-056, 000-057, 000-115, 000-150 (C15)."""
    kinds = ["noop"] if why == "incapable" else None
    lanes = {"gpu": 1} if why == "no lane" else {"default": 1}
    if why == "full":
        world.submit()
    gpu = world.worker("gpu", capabilities=["gpu"], kinds=kinds, lanes=lanes)
    if why == "full":
        assert len(world.claim(gpu)) == 1
    if why == "late":
        world.tick(world.engine.limits.late_after)
    if why == "draining":
        operator.drain(world.engine, _id(world, "gpu"))
    if why == "stopped":
        presence.leave(world.engine, gpu, now=world.now)
    cpu = world.worker("cpu")
    world.submit({"encode": Step()})

    assert len(world.claim(cpu)) == 1


def test_paused_kind_is_not_claimed_until_it_is_resumed(world: World):
    owner = world.worker()
    world.submit({"noop": Step(), "split": Step()})
    operator.pause(world.engine, "noop", by="eve")

    paused = [claim.kind for claim in world.claim(owner, 5)]
    resumed = operator.resume(world.engine, "noop", by="eve")

    assert paused == ["split"]
    assert resumed
    assert [claim.kind for claim in world.claim(owner, 5)] == ["noop"]


def test_pause_of_a_kind_leaves_what_runs(world: World):
    owner = world.worker()
    world.submit()
    [claim] = world.claim(owner)

    operator.pause(world.engine, "noop", by="eve")

    assert world.complete(claim)


def test_kind_that_does_not_exist_cannot_be_paused(world: World):
    with pytest.raises(Invalid, match="unknown kind 'fly'"):
        operator.pause(world.engine, "fly", by="eve")


def test_kind_that_was_not_paused_is_not_resumed(world: World):
    assert not operator.resume(world.engine, "noop", by="eve")


@pytest.mark.parametrize("ask", [operator.drain, operator.disable])
def test_worker_that_is_drained_or_disabled_gets_nothing_new(world: World, ask):
    """000-024, 000-040, 003-050."""
    owner = world.worker()
    world.submit({"noop": Step(items=[{}, {}])})
    [held] = world.claim(owner)

    ask(world.engine, _id(world, "ann"))

    assert world.claim(owner) == []
    assert world.complete(held)


@pytest.mark.parametrize("ask", [operator.drain, operator.disable])
def test_worker_that_is_resumed_works_again(world: World, ask):
    """000-040 (C16)."""
    owner = world.worker()
    world.submit()
    ask(world.engine, _id(world, "ann"))

    operator.resume_worker(world.engine, _id(world, "ann"))

    assert len(world.claim(owner)) == 1


def test_disabled_worker_stays_disabled_when_it_starts_again(world: World):
    """000-040."""
    world.worker()
    operator.disable(world.engine, _id(world, "ann"))
    world.submit()

    assert world.claim(world.worker()) == []


def test_drained_worker_that_starts_again_works(world: World):
    world.worker()
    operator.drain(world.engine, _id(world, "ann"))
    world.submit()

    assert len(world.claim(world.worker())) == 1


def test_worker_that_stopped_gets_nothing(world: World):
    """003-051."""
    owner = world.worker()
    world.submit()
    presence.leave(world.engine, owner, now=world.now)

    assert world.claim(owner) == []


def test_worker_that_is_not_draining_cannot_be_resumed(world: World):
    world.worker()

    with pytest.raises(Conflict, match="the worker is not draining or disabled"):
        operator.resume_worker(world.engine, _id(world, "ann"))


def test_retry_and_expiry_keep_the_place_in_the_queue(world: World):
    """003-044."""
    owner = world.worker()
    failed = world.submit()
    [claim] = world.claim(owner)
    world.fail(claim)
    world.tick(20)
    world.submit()
    world.advance()

    [again] = world.claim(owner)

    assert again.job_id == failed


def test_future_work_is_not_claimed(world: World):
    """002-048 (C27)."""
    world.submit(run_at=world.now + 1)

    assert world.claim(world.worker()) == []


def test_checkpoint_of_an_earlier_attempt_comes_with_the_claim(world: World):
    """000-088, 000-112."""
    owner = world.worker()
    world.submit()
    [claim] = world.claim(owner)
    world.beat(claim, checkpoint='{"at": 7}')
    world.hand_back(claim)

    [again] = world.claim(owner)

    assert (claim.checkpoint, again.checkpoint) == (None, '{"at": 7}')


def test_lease_of_a_claim_is_a_setting(db: Database):
    """000-136, 002-069."""
    world = World(db, KINDS, limits=Limits(lease=timedelta(seconds=3)))
    world.submit()

    [claim] = world.claim(world.worker())

    assert claim.lease_ms == 3_000
    assert world.task(claim.id).lease_expires_at == world.now + 3_000


def test_attempts_of_a_kind_are_a_setting(db: Database):
    """000-141."""
    world = World(db, {"noop": Kind(name="noop", max_attempts=7)})
    world.submit()

    [claim] = world.claim(world.worker())

    assert claim.max_attempts == 7


def _id(world: World, name: str) -> str:
    return world.db.read(lambda tx: workers.find(tx, name)).id
