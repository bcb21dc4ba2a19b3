"""SAQ on PostgreSQL. Finished jobs are deleted at once (ttl -1), its least costly choice."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import psycopg
import uvloop
from saq import Queue, Worker

from bench.engine.figures import Run
from bench.engine.peers.base import TASK, Peer, chunks
from bench.engine.ticks import tick

AT_ONCE = 100


class SaqPeer(Peer):
    def setup(self) -> None:
        self._loop = asyncio.Runner(loop_factory=uvloop.new_event_loop)
        self._queue = self._loop.run(_connect(self.run))
        self._connection = psycopg.connect(self.run.url, autocommit=True)

    def bulk(self, tasks: int) -> None:
        """There is no bulk call; many at once share the pool and group commit."""

        async def fill() -> None:
            for size in chunks(tasks, AT_ONCE):
                await asyncio.gather(*(self._send() for _ in range(size)))

        self._loop.run(fill())

    def single(self, tasks: int) -> None:
        async def send() -> None:
            for _ in range(tasks):
                await self._send()

        self._loop.run(send())

    def one(self, sent_ns: int) -> None:
        self._loop.run(self._send(sent_ns=sent_ns))

    def settle(self) -> None:
        self._connection.execute("VACUUM ANALYZE")

    def unfinished(self) -> int:
        query = "SELECT count(*) FROM saq_jobs WHERE status IN ('new', 'queued', 'active')"
        row = self._connection.execute(query).fetchone()
        return int(row[0]) if row else 0

    async def _send(self, **arguments: int) -> None:
        await self._queue.enqueue(TASK, ttl=-1, **arguments)


PEER = SaqPeer


def work(run: Run) -> None:
    """Run one worker process until it is killed."""
    uvloop.run(_serve(run))


async def _serve(run: Run) -> None:
    concurrency = int(run.setting["concurrency"])
    worker = Worker(await _connect(run), [(TASK, _noop)], concurrency=concurrency)
    await worker.start()


async def _connect(run: Run) -> Queue:
    queue = Queue.from_url(run.url)
    await queue.connect()
    return queue


async def _noop(_: Mapping[str, object], *, sent_ns: int | None = None) -> None:
    tick(sent_ns)
