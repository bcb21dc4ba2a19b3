"""Real workers in this process: a thread runs the loop, the test looks on."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta

import pytest

import tests.stages  # noqa: F401  (registers the stages)
from rushes.engine.engine import Limits
from rushes.engine.loops import Maintenance
from rushes.engine.notify import open_notifier
from rushes.engine.presence import Introduction, register
from rushes.stages.registry import STAGES, kinds
from rushes.store.database import Database
from rushes.worker.local import LocalSession
from rushes.worker.loop import Timing, Worker
from tests.world import World

LEASE = timedelta(seconds=1)
TIMING = Timing(
    heartbeat=timedelta(seconds=0.2),
    patience=timedelta(seconds=30),
    poll=timedelta(seconds=0.2),
    drain=timedelta(seconds=10),
)


class Shop(World):
    """A World whose clock is the real one, with workers that run."""

    def __init__(self, db: Database) -> None:
        super().__init__(db, kinds(STAGES), limits=Limits(lease=LEASE))
        self.now = None  # type: ignore[assignment]
        self.maintenance = Maintenance(
            self.engine,
            "test",
            recover_every=timedelta(seconds=0.1),
            advance_every=timedelta(seconds=0.1),
        )

    @contextmanager
    def working(
        self, name: str = "ann", slots: int = 2, timing: Timing = TIMING, *, hints: bool = True
    ) -> Iterator[Worker]:
        """A worker that works while the block runs and is drained at its end."""
        lanes = {"default": slots, "short": slots}
        owner = register(self.engine, Introduction(name=name, lanes=lanes, kinds=frozenset(STAGES)))
        worker = Worker(
            LocalSession(self.engine, owner),
            STAGES,
            lanes,
            timing=timing,
            exchanges=2 if self.db.dialect == "postgres" else 1,
        )
        notifier = open_notifier(self.db)
        if hints:
            notifier.listen(worker.hint)
        thread = threading.Thread(target=worker.run)
        thread.start()
        try:
            yield worker
        finally:
            worker.drain()
            thread.join(timeout=30)
            notifier.close()
            assert not thread.is_alive()


@pytest.fixture
def shop(db: Database) -> Iterator[Shop]:
    shop = Shop(db)
    shop.maintenance.start()
    yield shop
    shop.maintenance.stop()


def until(condition: Callable[[], object], seconds: float = 15) -> None:
    """Wait for what other threads or processes bring about; fail if they do not."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.01)
