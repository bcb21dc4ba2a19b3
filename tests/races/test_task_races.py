"""Two of anything at once. Every test runs on SQLite and on PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier

import pytest

from rushes.domain.graph import JobRequest, Step
from rushes.domain.outcome import Done
from rushes.domain.task import Claim
from rushes.engine import complete, operator, recovery
from rushes.engine.claim import take
from rushes.engine.journal import Journal
from rushes.engine.operator import set_priority
from rushes.engine.presence import Introduction, present, register_beside
from rushes.engine.recovery import mark_offline
from rushes.engine.submit import submit_many
from rushes.errors import ActiveJobExists, Conflict
from rushes.store import database
from rushes.store.database import Transaction
from tests.waiting import until
from tests.world import World, interrupted, sql

on_postgres = pytest.mark.parametrize(
    "db", [pytest.param("postgres", marks=pytest.mark.postgres)], indirect=True
)

WRITTEN_BY_ONE_THAT_WAITS = """
SELECT CAST(held.relation AS regclass)::text AS name
  FROM pg_locks AS waiting
  JOIN pg_locks AS held USING (pid)
 WHERE NOT waiting.granted
   AND waiting.locktype = 'transactionid'
   AND held.mode = 'RowExclusiveLock'
   AND held.database = (SELECT oid FROM pg_database WHERE datname = current_database())
