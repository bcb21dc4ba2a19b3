"""What workers report: done, failed, handed back. A report that is stale changes nothing."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

from rushes.domain.failure import failure
from rushes.domain.graph import Step
from rushes.domain.outcome import Done, Failed, HandedBack
from rushes.domain.task import Claim
from rushes.engine import complete
from rushes.engine.complete import exchange
from rushes.errors import Unavailable
from rushes.store import workers
from tests.world import World, armed, sql


@pytest.fixture
def claim(world: World) -> Claim:
    """The claim of the only task there is."""
    world.submit()
    [claim] = world.claim(world.worker())
    return claim


def test_completion_ends_the_task_and_frees_its_lease(world: World, claim: Claim):
    """000-066, 000-067, 000-070, 001-013 (C12)."""
    accepted = world.complete(claim, {"x": 1})

    task = world.task(claim.id)
    assert accepted
    assert (task.state, task.result, task.progress) == ("done", '{"x": 1}', 100)
    assert (task.lease_owner, task.lease_expires_at, task.last_owner) == (None, None, claim.owner)
    assert task.finished_at == world.now


def test_completion_after_the_lease_ran_out_is_accepted_while_nobody_took_the_task(
    world: World, claim: Claim
):
    """000-117, 000-153 (C8: finished work is not thrown away)."""
    world.tick(10 * world.lease)

    assert world.complete(claim)


def test_completion_after_another_worker_took_the_task_is_refused(world: World, claim: Claim):
    """000-117, 000-153, 001-014."""
    world.tick(world.lease)
    world.recover()
    [fresh] = world.claim(world.worker("bob"))

    assert not world.complete(claim, "stale")
    assert world.complete(fresh, "fresh")
    assert world.task(claim.id).result == '"fresh"'


@pytest.mark.parametrize("epoch", [0, 2, 99, -1])
def test_claim_of_another_epoch_is_refused(world: World, claim: Claim, epoch: int):
    """001-013 (C9)."""
    forged = Done(claim.id, epoch, "null")

    refused = complete.report(world.engine, claim.owner, [forged], now=world.now)

    assert refused == {claim.id}
    assert world.task(claim.id).state == "running"


def test_task_that_does_not_exist_is_refused(world: World, claim: Claim):
    outcomes = [Done(9_999, 1, "null"), Failed(9_998, 1, _broken()), HandedBack(9_997, 1)]

    refused = complete.report(world.engine, claim.owner, outcomes, now=world.now)

    assert refused == {9_999, 9_998, 9_997}


def test_refused_outcome_does_not_hold_up_the_others_of_its_batch(world: World):
    job_id = world.submit({"noop": Step(items=[{}] * 3)})
    owner = world.worker()
    claims = world.claim(owner, 3)
    world.hand_back(claims[1])
    outcomes = [Done(claim.id, claim.epoch, "null") for claim in claims]

    refused = complete.report(world.engine, owner, outcomes, now=world.now)

    assert refused == {claims[1].id}
    assert world.states(job_id) == {"noop": ["done", "ready", "done"]}


def test_completion_that_is_repeated_is_answered_as_the_first(world: World, claim: Claim):
    """000-066: the answer was lost, the worker asks again."""
    first = world.complete(claim, 1)

    again = world.complete(claim, 2)

    assert (first, again) == (True, True)
    assert world.task(claim.id).result == "1"
    assert len(world.attempts(claim.job_id)) == 1


def test_completion_that_another_owner_repeats_is_refused(world: World, claim: Claim):
    """000-059, 000-066."""
    world.complete(claim)

    assert not world.complete(claim, owner=world.worker("bob"))


def test_answer_that_was_lost_after_the_commit_is_found_by_asking_again(world: World, claim: Claim):
    """000-066."""
    with armed("complete.after_commit=error"), pytest.raises(Unavailable):
        world.complete(claim)

    assert world.complete(claim)


def test_failure_and_hand_back_that_are_repeated_are_answered_as_the_first(world: World):
    world.submit({"noop": Step(items=[{}] * 3)})
    owner = world.worker()
    retried, ended, back = world.claim(owner, 3)
    world.fail(retried)
    world.fail(ended, retryable=False)
    world.hand_back(back)

    assert world.fail(retried)
    assert world.fail(ended, retryable=False)
    assert world.hand_back(back)
    assert len(world.attempts(retried.job_id)) == 3


def test_failure_that_is_repeated_after_a_requeue_changes_nothing(world: World, claim: Claim):
    """001-014."""
    world.fail(claim, retryable=False)
    world.requeue(claim.job_id)

    again = world.fail(claim, retryable=False)

    assert again
    assert world.task(claim.id).state == "ready"


def test_completion_of_a_killed_claim_is_refused_after_a_requeue_too(world: World, claim: Claim):
    """001-014, 004-028."""
    world.kill(claim.job_id)
    world.requeue(claim.job_id)
    waiting = world.complete(claim)
    [fresh] = world.claim(claim.owner)
    running = world.complete(claim)

    assert (waiting, running) == (False, False)
    assert world.complete(fresh)


def test_completion_of_a_claim_that_ended_otherwise_is_refused(world: World, claim: Claim):
    """001-014: a failure that was accepted is not undone by a late success."""
    world.fail(claim, retryable=False)

    assert not world.complete(claim)


def test_failure_with_attempts_left_is_tried_again_after_its_backoff(world: World, claim: Claim):
    """000-080, 000-083, 000-149, 002-046, 002-048, 002-051, 003-060 (C27, C47, D7)."""
    world.fail(claim)
    task = world.task(claim.id)
    early = world.advance()
    world.now = task.run_at
    due = world.advance()

    assert (task.state, task.lease_owner, task.attempt) == ("new", None, 1)
    assert 8_000 <= task.run_at - task.claimed_at <= 12_000
    assert (early, due) == (0, 1)
    assert world.task(claim.id).state == "ready"
    assert world.job(claim.job_id).status == "running"


def test_heavy_kind_waits_by_the_list(world: World):
    """002-048 (C26, D13)."""
    owner = world.worker()
    world.submit({"heavy": Step(max_attempts=4)})
    waits = []
    for _ in range(3):
        [claim] = world.claim(owner)
        world.fail(claim)
        waits.append((world.task(claim.id).run_at - world.now) / 1_000)
        world.now = world.task(claim.id).run_at
        world.advance()

    shares = [seen / wait for seen, wait in zip(waits, (60, 300, 900), strict=True)]
    assert all(0.8 <= share <= 1.2 for share in shares)


def test_three_attempts_are_three_runs(world: World, claim: Claim):
    """000-010, 000-022, 000-082, 000-084, 000-087, 002-049, 003-011 (C1, D4)."""
    attempts = []
    for _ in range(3):
        attempts.append(claim.attempt)
        world.fail(claim)
        world.tick(timedelta(minutes=10))
        world.advance()
        if claims := world.claim(claim.owner):
            [claim] = claims

    assert attempts == [1, 2, 3]
    assert world.task(claim.id).state == "error"
    assert world.job(claim.job_id).status == "failed"


def test_failure_that_cannot_be_helped_is_not_tried_again(world: World, claim: Claim):
    """002-050 (C28)."""
    world.fail(claim, "INVALID_INPUT")

    assert world.task(claim.id).state == "error"
    assert json.loads(world.task(claim.id).failure)["retryable"] is False


def test_payload_stays_what_it_was_whatever_fails(world: World):
    """002-055 (C29, D14)."""
    world.submit({"noop": Step(params={"x": 1})})
    [claim] = world.claim(world.worker())

    world.fail(claim)

    assert world.task(claim.id).params == '{"x":1}'


def test_hand_back_costs_no_attempt(world: World, claim: Claim):
    """003-051 (C2, C55)."""
    world.hand_back(claim)
    task = world.task(claim.id)

    [again] = world.claim(claim.owner)

    assert (task.state, task.attempt, task.lease_epoch) == ("ready", 0, 1)
    assert (again.attempt, again.epoch) == (1, 2)


def test_epoch_grows_with_every_claim_and_never_falls(world: World, claim: Claim):
    """001-013, 001-014 (C9): unlike the attempt, which a hand back and a requeue give back."""
    epochs = [claim.epoch]
    world.hand_back(claim)
    [claim] = world.claim(claim.owner)
    epochs.append(claim.epoch)
    world.fail(claim, retryable=False)
    world.requeue(claim.job_id)

    [claim] = world.claim(claim.owner)

    assert [*epochs, claim.epoch] == [1, 2, 3]
    assert claim.attempt == 1


def test_every_attempt_is_in_the_history(world: World, claim: Claim):
    """000-016, 000-084, 001-017, 002-001, 002-055 (C12, C29)."""
    owner = claim.owner
    world.hand_back(claim)
    [second] = world.claim(owner)
    world.fail(second)
    world.tick(20)
    world.advance()
    [third] = world.claim(owner)
    world.complete(third)

    history = world.attempts(claim.job_id)

    rows = [(row["epoch"], row["attempt"], row["outcome"], row["owner"]) for row in history]
    assert rows == [
        (1, 1, "handed_back", owner),
        (2, 1, "retried", owner),
        (3, 2, "done", owner),
    ]
    assert history[1]["failure"]["error_code"] == "PROCESSING_ERROR"
    assert all(row["claimed_at"] <= row["ended_at"] for row in history)


def test_history_names_the_worker_when_its_row_is_long_gone(world: World, claim: Claim):
    """000-016, 000-017."""
    world.complete(claim)
    sql(world.db, "DELETE FROM workers")

    [attempt] = world.attempts(claim.job_id)

    assert attempt["owner"].startswith("ann#")
    assert world.task(claim.id).last_owner == claim.owner


def test_report_and_claim_are_one_exchange(world: World):
    """001-009."""
    world.submit({"split": Step(), "join": Step(after=("split",))})
    owner = world.worker()
    [split] = world.claim(owner)
    done = Done(split.id, split.epoch, "null")

    answer = exchange(world.engine, owner, [done], {"default": 5}, now=world.now)

    assert answer.refused == frozenset()
    assert [claim.step for claim in answer.claims] == ["join"]


def test_claims_that_a_worker_never_heard_of_are_given_back(world: World):
    """The answer to a claim was lost."""
    world.submit({"noop": Step(items=[{}] * 3)})
    owner = world.worker()
    heard, *unheard = world.claim(owner, 3)

    strays = complete.hand_back_strays(world.engine, owner, [heard.id], now=world.now)

    tasks = [world.task(claim.id) for claim in unheard]
    assert strays == 2
    assert [(task.state, task.attempt) for task in tasks] == [("ready", 0), ("ready", 0)]
    assert world.complete(heard)


def test_claims_of_another_worker_are_no_strays(world: World, claim: Claim):
    """000-059."""
    strays = complete.hand_back_strays(world.engine, world.worker("bob"), [], now=world.now)

    assert strays == 0
    assert world.complete(claim)


def test_worker_counts_what_it_did(world: World):
    """003-018."""
    world.submit({"noop": Step(items=[{}] * 4)})
    owner = world.worker()
    done, failed, retried, back = world.claim(owner, 4)
    world.complete(done)
    world.fail(failed, retryable=False)
    world.fail(retried)
    world.hand_back(back)

    worker = world.db.read(lambda tx: workers.find(tx, "ann"))

    assert (worker.tasks_done, worker.tasks_failed, worker.load) == (1, 1, 0)


def test_history_is_written_with_what_it_tells(world: World, claim: Claim):
    """002-001, 003-025: a completion that breaks leaves no event behind."""
    with armed("complete.before_commit=error"), pytest.raises(Unavailable):
        world.complete(claim)
    world.complete(claim)

    types = [event.type for event in world.events(claim.job_id)]

    assert sorted(types) == [
        *("job.completed", "job.started", "job.submitted", "task.claimed", "task.done"),
    ]


def test_event_of_a_batch_is_one_row_per_job_with_its_tasks_and_epochs(world: World):
    job_id = world.submit({"noop": Step(items=[{}] * 3)})
    owner = world.worker()
    claims = world.claim(owner, 3)
    outcomes = [Done(claim.id, claim.epoch, "null") for claim in claims]
    complete.report(world.engine, owner, outcomes, now=world.now)

    [done] = [event for event in world.events(job_id) if event.type == "task.done"]

    assert done.data == {"worker": owner, "tasks": [[claim.id, 1] for claim in claims]}


def _broken() -> object:
    return failure("INTERNAL", "it broke", error_type="Broken")
