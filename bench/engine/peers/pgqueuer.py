"""PgQueuer on asyncpg and uvloop, the pair its documentation calls fastest.

Its tables stay at their default durability (logged). A finished job leaves the queue
table for the log table in one statement, so an empty queue table is durable proof.
"""

from __future__ import annotations

import asyncio

import asyncpg
import uvloop
from pgqueuer import PgQueuer
from pgqueuer.models import Job
from pgqueuer.queries import Queries

from bench.engine.figures import Run
from bench.engine.peers.base import TASK, Peer, chunks
from bench.engine.ticks import tick

BULK = 1_000


class PgQueuerPeer(Peer):
    def setup(self) -> None:
        self._loop = asyncio.Runner(loop_factory=uvloop.new_event_loop)
        self._connection = self._loop.run(_connect(self.run.url))
        self._queries = Queries.from_asyncpg_connection(self._connection)
        self._loop.run(self._queries.install())

    def bulk(self, tasks: int) -> None:
        async def fill() -> None:
            for size in chunks(tasks, BULK):
                await self._queries.enqueue([TASK] * size, [None] * size, [0] * size)

        self._loop.run(fill())

    def single(self, tasks: int) -> None:
        async def send() -> None:
            for _ in range(tasks):
                await self._queries.enqueue(TASK, None)

        self._loop.run(send())

    def one(self, sent_ns: int) -> None:
        self._loop.run(self._queries.enqueue(TASK, str(sent_ns).encode()))

    def settle(self) -> None:
        self._loop.run(self._connection.execute("VACUUM ANALYZE"))

    def unfinished(self) -> int:
        query = "SELECT count(*) FROM pgqueuer"
        left: int = self._loop.run(self._connection.fetchval(query))
        return left


PEER = PgQueuerPeer


def work(run: Run) -> None:
    """Run one worker process until it is killed."""
    uvloop.run(_serve(run))


async def _serve(run: Run) -> None:
    if run.setting["driver"] == "pool":
        manager = PgQueuer.from_asyncpg_pool(await asyncpg.create_pool(run.url))
    else:
        manager = PgQueuer.from_asyncpg_connection(await _connect(run.url))
    manager.entrypoint(TASK)(_noop)
    await manager.run(batch_size=int(run.setting["batch"]))


async def _noop(job: Job) -> None:
    tick(int(job.payload) if job.payload else None)


async def _connect(url: str) -> asyncpg.Connection:
    return await asyncpg.connect(url)