"""


def at_once(*actions: Callable[[], object]) -> list[object]:
    """Run all actions at the same moment, each in a thread, and return what they return."""
    start = Barrier(len(actions), timeout=30)

    def act(action: Callable[[], object]) -> object:
        start.wait()
        return action()

    with ThreadPoolExecutor(len(actions)) as pool:
        return list(pool.map(act, actions))


def test_rivals_never_claim_the_same_task(world: World):
    """000-048, 000-054, 000-111, 000-146, 000-151, 000-163, 001-008."""
    world.submit({"noop": Step(items=[{}] * 60)})
    rivals = [world.worker(f"worker-{n}") for n in range(8)]

    def take_all(owner: str) -> list[int]:
        haul: list[int] = []
        while claims := world.claim(owner, 3):
            haul += [claim.id for claim in claims]
        return haul

    hauls = at_once(*(lambda owner=owner: take_all(owner) for owner in rivals))

    claimed = [task_id for haul in hauls for task_id in haul]
    assert len(claimed) == len(set(claimed)) == 60


def test_workers_that_start_together_do_not_take_each_others_names(world: World):
    who = Introduction(name="box", lanes={"default": 1}, kinds=frozenset({"noop"}))

    owners = at_once(*([lambda: register_beside(world.engine, who)] * 8))

    names = {str(owner).partition("#")[0] for owner in owners}
    assert names == {"box", *(f"box-{n}" for n in range(2, 9))}
    for owner in owners:
        present(world.engine, str(owner))


@on_postgres
def test_rival_passes_a_task_that_is_being_claimed_and_takes_the_next(world: World):
    """000-048, 000-053, 000-111, 001-008, 001-009, 002-002: it neither waits nor goes without."""
    jobs = [world.submit(), world.submit()]
    first, second = world.worker("ann"), world.worker("bob")
    passed: list[Claim] = []

    def claim_impatiently(tx: Transaction) -> list[Claim]:
        tx._connection.execute("SET LOCAL lock_timeout = '200ms'")
        return take(tx, world.engine, second, {"default": 1}, Journal())

    def rival() -> None:
        passed.extend(world.db.transact(claim_impatiently, now=world.now))

    with interrupted("claim.before_commit", rival):
        claims = world.claim(first)

    assert [claim.job_id for claim in (*claims, *passed)] == jobs


@on_postgres
def test_exchange_that_waits_for_another_of_its_worker_has_only_its_commit_before_it(world: World):
    """So several exchanges of one worker hardly ever wait for each other."""
    for _ in range(2):
        world.submit()
    owner = world.worker()
    [claim] = world.claim(owner)
    written: set[str] = set()

    def look() -> bool:
        written.update(row["name"] for row in sql(world.db, WRITTEN_BY_ONE_THAT_WAITS))
        return bool(written)

    with ThreadPoolExecutor(1) as pool, world.db.connect() as rival, rival.transaction():  # type: ignore[attr-defined]
        rival.execute("UPDATE workers SET tasks_done = tasks_done")
        answer = pool.submit(
            complete.exchange,
            world.engine,
            owner,
            [Done(claim.id, claim.epoch, "1")],
            {"default": 1},
        )
        until(look)

    assert written >= {"tasks", "attempts", "jobs", "events", "workers"}
    assert len(answer.result().claims) == 1


@on_postgres
def test_jobs_are_started_in_the_order_in_which_all_lock_them(world: World):
    """001-009: two claims that start the same jobs wait for each other, and never in a circle."""
    request = JobRequest(kind="test", steps={"noop": Step()})
    submitted = submit_many(world.engine, [request] * 500, now=world.now)
    first, *others = sorted(job.job_id for job in submitted)
    sql(world.db, "ANALYZE jobs")  # for the plan that a table of some size gets
    owner = world.worker()

    def unlocked() -> list[str]:
        free = "SELECT CAST(id AS text) AS id FROM jobs ORDER BY id FOR UPDATE SKIP LOCKED"
        return [row["id"] for row in sql(world.db, free)]

    with ThreadPoolExecutor(1) as pool, world.db.connect() as rival, rival.transaction():  # type: ignore[attr-defined]
        rival.execute("SELECT 1 FROM jobs WHERE id = %s FOR UPDATE", [first])
        claims = pool.submit(world.claim, owner, 20)
        until(lambda: sql(world.db, WRITTEN_BY_ONE_THAT_WAITS))
        free = unlocked()

    assert free == others
    assert len(claims.result()) == 20


@pytest.mark.parametrize("next_owner", ["quick", "slow"])
def test_stale_claim_cannot_complete_after_recovery(world: World, next_owner: str):
    """000-117, 000-153, 001-013, 001-014 (C9, D1)."""
    owners = {name: world.worker(name) for name in ("quick", "slow")}
    world.submit()
    [stale] = world.claim(owners["slow"])
    world.tick(world.lease)
    world.recover()
    [fresh] = world.claim(owners[next_owner])

    accepted = world.complete(stale, "stale")

    assert not accepted
    assert world.beat(stale) == "lost"
    assert not world.fail(stale, retryable=False)
    assert not world.hand_back(stale)
    assert world.complete(fresh, "fresh")
    assert world.task(fresh.id).result == '"fresh"'


def test_worker_cannot_complete_the_claim_of_another(world: World):
    """000-059, 000-066, 001-013."""
    world.submit()
    [claim] = world.claim(world.worker("ann"))

    accepted = world.complete(claim, owner=world.worker("bob"))

    assert not accepted
    assert world.task(claim.id).state == "running"


@pytest.mark.parametrize("n", range(5))
def test_completion_and_recovery_cannot_both_win(world: World, n: int):
    """000-154, 001-014."""
    claim = _expired(world)

    completed, recovered = at_once(
        lambda: world.complete(claim), lambda: bool(world.recover().expired)
    )

    assert sorted([completed, recovered]) == [False, True]
    assert world.task(claim.id).state == ("done" if completed else "ready")


@pytest.mark.parametrize("n", range(5))
def test_completion_recovery_and_kill_have_one_winner(world: World, n: int):
    """000-154, 003-025, 003-027, 004-028 (C57, C71)."""
    claim = _expired(world)

    def kill() -> bool:
        try:
            return world.kill(claim.job_id).status == "killed"
        except Conflict:
            return False

    completed, recovered, killed = at_once(
        lambda: world.complete(claim), lambda: bool(world.recover().expired), kill
    )

    state = world.task(claim.id).state
    assert completed != killed
    assert not (completed and recovered)
    assert state == ("done" if completed else "killed")
    assert len(world.attempts(claim.job_id)) == 1


def test_completion_between_the_look_and_the_move_of_recovery_stands(world: World):
    """000-095, 000-154 (River #1302): what recovery saw may have moved since."""
    claim = _expired(world)

    with interrupted("recovery.between_select_update", lambda: world.complete(claim, "kept")):
        recovered = world.recover()

    assert recovered.expired == recovered.exhausted == 0
    assert (world.task(claim.id).state, world.task(claim.id).result) == ("done", '"kept"')
    assert world.job(claim.job_id).status == "completed"


def test_completion_of_the_last_attempt_between_look_and_move_stands(world: World):
    """000-154 (River #1302)."""
    claim = _expired(world, max_attempts=1)

    with interrupted("recovery.between_select_update", lambda: world.complete(claim)):
        recovered = world.recover()

    assert recovered.exhausted == 0
    assert world.task(claim.id).state == "done"


def test_heartbeat_between_the_look_and_the_move_of_recovery_keeps_the_task(world: World):
    """000-095, 000-113 (C8, C75)."""
    claim = _expired(world)

    with interrupted("recovery.between_select_update", lambda: world.beat(claim)):
        recovered = world.recover()

    assert recovered.expired == 0
    assert world.complete(claim)


def test_new_claim_between_the_look_and_the_move_of_recovery_is_not_taken(world: World):
    """000-095 (C9): recovery moves the claim that it saw, not the next one."""
    claim = _expired(world)
    fresh: list[Claim] = []

    def move_on() -> None:
        world.hand_back(claim)
        fresh.extend(world.claim(claim.owner))

    with interrupted("recovery.between_select_update", move_on):
        recovered = world.recover()

    assert recovered.expired == 0
    assert world.complete(fresh[0])


def test_two_recoveries_at_once_count_one_loss(world: World):
    """001-018, 003-057: two leaders are harmless."""
    claim = _expired(world)

    passes = at_once(world.recover, world.recover)

    assert sum(done.expired for done in passes) == 1
    assert world.task(claim.id).losses == 1
    assert [event.type for event in world.events()].count("task.expired") == 1


@pytest.mark.parametrize("n", range(5))
def test_heartbeat_and_offline_check_leave_the_worker_online(world: World, n: int):
    """000-094, 000-114, 000-152 (C46): whoever comes first, the worker that beats is there."""
    owner = world.worker()
    world.tick(timedelta(minutes=6))

    at_once(
        lambda: present(world.engine, owner, now=world.now),
        lambda: mark_offline(world.engine, now=world.now),
    )
    present(world.engine, owner, now=world.now)

    types = [event.type for event in world.events()]
    assert mark_offline(world.engine, now=world.now) == []
    assert types.count("worker.offline") == types.count("worker.online")


def test_requeue_and_submit_for_one_dedupe_key_leave_one_active_job(world: World):
    """002-052: the loser hears which job is active, never a word of the database's own."""
    for n in range(15):
        key = f"asset-{n}"
        old = world.submit(dedupe_key=key)
        world.kill(old)

        answers = at_once(
            lambda old=old: _requeued(world, old), lambda key=key: world.submit(dedupe_key=key)
        )

        assert len(set(answers)) == 1
        assert world.job(answers[0]).status == "queued"


@pytest.mark.parametrize("n", range(3))
def test_batches_in_opposite_order_do_not_wait_for_each_other(
    world: World, monkeypatch: pytest.MonkeyPatch, n: int
):
    """000-157: a deadlock would show, because nothing is tried twice here."""
    monkeypatch.setattr(database, "TRIES", 1)
    jobs = [
        world.submit({"noop": Step(items=[{}] * 20), "join": Step(after=("noop",))}) for _ in "ab"
    ]
    ann, bob = world.worker("ann"), world.worker("bob")
    hers, his = world.claim(ann, 20), world.claim(bob, 20)
    mixed = [[*hers[:10], *his[:10]], [*his[10:], *hers[10:]]]

    def report(owner: str, claims: list[Claim]) -> frozenset[int]:
        outcomes = [Done(claim.id, claim.epoch, "null") for claim in claims]
        return complete.report(world.engine, owner, outcomes, now=world.now)

    at_once(
        *(lambda b=batch, o=owner: report(o, b) for batch in mixed for owner in (ann, bob)),
        *(lambda b=batch, o=owner: report(o, b[::-1]) for batch in mixed for owner in (ann, bob)),
    )

    assert [world.states(job_id)["join"] for job_id in jobs] == [["ready"], ["ready"]]


@pytest.mark.parametrize("n", range(5))
def test_operator_and_completions_of_a_fan_out_do_not_wait_for_each_other(
    world: World, monkeypatch: pytest.MonkeyPatch, n: int
):
    """000-157: the finalizer has a smaller id than the tasks that it waits for."""
    monkeypatch.setattr(database, "TRIES", 1)
    owner = world.worker()
    jobs = [_fanned_out(world, owner, 6) for _ in range(2)]
    claims = world.claim(owner, 12)

    at_once(
        *(lambda claim=claim: world.complete(claim) for claim in claims[::-1]),
        lambda: operator.kill(world.engine, jobs[0], now=world.now),
        lambda: set_priority(world.engine, jobs[1], 8, now=world.now),
    )

    assert world.job(jobs[0]).status in ("killed", "running")


def _requeued(world: World, job_id: str) -> str:
    """Try a job again. Returns the job that is active afterwards."""
    try:
        world.requeue(job_id)
    except ActiveJobExists as error:
        return str(error.detail["job_id"])
    return job_id


def _expired(world: World, **options: int) -> Claim:
    """A claim whose lease has just run out."""
    world.submit({"noop": Step(**options)})
    [claim] = world.claim(world.worker())
    world.tick(world.lease)
    return claim


def _fanned_out(world: World, owner: str, n: int) -> str:
    steps = {
        "split": Step(priority=10),
        "part": Step(after=("split",), each="values"),
        "join": Step(after=("part",)),
    }
    job_id = world.submit(steps)
    [claim] = world.claim(owner)
    world.complete(claim, {"values": [{}] * n})
    return job_id


def test_take_back_and_completion_cannot_both_win(world: World):
    """000-154: the process was thought dead and was not."""
    claim = _expired(world)

    completed, taken = at_once(
        lambda: world.complete(claim),
        lambda: bool(recovery.take_back(world.engine, [claim.owner], now=world.now).expired),
    )

    assert sorted([completed, taken]) == [False, True]
