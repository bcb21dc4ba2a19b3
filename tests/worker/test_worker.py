"""A worker at work, on SQLite and on PostgreSQL, with real time, threads and programs."""

from __future__ import annotations

import json
import logging
import sqlite3
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from urllib.parse import urlsplit

import psutil
import pytest

from rushes.domain.graph import Step
from rushes.domain.job import Status
from rushes.domain.task import State
from rushes.engine.operator import disable, drain, kill, resume_worker
from rushes.errors import Unavailable
from rushes.observability import failpoints
from rushes.store import tasks, workers
from rushes.store.postgres import PostgresDatabase
from tests.waiting import until
from tests.worker.conftest import TIMING, Shop

OPEN_TRANSACTIONS = """
SELECT pid FROM pg_stat_activity
 WHERE datname = current_database() AND xact_start IS NOT NULL AND pid <> pg_backend_pid()
"""


def finished(shop: Shop, job: str) -> bool:
    return shop.job(job).finished_at is not None


def running(shop: Shop, job: str) -> bool:
    return any(task.state is State.RUNNING for task in shop.tasks(job))


def failure_of(shop: Shop, job: str) -> dict[str, object]:
    record: dict[str, object] = json.loads(shop.job(job).failure or "{}")
    return record


def test_worker_runs_a_job_to_its_end(shop: Shop) -> None:
    """003-047, 003-053, 003-075, 004-032, 004-033, 004-043."""
    job = shop.submit({"nap": Step(items=[{}] * 20), "count": Step(after=("nap",))})

    with shop.working():
        until(lambda: finished(shop, job))

    assert shop.job(job).status is Status.COMPLETED
    assert json.loads(shop.tasks(job)[-1].result or "") == {"results": 20, "distinct": 20}


def test_short_tasks_are_claimed_ahead_and_all_run_once(shop: Shop) -> None:
    """002-001."""
    job = shop.submit({"noop": Step(items=[{}] * 1_000)})

    with shop.working():
        until(lambda: finished(shop, job))

    assert shop.job(job).status is Status.COMPLETED
    assert len(shop.attempts(job)) == 1_000


def test_every_lane_is_polled_when_no_hint_arrives(shop: Shop) -> None:
    """000-045, 003-046: a lost hint costs a poll, nothing else."""
    with shop.working(hints=False):
        for kind in ("nap", "noop", "nap", "noop"):
            job = shop.submit({kind: Step()})
            until(lambda job=job: finished(shop, job))  # type: ignore[misc]


def test_failure_for_good_is_not_tried_again(shop: Shop) -> None:
    """002-050, 004-016, 004-019."""
    job = shop.submit({"fail": Step()})

    with shop.working():
        until(lambda: finished(shop, job))

    record = failure_of(shop, job)
    assert shop.job(job).status is Status.FAILED
    assert len(shop.attempts(job)) == 1
    assert (record["error_code"], record["hint"]) == ("INVALID_INPUT", "do not try")


def test_bug_in_a_stage_fails_the_task_and_spares_the_worker(shop: Shop) -> None:
    """004-016: stack_trace."""
    job = shop.submit({"bug": Step(max_attempts=1)})
    after = shop.submit({"nap": Step()})

    with shop.working():
        until(lambda: finished(shop, job) and finished(shop, after))

    record = failure_of(shop, job)
    assert (record["error_code"], record["error_type"]) == ("STAGE_EXCEPTION", "ZeroDivisionError")
    assert "int(" in str(record["stack_trace"])
    assert shop.job(after).status is Status.COMPLETED


def test_stage_that_quits_fails_its_task_and_not_its_slot(shop: Shop) -> None:
    """A slot that is gone would be missed by everybody, and its task held for ever."""
    job = shop.submit({"quit": Step(max_attempts=1)})
    after = shop.submit({"nap": Step()})

    with shop.working(slots=1):
        until(lambda: finished(shop, job) and finished(shop, after))

    record = failure_of(shop, job)
    assert (record["error_code"], record["error_type"]) == ("STAGE_EXCEPTION", "SystemExit")
    assert shop.job(after).status is Status.COMPLETED


