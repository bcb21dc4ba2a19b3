"""Procrastinate with its asynchronous worker; jobs are enqueued synchronously.

It fetches jobs one by one, so `concurrency` (how many may be under way) is what takes
the place of a batch size. Finished jobs stay in the table, as by default.
"""

from __future__ import annotations

import psycopg
import uvloop
from procrastinate import App, PsycopgConnector, SyncPsycopgConnector

from bench.engine.figures import Run
from bench.engine.peers.base import TASK, Peer, chunks
from bench.engine.ticks import tick

BULK = 1_000


class ProcrastinatePeer(Peer):
    def setup(self) -> None:
        self._app = App(connector=SyncPsycopgConnector(conninfo=self.run.url))
        self._task = self._app.task(name=TASK)(_noop)
        self._app.open()
        self._app.schema_manager.apply_schema()
        self._connection = psycopg.connect(self.run.url, autocommit=True)

    def bulk(self, tasks: int) -> None:
        for size in chunks(tasks, BULK):
            self._task.batch_defer(*[{}] * size)

    def single(self, tasks: int) -> None:
        for _ in range(tasks):
            self._task.defer()

    def one(self, sent_ns: int) -> None:
        self._task.defer(sent_ns=sent_ns)

    def settle(self) -> None:
        """Without fresh statistics a fetch may scan all waiting jobs (procrastinate#1242)."""
        self._connection.execute("VACUUM ANALYZE")

    def unfinished(self) -> int:
        query = "SELECT count(*) FROM procrastinate_jobs WHERE status IN ('todo', 'doing')"
        row = self._connection.execute(query).fetchone()
        return int(row[0]) if row else 0


PEER = ProcrastinatePeer


def work(run: Run) -> None:
    """Run one worker process until it is killed."""
    uvloop.run(_serve(run))


async def _serve(run: Run) -> None:
    concurrency = int(run.setting["concurrency"])
    app = App(connector=PsycopgConnector(conninfo=run.url, min_size=2, max_size=20))
    app.task(name=TASK)(_noop)
    async with app.open_async():
        await app.run_worker_async(concurrency=concurrency)


async def _noop(sent_ns: int | None = None) -> None:
    tick(sent_ns)
