"""Why is it waiting? The answer comes from the predicates that refuse the claim."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rushes.domain.graph import Step
from rushes.domain.kind import Kind
from rushes.domain.room import ROOM, Room
from rushes.domain.waiting import Reason
from rushes.engine import operator, presence
from rushes.engine.claim import take, timing
from rushes.engine.journal import Journal
from rushes.engine.waiting import why_job
from rushes.errors import NotFound
from rushes.store import workers
from rushes.store.database import Database, Transaction
from tests.world import World, sql

LANES = ("default", "side")
MATRIX = {
    f"{lane}-{n}-{p}": Kind(name=f"{lane}-{n}-{p}", lane=lane, needs=needs, prefers=prefers)
    for lane in LANES
    for n, needs in enumerate([frozenset(), frozenset({"gpu"}), frozenset({ROOM})])
    for p, prefers in enumerate([frozenset(), frozenset({"av1"}), frozenset({"gpu", "av1"})])
}
LOW = Room(200_000_000, 1_000_000_000)
Tasks = list[tuple[str, int]]

any_worker = st.fixed_dictionaries(
    {
        "lanes": st.sampled_from(
            [{"default": 2, "side": 2}, {"default": 1, "side": 1}, {"side": 1}]
        ),
        "capabilities": st.sampled_from([(), ("gpu",), ("av1",), ("gpu", "av1"), ("gpu", "av1")]),
        "kinds": st.sets(st.sampled_from(sorted(MATRIX)), max_size=3).map(
            lambda left_out: set(MATRIX) - left_out
        ),
        "mode": st.sampled_from([*["active"] * 9, "draining", "disabled", "stopped"]),
        "silent_s": st.sampled_from([*[0] * 6, 44, 45, 400]),
        "holds": st.integers(0, 2),
        "free_bytes": st.sampled_from([7, 8, 9]),
    }
)
any_tasks = st.lists(
    st.tuples(st.sampled_from(sorted(MATRIX)), st.sampled_from([0, 0, 0, 9, 10, 60])),
    min_size=2,
    max_size=6,
)


@given(
    crew=st.lists(any_worker, min_size=2, max_size=4),
    tasks=any_tasks,
    paused=st.sets(st.sampled_from(sorted(MATRIX)), max_size=2),
)
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_worker_takes_a_task_exactly_when_it_does_not_refuse_it(
    db: Database, crew: list[dict[str, object]], tasks: Tasks, paused: set[str]
):
    """000-047, 000-056, 000-057, 000-150 (C15): the claim and the answer cannot disagree."""
    world = World(db, MATRIX)
    owners = _populate(world, crew, tasks, paused)
    ready = [row["id"] for row in sql(db, "SELECT id FROM tasks WHERE state = 'ready'")]

    refused = {id: _refusals(world, id) for id in ready}

    for owner in owners:
        willing = {id for id, answers in refused.items() if answers.get(owner, "stopped") is None}
        assert _would_claim(world, owner) == willing


@pytest.mark.parametrize("reason", Reason)
def test_reason_is_reached(world: World, reason: Reason):
    """003-046 (`ux.md` 4.5): every reason of the closed list can arise."""
    task_id = SCENES[reason](world)

    waiting = world.why(task_id)

    assert waiting is not None
    assert waiting.reason is reason


def test_every_reason_has_a_scene():
    assert set(SCENES) == set(Reason)


def test_waiting_tasks_of_a_job_are_told_together(world: World):
    job_id = world.submit({"split": Step(), "join": Step(after=("split",))})

    told = why_job(world.engine, job_id, now=world.now)

    assert [(task.step, waiting.reason) for task, waiting in told] == [
        ("split", Reason.NO_CAPABLE_WORKER),
        ("join", Reason.DEPENDENCY),
    ]


def test_task_that_is_about_to_be_claimed_waits_for_nothing(world: World):
    world.worker()
    job_id = world.submit()

    assert why_job(world.engine, job_id, now=world.now) == []


def test_worker_that_left_is_not_asked(world: World):
    owner = world.worker()
    presence.leave(world.engine, owner, now=world.now)

    waiting = world.why(_last(world, world.submit()))

    assert waiting is not None
    assert waiting.text == "no worker is running"


def test_worker_without_a_slot_in_the_lane_is_not_capable(world: World):
    world.worker(lanes={"gpu": 1})

    waiting = world.why(_last(world, world.submit()))

    assert waiting is not None
    assert waiting.reason is Reason.NO_CAPABLE_WORKER
    assert waiting.workers == ("ann: lacks lane default",)


def test_worker_without_room_takes_nothing_that_writes_until_it_has_room_again(world: World):
    """002-051: room on the disk is looked at before a task is claimed."""
    owner = world.worker()
    world.submit({"write": Step()})
    presence.tell_room(world.engine, owner, LOW)
    refused = world.claim(owner)
    world.submit({"noop": Step()})
    [other] = world.claim(owner, 2)

    presence.tell_room(world.engine, owner, Room(1_000_000_000, 1_000_000_000))

    [claim] = world.claim(owner)
    assert (refused, other.kind, claim.kind) == ([], "noop", "write")


def test_lack_of_room_is_told_with_its_figures(world: World):
    task_id = _storage_low(world)

    waiting = world.why(task_id)

    assert waiting is not None
    assert waiting.text == "the disk is nearly full: 200.0 MB free, needs 1.0 GB"
    assert waiting.workers == ("ann: 200.0 MB free, needs 1.0 GB",)


def test_task_that_is_done_waits_for_nothing(world: World):
    owner = world.worker()
    world.submit()
    [claim] = world.finish(owner)

    assert world.why(claim.id) is None


def test_task_that_does_not_exist_is_not_found(world: World):
    with pytest.raises(NotFound, match="there is no task 9999"):
        world.why(9_999)


def _dependency(world: World) -> int:
    return _last(world, world.submit({"split": Step(), "join": Step(after=("split",))}))


def _backoff(world: World) -> int:
    owner = world.worker()
    job_id = world.submit()
    [claim] = world.claim(owner)
    world.fail(claim)
    return _last(world, job_id)


def _scheduled(world: World) -> int:
    return _last(world, world.submit(run_at=world.now + 1))


def _paused(world: World) -> int:
    world.worker()
    operator.pause(world.engine, "noop", by="eve")
    return _last(world, world.submit())


def _no_capable_worker(world: World) -> int:
    world.worker()
    return _last(world, world.submit({"gpu": Step()}))


def _offline(world: World) -> int:
    world.worker()
    world.tick(world.engine.limits.late_after + timedelta(milliseconds=1))
    return _last(world, world.submit())


def _draining(world: World) -> int:
    world.worker()
    operator.drain(world.engine, world.db.read(lambda tx: workers.find(tx, "ann")).id)
    return _last(world, world.submit())


def _storage_low(world: World) -> int:
    presence.tell_room(world.engine, world.worker(), LOW)
    return _last(world, world.submit({"write": Step()}))


def _gpu_preferred(world: World) -> int:
    world.worker("cpu")
    world.worker("gpu", capabilities=["gpu"])
    return _last(world, world.submit({"encode": Step()}))


def _busy(world: World) -> int:
    owner = world.worker(lanes={"default": 1})
    job_id = world.submit({"noop": Step(items=[{}, {}])})
    world.claim(owner)
    return _last(world, job_id)


def _behind(world: World) -> int:
    world.worker()
    world.submit(priority=9)
    return _last(world, world.submit())


def _pending_recovery(world: World) -> int:
    owner = world.worker()
    job_id = world.submit()
    world.claim(owner)
    world.tick(world.lease)
    return _last(world, job_id)


def _grace(world: World) -> int:
    world.recover()
    task_id = _pending_recovery(world)
    world.tick(2 * world.lease)
    assert world.recover().in_grace
    return task_id


SCENES: dict[Reason, Callable[[World], int]] = {
    Reason.DEPENDENCY: _dependency,
    Reason.BACKOFF: _backoff,
    Reason.SCHEDULED: _scheduled,
    Reason.QUEUE_PAUSED: _paused,
    Reason.NO_CAPABLE_WORKER: _no_capable_worker,
    Reason.WORKERS_OFFLINE: _offline,
    Reason.WORKERS_DRAINING: _draining,
    Reason.STORAGE_LOW: _storage_low,
    Reason.GPU_PREFERRED: _gpu_preferred,
    Reason.WORKERS_BUSY: _busy,
    Reason.PRIORITY: _behind,
    Reason.LEASE_PENDING_RECOVERY: _pending_recovery,
    Reason.STARTUP_GRACE: _grace,
}


def _last(world: World, job_id: str) -> int:
    return world.tasks(job_id)[-1].id


def _populate(
    world: World, crew: list[dict[str, object]], tasks: Tasks, paused: set[str]
) -> list[str]:
    """Fill an empty database: workers that hold tasks and are silent, tasks that wait."""
    for table in ("jobs", "tasks", "workers", "pauses", "events"):
        sql(world.db, f"DELETE FROM {table}")
    owners = [_join(world, f"w{n}", worker) for n, worker in enumerate(crew)]
    for worker, owner in zip(crew, owners, strict=True):
        heartbeat = world.now - int(str(worker["silent_s"])) * 1_000
        sql(
            world.db,
            f"UPDATE workers SET mode = '{worker['mode']}', last_heartbeat = {heartbeat}"
            f" WHERE owner = '{owner}'",
        )
    for kind, age_s in tasks:
        job_id = world.submit({kind: Step()})
        ready_at = world.now - age_s * 1_000
        sql(world.db, f"UPDATE tasks SET ready_at = {ready_at} WHERE job_id = '{job_id}'")
    for kind in paused:
        operator.pause(world.engine, kind, by="eve")
    return owners


def _join(world: World, name: str, worker: dict[str, object]) -> str:
    """Register a worker that takes as many tasks as it is to hold."""
    lanes = worker["lanes"]
    owner = world.worker(
        name, lanes=lanes, kinds=worker["kinds"], capabilities=worker["capabilities"]
    )
    presence.tell_room(world.engine, owner, Room(worker["free_bytes"], 8))
    lane = min(lanes)
    kind = f"{lane}-0-0"
    if worker["holds"] and kind in worker["kinds"]:
        world.submit({kind: Step(items=[{}] * worker["holds"])})
        world.claim(owner, worker["holds"], lane)
    return owner


def _refusals(world: World, task_id: int) -> dict[str, str | None]:
    rows = world.db.read(
        lambda tx: tx.rows("refusals", id=task_id, **timing(world.engine)), now=world.now
    )
    return {row["owner"]: row["refusal"] for row in rows}


class _Undo(Exception):
    pass


def _would_claim(world: World, owner: str) -> set[int]:
    """Claim all that `owner` may have, and undo it."""
    claimed: set[int] = set()

    def work(tx: Transaction) -> None:
        claims = take(tx, world.engine, owner, dict.fromkeys(LANES, 100), Journal())
        claimed.update(claim.id for claim in claims)
        raise _Undo

    with pytest.raises(_Undo):
        world.db.transact(work, now=world.now)
    return claimed