def test_memory_that_runs_out_is_an_attempt_killed_by_oom(shop: Shop) -> None:
    """004-014."""
    job = shop.submit({"hog": Step(params={"megabytes": 65_536}, max_attempts=1)})

    with shop.working():
        until(lambda: finished(shop, job))

    assert failure_of(shop, job)["killed_by"] == "oom"


def test_long_task_keeps_its_lease(shop: Shop) -> None:
    """000-036, 002-069, 003-048."""
    job = shop.submit({"oversleep": Step(params={"milliseconds": 3_000})})

    with shop.working():
        until(lambda: finished(shop, job))

    assert [attempt["outcome"] for attempt in shop.attempts(job)] == ["done"]


def test_no_transaction_is_open_while_a_stage_works(shop: Shop) -> None:
    """001-010: heavy work happens outside any transaction."""
    job = shop.submit({"oversleep": Step(params={"milliseconds": 4_000})})

    with shop.working():
        until(lambda: running(shop, job))
        until(lambda: not open_transactions(shop), seconds=3)
        assert running(shop, job)


def open_transactions(shop: Shop) -> int:
    """How many others are inside a transaction; on SQLite, whether one keeps us from writing."""
    if isinstance(shop.db, PostgresDatabase):
        with shop.db.connect() as connection:
            return len(connection.execute(OPEN_TRANSACTIONS).fetchall())
    with closing(sqlite3.connect(Path(urlsplit(shop.db.url).path), timeout=0)) as other:
        try:
            other.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError:
            return 1
    return 0


def test_busy_interpreter_does_not_starve_the_heartbeat(shop: Shop) -> None:
    """000-148: a lease of two seconds outlives three of work that never lets go."""
    job = shop.submit({"spin": Step(params={"milliseconds": 3_000})})

    with shop.working():
        until(lambda: finished(shop, job))

    assert [attempt["outcome"] for attempt in shop.attempts(job)] == ["done"]


def test_progress_and_checkpoint_reach_the_row_while_the_task_runs(shop: Shop) -> None:
    """000-012, 000-013, 000-015, 000-061."""
    job = shop.submit({"nap": Step(params={"milliseconds": 150, "steps": 20})})

    with shop.working():
        until(lambda: 0 < shop.tasks(job)[0].progress < 100)
        task = shop.tasks(job)[0]
        kill(shop.engine, job)

    assert task.state is State.RUNNING
    assert task.lease_owner is not None


def test_kill_stops_the_whole_process_group(shop: Shop, tmp_path: Path) -> None:
    """004-013, 004-015, 004-042: no child is left, the completion is refused."""
    pids = tmp_path / "pids"
    job = shop.submit({"child": Step(params={"path": str(pids)})})

    with shop.working():
        until(pids.exists)
        kill(shop.engine, job, name="ann", reason="wrong file")
        children = [int(pid) for pid in pids.read_text().split()]
        until(lambda: not any(alive(pid) for pid in children), seconds=5)
        until(lambda: len(shop.attempts(job)) == 1)

    killed = shop.job(job)
    assert (killed.status, killed.killed_by, killed.killed_reason) == (
        "killed",
        "user",
        "wrong file",
    )
    assert shop.attempts(job)[0]["outcome"] == "killed"


def test_worker_that_beats_seldom_hears_of_a_kill_while_it_holds_a_task(
    shop: Shop, tmp_path: Path
) -> None:
    """A worker beside its database need not be told much, but that at once."""
    pids = tmp_path / "pids"
    seldom = replace(TIMING, heartbeat=timedelta(minutes=5), busy=timedelta(seconds=0.2))

    with shop.working(timing=seldom):
        job = shop.submit({"child": Step(params={"path": str(pids)})})
        until(pids.exists)
        kill(shop.engine, job)
        children = [int(pid) for pid in pids.read_text().split()]
        until(lambda: not any(alive(pid) for pid in children), seconds=10)


