"""Celery on Valkey: JSON messages, no results, early acknowledgement (its default).

Nothing here is durable: the broker keeps its messages in memory, and a task that was
handed out is forgotten. It is in the table to show what durability costs.
"""

from __future__ import annotations

import os

from celery import Celery, Task
from redis import Redis

from bench.engine.figures import Run
from bench.engine.peers.base import TASK, Peer, Worker
from bench.engine.ticks import tick

WAITING = "celery"
HANDED_OUT = "unacked"


class CeleryPeer(Peer):
    def setup(self) -> None:
        self._broker = Redis.from_url(self.run.url)
        self._broker.flushdb()
        self._app = _app(self.run)
        self._task: Task = self._app.tasks[TASK]

    def bulk(self, tasks: int) -> None:
        """There is no bulk call; one producer for all saves the most."""
        with self._app.producer_pool.acquire(block=True) as producer:
            for _ in range(tasks):
                self._task.apply_async(producer=producer)

    def single(self, tasks: int) -> None:
        for _ in range(tasks):
            self._task.delay()

    def one(self, sent_ns: int) -> None:
        self._task.delay(sent_ns)

    def unfinished(self) -> int:
        return int(self._broker.llen(WAITING)) + int(self._broker.hlen(HANDED_OUT))

    def start(self, workers: int) -> list[Worker]:
        """A prefork worker forks its own processes; a solo worker is one by itself."""
        return super().start(workers if self.run.setting["pool"] == "solo" else 1)


PEER = CeleryPeer


def work(run: Run) -> None:
    """Run one worker process, or one with its forks, until it is killed."""
    quiet = ["--without-gossip", "--without-mingle", "--without-heartbeat", "-l", "error"]
    pool = [
        "-P",
        str(run.setting["pool"]),
        "-c",
        str(run.workers),
        "-n",
        f"worker-{os.getpid()}@%h",
    ]
    _app(run).worker_main(["worker", *pool, *quiet])


def _app(run: Run) -> Celery:
    app = Celery("bench", broker=run.url)
    app.conf.update(
        task_ignore_result=True,
        worker_prefetch_multiplier=int(run.setting["prefetch"]),
        broker_connection_retry_on_startup=True,
    )
    app.task(_noop, name=TASK)
    return app


def _noop(sent_ns: int | None = None) -> None:
    tick(sent_ns)
