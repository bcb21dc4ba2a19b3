"""Heartbeats: leases are renewed, progress is kept, and a worker hears what it lost."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rushes.domain.graph import Step
from rushes.domain.outcome import Beat
from rushes.domain.task import Claim
from rushes.engine import complete
from tests.world import World


@pytest.fixture
def claim(world: World) -> Claim:
    """The claim of the only task there is."""
    world.submit()
    [claim] = world.claim(world.worker())
    return claim


def test_beat_renews_the_lease(world: World, claim: Claim):
    """000-036, 000-061, 002-003, 002-069."""
    world.tick(30)

    gone = world.beat(claim)

    assert gone is None
    assert world.task(claim.id).lease_expires_at == world.now + 60_000


def test_lease_that_ran_out_is_revived_while_nobody_took_the_task(world: World, claim: Claim):
    """000-060, 000-113 (C8, C75)."""
    world.tick(5 * world.lease)

    gone = world.beat(claim)
    recovered = world.recover()

    assert gone is None
    assert recovered.expired == 0
    assert world.complete(claim)


def test_beat_after_recovery_hears_that_the_task_is_lost(world: World, claim: Claim):
    """000-060, 001-014 (C50)."""
    world.tick(world.lease)
    world.recover()

    assert world.beat(claim) == "lost"
    assert world.task(claim.id).state == "ready"


def test_beat_after_another_claim_of_the_same_worker_hears_that_the_first_is_lost(
    world: World, claim: Claim
):
    """001-014 (C9)."""
    world.hand_back(claim)
    [fresh] = world.claim(claim.owner)

    assert world.beat(claim) == "lost"
    assert world.beat(fresh) is None


def test_beat_of_another_worker_changes_nothing(world: World, claim: Claim):
    """000-059."""
    world.tick(30)
    before = world.task(claim.id)

    beat = Beat(id=claim.id, epoch=claim.epoch, progress=50)
    gone = complete.extend(world.engine, world.worker("bob"), [beat], now=world.now)

    assert gone == {claim.id: "lost"}
    assert world.task(claim.id) == before


def test_beat_after_a_kill_hears_that_the_task_was_killed(world: World, claim: Claim):
    """004-015, 004-028."""
    world.kill(claim.job_id)

    assert world.beat(claim) == "killed"


def test_only_the_claims_that_are_named_are_renewed(world: World):
    """001-012: a task that a worker has forgotten is not kept alive."""
    world.submit({"noop": Step(items=[{}, {}])})
    named, forgotten = world.claim(world.worker(), 2)
    world.tick(30)

    world.beat(named)

    leases = [world.task(claim.id).lease_expires_at - world.now for claim in (named, forgotten)]
    assert leases == [60_000, 30_000]


def test_answer_names_only_what_is_gone(world: World):
    world.submit({"noop": Step(items=[{}, {}])})
    owner = world.worker()
    kept, lost = world.claim(owner, 2)
    world.hand_back(lost)
    beats = [Beat(id=claim.id, epoch=claim.epoch) for claim in (lost, kept)]

    gone = complete.extend(world.engine, owner, beats, now=world.now)

    assert gone == {lost.id: "lost"}


def test_worker_without_claims_asks_the_database_nothing(world: World):
    assert complete.extend(world.engine, "ann#1", [], now=world.now) == {}


def test_progress_step_and_message_are_written(world: World, claim: Claim):
    """000-012, 000-013, 000-061, 004-022, 004-026 (C42: a phase is no state)."""
    world.beat(claim, moved=True, progress=40, phase="uploading_outputs", message="720p 31/72")
    world.beat(claim)

    task = world.task(claim.id)
    assert (task.progress, task.phase, task.message) == (40, "uploading_outputs", "720p 31/72")
    assert task.state == "running"


@given(st.lists(st.integers(0, 100), max_size=8))
@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_progress_never_falls(world: World, claim: Claim, reports: list[int]):
    """000-013."""
    before = world.task(claim.id).progress
    for percent in reports:
        world.beat(claim, progress=percent)

    assert world.task(claim.id).progress == max([before, *reports])


def test_progress_is_kept_from_one_attempt_to_the_next(world: World, claim: Claim):
    """000-088, 000-112."""
    world.beat(claim, progress=40)
    world.tick(world.lease)
    world.recover()
    [again] = world.claim(claim.owner)

    world.beat(again, progress=10)

    assert world.task(claim.id).progress == 40


def test_beat_without_movement_renews_the_lease_but_not_the_stall_time(world: World, claim: Claim):
    """000-015, 000-055 (C5)."""
    started = world.now
    world.tick(30)
    world.beat(claim)
    still = world.task(claim.id).progress_at

    world.beat(claim, moved=True)

    assert (still, world.task(claim.id).progress_at) == (started, world.now)


def test_checkpoint_is_kept_and_ends_a_row_of_losses(world: World, claim: Claim):
    """000-088, 000-112 (C10)."""
    world.tick(world.lease)
    world.recover()
    [again] = world.claim(claim.owner)
    lost = world.task(claim.id).losses
    world.beat(again, checkpoint='{"at": 7}')
    world.beat(again)

    world.tick(timedelta(minutes=1))
    world.recover()
    [third] = world.claim(claim.owner)

    assert (lost, world.task(claim.id).losses) == (1, 1)
    assert third.checkpoint == '{"at": 7}'


def test_heartbeat_is_no_event(world: World, claim: Claim):
    before = len(world.events())

    world.beat(claim, moved=True, progress=50)

    assert len(world.events()) == before


@pytest.mark.parametrize("text", ["a\x00b", "a\ud800b"])
def test_message_that_cannot_be_stored_costs_no_lease(world: World, claim: Claim, text: str):
    """000-061: what one stage says must not end the leases of its neighbours."""
    gone = world.beat(claim, message=text, phase=text)

    assert gone is None
    assert world.task(claim.id).message in ("ab", "a?b")


@pytest.mark.parametrize("percent, shown", [(-5, 0), (101, 100), (10**12, 100)])
def test_progress_beyond_the_scale_costs_no_lease(
    world: World, claim: Claim, percent: int, shown: int
):
    """000-013."""
    gone = world.beat(claim, progress=percent)

    assert gone is None
    assert world.task(claim.id).progress == shown
