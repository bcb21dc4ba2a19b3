"""Rushes as it is delivered: `rushes worker run`, full history, nothing tuned.

A queue is filled with jobs of fifty tasks, the shape of a film's chunks; tasks sent one by
one are jobs of one task. A job counts its open tasks in the transaction that ends them, so
the sum of these counters is durable proof.
"""

from __future__ import annotations

from contextlib import ExitStack

from bench.engine.figures import Run
from bench.engine.peers.base import TASK, Peer, chunks
from bench.engine.ticks import tick
from rushes.app import open_app, run_worker
from rushes.domain.graph import JobRequest, Step
from rushes.engine.claim import claim
from rushes.engine.presence import Introduction, register
from rushes.engine.submit import submit, submit_many
from rushes.settings import Settings
from rushes.stages.context import TaskContext
from rushes.stages.registry import stage
from rushes.store.database import open_database

PER_JOB = 50
BULK = 5_000
OPEN_TASKS = "SELECT coalesce(sum(open_tasks), 0) AS n FROM jobs"
FILL = """
INSERT INTO tasks (job_id, step, item, kind, lane, state, due_at, run_at, ready_at, finished_at,
                   max_attempts, lease_epoch, priority, wait_ms, stall_ms, hard_ms, needs, prefers,
                   created_at, params)
SELECT gen_random_uuid(), 'noop', 0, 'noop', 'default', {state}, number, 0, 0, {finished_at},
       3, 1, 5, 0, 600000, 600000, '["stage:noop"]', '[]', 0, '{{}}'
  FROM generate_series(1, {n}) AS number
"""


@stage(TASK, short=True)
def noop(task: TaskContext) -> None:
    """Count the task; a probe carries the time at which it was sent."""
    params = task.claim.params
    tick(int(params[8:-1]) if len(params) > 2 else None)  # {"sent":123}


class RushesPeer(Peer):
    def setup(self) -> None:
        database = open_database(self.run.url)
        database.migrate()
        database.close()
        self._stack = ExitStack()
        self._app = self._stack.enter_context(open_app(Settings(database_url=self.run.url)))
        self._engine = self._app.engine

    def bulk(self, tasks: int) -> None:
        for size in chunks(tasks, BULK):
            submit_many(self._engine, [_job(n) for n in chunks(size, PER_JOB)])

    def single(self, tasks: int) -> None:
        for _ in range(tasks):
            submit(self._engine, _job(1))

    def one(self, sent_ns: int) -> None:
        steps = {TASK: Step(params={"sent": sent_ns})}
        submit(self._engine, JobRequest(kind="bench", steps=steps))

    def settle(self) -> None:
        if self._app.db.dialect == "postgres":
            self._execute("VACUUM ANALYZE")

    def unfinished(self) -> int:
        return int(self._execute(OPEN_TASKS))

    def fill(self, *, done: int, queued: int) -> None:
        """Write a history and a queue straight into the table."""
        self._execute(FILL.format(state="'ready'", finished_at="NULL", n=queued))
        if done:
            self._execute(FILL.format(state="'done'", finished_at="1", n=done))
        lanes = {"default": 1}
        introduction = Introduction(name="bench", lanes=lanes, kinds=frozenset({TASK}))
        self._owner = register(self._engine, introduction)

    def claim(self) -> None:
        assert claim(self._engine, self._owner, {"default": 1})

    def _execute(self, sql: str) -> int:
        """Run a statement of the benchmark's own; return its number, if it has one."""
        database = self._app.db
        if database.dialect == "sqlite":
            row = database._reader.execute(sql).fetchone()  # type: ignore[attr-defined]
            return int(row["n"])
        with database.connect() as connection:  # type: ignore[attr-defined]
            cursor = connection.execute(sql)
            return int(cursor.fetchone()["n"]) if cursor.description else 0


PEER = RushesPeer


def work(run: Run) -> None:
    """Run one worker process until it is killed."""
    with open_app(Settings(database_url=run.url, worker_slots=1)) as app:
        run_worker(app)


def _job(tasks: int) -> JobRequest:
    return JobRequest(kind="bench", steps={TASK: Step(items=[{}] * tasks)})
