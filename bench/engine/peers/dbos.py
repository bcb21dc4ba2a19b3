"""DBOS workflows without steps, from a queue without limits.

A queue is polled, so its latency is its polling interval; a tenth of a second is as
short as its documentation goes.
"""

from __future__ import annotations

import os
import threading

import psycopg
import sqlalchemy
from dbos import DBOS, DBOSClient, EnqueueOptions

from bench.engine.figures import Run
from bench.engine.peers.base import TASK, Peer, chunks
from bench.engine.ticks import tick

QUEUE = "bench"
VERSION = "1"
BULK = 1_000


class DbosPeer(Peer):
    def setup(self) -> None:
        _launch(self.run)
        DBOS.destroy()
        self._client = DBOSClient(system_database_url=_url(self.run))
        self._engine = sqlalchemy.create_engine(_url(self.run))
        self._connection = psycopg.connect(self.run.url, autocommit=True)

    def bulk(self, tasks: int) -> None:
        """There is no bulk call; one transaction around many is the fastest public way."""
        for size in chunks(tasks, BULK):
            with self._engine.begin() as transaction:
                for _ in range(size):
                    self._client.enqueue_in_transaction(transaction, _options())

    def single(self, tasks: int) -> None:
        for _ in range(tasks):
            self._client.enqueue(_options())

    def one(self, sent_ns: int) -> None:
        self._client.enqueue(_options(), sent_ns)

    def settle(self) -> None:
        self._connection.execute("VACUUM ANALYZE")

    def unfinished(self) -> int:
        states = "('ENQUEUED', 'PENDING', 'DELAYED')"
        query = f"SELECT count(*) FROM dbos.workflow_status WHERE status IN {states}"
        row = self._connection.execute(query).fetchone()
        return int(row[0]) if row else 0


PEER = DbosPeer


def work(run: Run) -> None:
    """Run one worker process until it is killed."""
    _launch(run)
    threading.Event().wait()


def _launch(run: Run) -> None:
    DBOS(
        config={
            "name": "bench",
            "system_database_url": _url(run),
            "application_version": VERSION,
            "executor_id": str(os.getpid()),
            "log_level": "ERROR",
            "sys_db_pool_size": int(run.setting["pool"]),
        }
    )
    DBOS.workflow(name=TASK)(_noop)
    DBOS.launch()
    DBOS.register_queue(QUEUE, polling_interval_sec=0.1)


def _url(run: Run) -> str:
    return run.url.replace("postgresql://", "postgresql+psycopg://")


def _options() -> EnqueueOptions:
    return {"queue_name": QUEUE, "workflow_name": TASK, "app_version": VERSION}


def _noop(sent_ns: int | None = None) -> None:
    tick(sent_ns)