def test_drained_worker_stops_at_a_checkpoint_and_loses_no_attempt(shop: Shop) -> None:
    """000-088, 003-050, 003-051, C2, C55."""
    job = shop.submit({"nap": Step(params={"milliseconds": 100, "steps": 20})})
    with shop.working("ann") as ann:
        until(lambda: shop.tasks(job)[0].progress > 0)
        ann.drain()
        until(lambda: not running(shop, job))

    task = shop.tasks(job)[0]
    with shop.working("bob"):
        until(lambda: finished(shop, job))

    assert (task.state, task.attempt) == (State.READY, 0)
    *before, last = shop.attempts(job)
    assert {one["outcome"] for one in before} == {"handed_back"}  # a far one may be asked again
    assert last["outcome"] == "done"
    assert json.loads(shop.tasks(job)[0].result or "")["steps"] < 20


def test_second_drain_stops_the_programs_at_once(shop: Shop, tmp_path: Path) -> None:
    """003-051: forced, the task is handed back and its children are gone."""
    pids = tmp_path / "pids"
    job = shop.submit({"child": Step(params={"path": str(pids)})})

    with shop.working() as worker:
        until(pids.exists)
        worker.drain()
        worker.drain()

    children = [int(pid) for pid in pids.read_text().split()]
    assert not any(alive(pid) for pid in children)
    # a long poll that overtakes the last words is given the task once more, and gives it back
    assert {attempt["outcome"] for attempt in shop.attempts(job)} == {"handed_back"}
    assert shop.tasks(job)[0].attempt == 0


def test_unstarted_tasks_go_back_when_a_worker_stops(shop: Shop) -> None:
    """003-051: what stood in the queue is ready for others at once."""
    job = shop.submit({"noop": Step(items=[{}] * 3_000)})

    with shop.working(slots=1):
        until(lambda: len(shop.attempts(job)) > 100)

    assert not any(task.state is State.RUNNING for task in shop.tasks(job))
    assert all(task.attempt == 0 for task in shop.tasks(job) if task.state is State.READY)


def test_operator_drains_and_resumes_a_worker(shop: Shop) -> None:
    """000-040, 003-016, C16."""
    with shop.working("ann"):
        worker = shop.db.read(lambda tx: workers.find(tx, "ann"))
        for stop in (drain, disable):
            stop(shop.engine, worker.id)
            job = shop.submit({"nap": Step()})
            shop.db.read(lambda tx: tx.rows("clock"))
            assert shop.job(job).status is Status.QUEUED
            resume_worker(shop.engine, worker.id)
            until(lambda job=job: finished(shop, job))  # type: ignore[misc]


def test_worker_that_lost_its_name_stops(shop: Shop) -> None:
    """F-WRK-8 of the fault matrix; C9: a new start is a new owner."""
    with shop.working("ann") as first, shop.working("ann") as second:
        until(lambda: first.replaced is not None)

        job = shop.submit({"nap": Step()})
        until(lambda: finished(shop, job))

    assert second.replaced is None


def test_completion_whose_answer_was_lost_counts_once(shop: Shop) -> None:
    """001-013; F-API-3: the same report is answered as the first was."""
    lost = Lost(times=2)
    failpoints.call("complete.after_commit", lost)
    job = shop.submit({"nap": Step(items=[{}] * 3)})

    try:
        with shop.working():
            until(lambda: finished(shop, job) and lost.left == 0)
    finally:
        failpoints.call("complete.after_commit", None)

    outcomes = [attempt["outcome"] for attempt in shop.attempts(job)]
    assert outcomes.count("done") == 3
    assert set(outcomes) <= {"done", "handed_back"}  # a claim in the lost answer went back


def test_claim_whose_answer_was_lost_is_handed_back(shop: Shop) -> None:
    """F-NET-3: the worker gives back what it never heard of, before its lease ends."""
    failpoints.call("claim.after_commit", Lost(times=1))
    job = shop.submit({"nap": Step(max_attempts=1)})

    try:
        with shop.working():
            until(lambda: finished(shop, job))
    finally:
        failpoints.call("claim.after_commit", None)

    assert [attempt["outcome"] for attempt in shop.attempts(job)] == ["handed_back", "done"]


