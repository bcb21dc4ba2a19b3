"""Dramatiq on Valkey, without any middleware. Not durable: the broker keeps no files."""

from __future__ import annotations

import threading

import dramatiq
from dramatiq.brokers.redis import RedisBroker
from redis import Redis

from bench.engine.figures import Run
from bench.engine.peers.base import TASK, Peer
from bench.engine.ticks import tick

UNFINISHED = "dramatiq:default.msgs"


class DramatiqPeer(Peer):
    def setup(self) -> None:
        self._valkey = Redis.from_url(self.run.url)
        self._valkey.flushdb()
        self._actor = _actor(_broker(self.run))

    def bulk(self, tasks: int) -> None:
        """There is no bulk call."""
        for _ in range(tasks):
            self._actor.send()

    def single(self, tasks: int) -> None:
        self.bulk(tasks)

    def one(self, sent_ns: int) -> None:
        self._actor.send(sent_ns)

    def unfinished(self) -> int:
        return int(self._valkey.hlen(UNFINISHED))


PEER = DramatiqPeer


def work(run: Run) -> None:
    """Run one worker process until it is killed."""
    broker = _broker(run)
    _actor(broker)
    dramatiq.Worker(broker, worker_threads=int(run.setting["threads"])).start()
    threading.Event().wait()


def _broker(run: Run) -> RedisBroker:
    return RedisBroker(url=run.url, middleware=[])


def _actor(broker: RedisBroker) -> dramatiq.Actor[[int | None], None]:
    return dramatiq.actor(_noop, actor_name=TASK, broker=broker)


def _noop(sent_ns: int | None = None) -> None:
    tick(sent_ns)
