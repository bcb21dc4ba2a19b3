"""Why a task does not run: one reason out of a closed list, and what each worker says."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rushes.domain.room import ROOM, Room
from rushes.domain.task import FINAL, State, Task
from rushes.domain.waiting import Facts, Line, Pause, Reason, Refusal, Waiting, explain
from tests.world import NOON

LATE_MS = 45_000


def test_task_waits_for_its_open_parents():
    """002-071."""
    parents = [_task("running", step=f"p{n}", progress=40) for n in range(5)]

    waiting = _explain(_task("new", open_parents=5), parents=[*parents, _task("done", step="done")])

    assert waiting.reason is Reason.DEPENDENCY
    assert waiting.text == "waits for p0 (40 %), p1 (40 %), p2 (40 %) and 2 more"


def test_step_of_many_tasks_is_waited_for_as_one():
    parents = [_task(state, step="transcode") for state in ("done", "running", "ready")]

    waiting = _explain(
        _task("new", open_parents=2), parents=[_task("done", step="probe"), *parents]
    )

    assert waiting.text == "waits for transcode (1 of 3 done)"


def test_task_waits_out_its_backoff():
    """002-048."""
    failure = json.dumps({"error_code": "DISK_FULL"})
    task = _task("new", failure=failure, attempt=1, max_attempts=3, run_at=NOON + 60_000)

    waiting = _explain(task)

    assert waiting.reason is Reason.BACKOFF
    assert waiting.text == "attempt 2/3 follows DISK_FULL"
    assert waiting.until == NOON + 60_000


def test_task_waits_for_its_time():
    waiting = _explain(_task("new", run_at=NOON + 1))

    assert (waiting.reason, waiting.until) == (Reason.SCHEDULED, NOON + 1)


def test_pause_is_named_before_anything_that_a_worker_says():
    pause = Pause(by="eve", reason="new disks")

    waiting = _explain(_task("ready", kind="noop"), refusals=[_says(lacks=("gpu",))], pause=pause)

    assert waiting.reason is Reason.QUEUE_PAUSED
    assert waiting.text == "noop is paused by eve: new disks"


def test_no_worker_at_all_is_no_capable_worker():
    waiting = _explain(_task("ready"))

    assert (waiting.reason, waiting.text) == (Reason.NO_CAPABLE_WORKER, "no worker is running")


def test_every_worker_says_what_it_lacks():
    refusals = [
        _says("gpu-1", "NO_CAPABLE_WORKER", lacks=("av1",)),
        _says("cpu-1", "NO_CAPABLE_WORKER", lacks=("stage:gpu", "nvenc")),
    ]

    waiting = _explain(_task("ready", kind="gpu"), refusals=refusals)

    assert waiting.reason is Reason.NO_CAPABLE_WORKER
    assert waiting.workers == ("gpu-1: lacks av1", "cpu-1: lacks gpu, nvenc")


def test_capable_workers_that_are_silent_are_offline():
    waiting = _explain(_task("ready"), refusals=[_says(silent_ms=LATE_MS + 1)])

    assert waiting.reason is Reason.WORKERS_OFFLINE
    assert waiting.text == "the last capable worker was seen 45 s ago"
    assert waiting.workers == ("ann: silent for 45 s",)


def test_capable_workers_that_take_nothing_are_draining():
    waiting = _explain(_task("ready"), refusals=[_says(reason="WORKERS_DRAINING")])

    assert waiting.reason is Reason.WORKERS_DRAINING
    assert waiting.workers == ("ann: takes nothing new",)


def test_worker_that_lacks_only_room_is_short_of_room():
    refusals = [
        _says("gpu-1", "NO_CAPABLE_WORKER", lacks=("stage:write",)),
        _says("cpu-1", "NO_CAPABLE_WORKER", lacks=(ROOM,), room=Room(500, 2_000)),
    ]

    waiting = _explain(_task("ready"), refusals=refusals)

    assert waiting.reason is Reason.STORAGE_LOW
    assert waiting.workers == ("gpu-1: lacks write", "cpu-1: 500 B free, needs 2.0 kB")


@pytest.mark.parametrize(
    "answer, reason",
    [
        ({"silent_ms": LATE_MS + 1, "reason": "NO_CAPABLE_WORKER"}, Reason.WORKERS_OFFLINE),
        ({"reason": "WORKERS_DRAINING"}, Reason.WORKERS_DRAINING),
    ],
)
def test_worker_without_room_that_takes_nothing_anyway_says_that_first(
    answer: dict[str, Any], reason: Reason
):
    refusal = _says(**answer, lacks=(ROOM,), room=Room(500, 2_000))

    assert _explain(_task("ready"), refusals=[refusal]).reason is reason


def test_task_is_left_to_a_free_worker_that_has_what_it_prefers():
    """000-047, 000-056."""
    refusals = [_says("cpu", "GPU_PREFERRED"), _says("gpu")]

    waiting = _explain(_task("ready"), refusals=refusals, gpu_until=NOON + 10_000)

    assert (waiting.reason, waiting.until) == (Reason.GPU_PREFERRED, NOON + 10_000)
    assert waiting.workers == ("cpu: gpu preferred", "gpu: free")


def test_full_workers_are_busy_and_the_place_in_line_is_named():
    waiting = _explain(_task("ready"), refusals=[_says(held=2)], line=Line(ahead=3, higher=1))

    assert waiting.reason is Reason.WORKERS_BUSY
    assert waiting.text == "the capable worker is full; number 4 in line"
    assert waiting.workers == ("ann: full (2/2)",)


def test_others_that_are_first_are_counted():
    waiting = _explain(_task("ready"), refusals=[_says()], line=Line(ahead=3, higher=1))

    assert waiting.reason is Reason.PRIORITY
    assert waiting.text == "3 tasks are first, 1 of them of higher priority"


def test_nothing_holds_the_first_task_of_a_free_worker():
    assert _explain(_task("ready"), refusals=[_says()], line=Line(ahead=0, higher=0)) is None


def test_running_task_with_a_lease_does_not_wait():
    assert _explain(_task("running", lease_expires_at=NOON + 1)) is None


def test_task_of_a_silent_worker_waits_for_recovery():
    """000-020."""
    waiting = _explain(_task("running", lease_owner="ann#1", lease_expires_at=NOON))

    assert waiting.reason is Reason.LEASE_PENDING_RECOVERY
    assert waiting.text.startswith("ann#1 is silent")


def test_task_of_a_silent_worker_waits_for_the_end_of_the_grace():
    """000-092, 000-116."""
    task = _task("running", lease_owner="ann#1", lease_expires_at=NOON)

    waiting = _explain(task, grace_until=NOON + 1)

    assert (waiting.reason, waiting.until) == (Reason.STARTUP_GRACE, NOON + 1)


@pytest.mark.parametrize("state", sorted(FINAL))
def test_final_task_waits_for_nothing(state: str):
    assert _explain(_task(state)) is None


def _explain(task: Task, **facts: Any) -> Waiting | None:
    return explain(task, Facts(now=NOON, late_ms=LATE_MS, **facts))


def _task(state: str, **facts: object) -> Task:
    columns = dict.fromkeys(Task.__dataclass_fields__)
    return Task(**{**columns, "run_at": NOON, "state": State(state), "progress": 0, **facts})


def _says(
    worker: str = "ann",
    reason: str | None = None,
    *,
    lacks: tuple[str, ...] = (),
    held: int = 0,
    silent_ms: int = 0,
    room: Room | None = None,
) -> Refusal:
    return Refusal(
        worker=worker,
        reason=reason,
        lacks=lacks,
        slots=2,
        held=held,
        last_heartbeat=NOON - silent_ms,
        room=room,
    )