@pytest.mark.parametrize("error", [Unavailable("the answer was lost"), RuntimeError("a defect")])
def test_silence_is_told_once_and_its_end_as_well(shop: Shop, caplog, error: Exception) -> None:
    """A log that grows with every beat of an outage fills whatever keeps it; no error ends it."""
    caplog.set_level(logging.INFO)
    lost = Lost(times=3, error=error)
    failpoints.call("heartbeat.before", lost)

    try:
        with shop.working():
            until(lambda: "answered again" in caplog.text)
    finally:
        failpoints.call("heartbeat.before", None)

    assert lost.left == 0
    assert caplog.text.count("heartbeat failed") == 1


def test_worker_that_reaches_nobody_stops_its_work(shop: Shop, tmp_path: Path) -> None:
    """C5; self-fencing by a monotonic deadline: the program is stopped without any answer."""
    pids = tmp_path / "pids"
    job = shop.submit({"child": Step(params={"path": str(pids)})})
    impatient = replace(TIMING, patience=timedelta(seconds=0.5))

    try:
        with shop.working(timing=impatient):
            until(pids.exists)
            failpoints.call("heartbeat.before", Lost(times=1_000))
            children = [int(pid) for pid in pids.read_text().split()]
            until(lambda: not any(alive(pid) for pid in children), seconds=10)
            failpoints.call("heartbeat.before", None)
            kill(shop.engine, job)
    finally:
        failpoints.call("heartbeat.before", None)

    assert shop.job(job).status is Status.KILLED


def test_commands_and_logs_of_a_stage_are_kept(shop: Shop) -> None:
    """003-013, 003-020…023."""
    job = shop.submit({"echo": Step(), "false": Step(max_attempts=1)})

    with shop.working():
        until(lambda: finished(shop, job))

    executions = shop.db.read(lambda tx: tasks.executions(tx, job))
    logs = shop.db.read(lambda tx: tasks.logs(tx, job))
    by_code = {execution["exit_code"]: execution for execution in executions}
    assert (by_code[0]["type"], by_code[0]["stdout"]) == ("shell", "hello\n")
    assert by_code[3]["stderr"] == "no such thing\n"
    assert by_code[3]["command"][0] == "sh"
    assert [(entry["level"], entry["message"], entry["metadata"]) for entry in logs] == [
        ("info", "about to echo", {"word": "hello"})
    ]
    assert failure_of(shop, job)["error_code"] == "TOOL_FAILED"


def test_worker_row_counts_what_was_done_and_what_failed(shop: Shop) -> None:
    """003-017, 003-018, 000-026."""
    good = shop.submit({"nap": Step(items=[{}] * 3)})
    bad = shop.submit({"fail": Step()})

    with shop.working("ann"):
        until(lambda: finished(shop, good) and finished(shop, bad))

    ann = shop.db.read(lambda tx: workers.find(tx, "ann"))
    assert (ann.tasks_done, ann.tasks_failed, ann.load) == (3, 1, 0)


class Lost:
    """An answer that does not arrive, a number of times."""

    def __init__(self, times: int, error: Exception | None = None) -> None:
        self.left = times
        self._error = error or Unavailable("the answer was lost")

    def __call__(self) -> None:
        if self.left:
            self.left -= 1
            raise self._error


def alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_slow_tasks_of_a_short_lane_are_not_hoarded(shop: Shop) -> None:
    """003-052: a worker holds what it does in a tenth of a second, not all there is."""
    job = shop.submit({"slowish": Step(items=[{}] * 200)})

    with shop.working(slots=2):
        until(lambda: len(shop.attempts(job)) > 20)
        held = sum(task.state is State.RUNNING for task in shop.tasks(job))
        kill(shop.engine, job)

    assert held < 40
