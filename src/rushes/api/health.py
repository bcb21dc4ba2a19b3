"""How the server is, for those who ask all the time: probes, and Prometheus.

All numbers come from the database, so that every process tells the same. Totals are counted along
the feed: once from its beginning, which may take a while, and then only what is new.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Container, Sequence
from concurrent.futures import Future
from contextlib import suppress
from typing import Generic, NamedTuple, TypeVar

import anyio

from rushes.domain.job import FINISHED, Status
from rushes.domain.worker import Mode
from rushes.engine.engine import Engine, millis
from rushes.errors import Unavailable
from rushes.library.library import Library
from rushes.observability import metrics
from rushes.observability.metrics import Histogram, Labels, Samples, Summary
from rushes.store.database import Database, Row, Transaction
from rushes.store.events import Place

T = TypeVar("T")

PROBE_SECONDS = 2.0
COUNT_SECONDS = 5.0
STRETCH = 5_000
RECOVERED = ("expired", "timed_out", "restarted")


class Vital(NamedTuple):
    """What a probe asks the database for."""

    schema: int
    jobs_pending: int
    workers_active: int


class Probe(Generic[T]):
    """Asks in a thread of its own, one at a time: whoever does not answer keeps only that busy."""

    def __init__(self, ask: Callable[[], T]) -> None:
        self._ask = ask
        self._lock = threading.Lock()
        self._asked: Future[T] | None = None

    async def __call__(self) -> T | None:
        """Return the answer; None if there is none in time."""
        with suppress(Exception), anyio.move_on_after(PROBE_SECONDS):
            return await asyncio.wrap_future(self._begin())
        return None

    def _begin(self) -> Future[T]:
        with self._lock:
            if self._asked is None or self._asked.done():
                self._asked = Future()
                self._asked.set_running_or_notify_cancel()
                thread = threading.Thread(target=self._run, args=(self._asked,), daemon=True)
                thread.start()
            return self._asked

    def _run(self, asked: Future[T]) -> None:
        try:
            asked.set_result(self._ask())
        except Exception as error:  # noqa: BLE001  (handed to whoever asked)
            asked.set_exception(error)


class Totals:
    """What happened since the beginning."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._place = Place(0, 0)
        self._counting = threading.Lock()
        self.created = self.recovered = self.given_up = 0
        self.ended: Counter[Status] = Counter()
        self.durations: dict[Status, Histogram] = defaultdict(Histogram)
        self.attempts: Counter[tuple[str, str]] = Counter()
        self.tasks: dict[str, Summary] = defaultdict(Summary)

    def catch_up(self, seconds: float = COUNT_SECONDS) -> None:
        """Count what is new. Raises Unavailable when it takes longer; the next call goes on."""
        end = time.monotonic() + seconds
        with self._counting:
            while self._count(*self._db.read(self._read)) == STRETCH:
                if time.monotonic() > end:
                    raise Unavailable("the history is still being counted", retry_after=5)

    def _read(self, tx: Transaction) -> tuple[Row | None, Sequence[Row], Sequence[Row]]:
        here = {"xid": str(self._place.xid), "id": self._place.id}
        ends = tx.rows("stretch_end", **here, n=STRETCH)
        if not ends:
            return None, [], []
        stretch = {**here, "until_xid": ends[0]["xid"], "until_id": ends[0]["id"]}
        return ends[0], tx.rows("job_totals", **stretch), tx.rows("attempt_totals", **stretch)

    def _count(self, end: Row | None, jobs: Sequence[Row], attempts: Sequence[Row]) -> int:
        """Count what was read, apart from reading it: a read may be repeated."""
        if end is None:
            return 0
        for row in jobs:
            self._count_job(row["type"].removeprefix("job."), row["ms"])
        for row in attempts:
            self.attempts[row["kind"], row["outcome"]] += row["n"]
            self.tasks[row["kind"]].add(row["n"], row["ms"] / 1000)
            self.given_up += row["given_up"]
            self.recovered += row["n"] if row["outcome"] in RECOVERED else 0
        self._place = Place(int(end["xid"]), end["id"])
        return int(end["n"])

    def _count_job(self, what: str, ms: int | None) -> None:
        if what == "submitted":
            self.created += 1
            return
        self.ended[Status(what)] += 1
        if ms is not None:
            self.durations[Status(what)].observe(max(0, ms) / 1000)


class Watch:
    """What one server keeps to say how it is."""

    def __init__(self, library: Library) -> None:
        self.library = library
        self.probe = Probe(lambda: library.db.read(lambda tx: _vital(tx, library.engine)))
        self._totals = Totals(library.db)

    def scrape(self, *, waiting: int = 0, now: int | None = None) -> str:
        """Return all metrics, as Prometheus reads them."""
        engine = self.library.engine
        self._totals.catch_up()
        gauges = self.library.db.read(lambda tx: _gauges(tx, engine), now=now)
        here: metrics.Samples = {metrics.WORKERS_WAITING: {(): waiting}}
        return metrics.render({**_counters(self._totals, engine), **gauges, **here})


def _vital(tx: Transaction, engine: Engine) -> Vital:
    [schema] = tx.rows("schema")
    return Vital(
        schema=schema["version"],
        jobs_pending=_jobs_in(tx, Status.QUEUED),
        workers_active=_active(_present(tx, engine)),
    )


def _counters(totals: Totals, engine: Engine) -> Samples:
    attempts: Counter[Labels] = Counter()
    for (kind, outcome), n in totals.attempts.items():
        attempts[_known(kind, engine.kinds), outcome] += n
    tasks: dict[Labels, Summary] = defaultdict(Summary)
    for kind, summary in totals.tasks.items():
        tasks[_known(kind, engine.kinds),].add(summary.count, summary.sum)
    ends = sorted(FINISHED)
    return {
        metrics.JOBS_CREATED: {(): totals.created},
        metrics.JOBS_COMPLETED: {(status,): totals.ended[status] for status in ends},
        metrics.JOB_DURATION: {(status,): totals.durations[status] for status in ends},
        metrics.STALE_RECOVERED: {(): totals.recovered},
        metrics.RETRIES_EXCEEDED: {(): totals.given_up},
        metrics.FAILURES: {(): totals.ended[Status.FAILED]},
        metrics.ATTEMPTS: dict(sorted(attempts.items())),
        metrics.ATTEMPT_DURATION: dict(sorted(tasks.items())),
    }


def _gauges(tx: Transaction, engine: Engine) -> Samples:
    lanes = sorted({kind.lane for kind in engine.kinds.values()})
    waiting: Counter[Labels] = Counter({(lane,): 0 for lane in lanes})
    for row in tx.rows("ready_tasks"):
        waiting[_known(row["lane"], lanes),] += row["n"]
    present = _present(tx, engine)
    [lag] = tx.rows("feed_lag")
    return {
        metrics.JOBS_IN_PROGRESS: {(): _jobs_in(tx, Status.RUNNING)},
        metrics.QUEUE_SIZE: waiting,
        metrics.WORKERS_ACTIVE: {(): _active(present)},
        metrics.WORKER_LOAD: {(row["name"],): row["load"] for row in present},
        metrics.FEED_LAG: {(): lag["ms"] / 1000},
    }


def _jobs_in(tx: Transaction, status: Status) -> int:
    [row] = tx.rows("jobs_in", status=status)
    return int(row["n"])


def _present(tx: Transaction, engine: Engine) -> Sequence[Row]:
    return tx.rows("worker_loads", offline_ms=millis(engine.limits.offline_after))


def _active(present: Sequence[Row]) -> int:
    return sum(row["mode"] == Mode.ACTIVE for row in present)


def _known(word: str, words: Container[str]) -> str:
    """Return a label; what the program does not know has one together, so that labels are few."""
    return word if word in words else metrics.OTHER
