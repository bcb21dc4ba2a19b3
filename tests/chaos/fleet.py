"""Worker processes to be killed: real ones, forked from a clean server so that they start fast.

A fleet keeps its size: whoever is killed is replaced. It runs `rushes.app.run_worker`, as
`rushes worker run` does.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import threading
import time
from collections.abc import Callable
from multiprocessing.context import ForkServerProcess
from types import TracebackType
from typing import Self

SETTINGS = {
    "RUSHES_STAGES": "tests.stages",
    "RUSHES_LEASE": "1",
    "RUSHES_WORKER_HEARTBEAT_INTERVAL": "0.25",
    "RUSHES_STALE_JOB_CHECK_INTERVAL": "0.2",
    "RUSHES_WORKER_SLOTS": "2",
    "RUSHES_WORKER_LANES": "default,short",
    "RUSHES_WORKER_DRAIN_TIMEOUT": "2",
    "RUSHES_LOG_LEVEL": "error",
}
ENDLESS = {"RUSHES_MAX_RETRY_ATTEMPTS": "1000", "RUSHES_MAX_CRASHES": "1000000"}

_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(
    ["rushes.app", "rushes.store.postgres", "rushes.store.sqlite", "tests.stages"]
)


def work(settings: dict[str, str], name: str) -> None:
    """The life of one worker process."""
    import logging

    from rushes.app import open_app, run_worker
    from rushes.settings import load

    logging.disable(logging.WARNING)
    os.environ.update(settings)
    with open_app(load()) as app:
        run_worker(app, name=name)


class Fleet:
    def __init__(self, url: str, size: int, *, seed: int, **settings: str) -> None:
        self._settings = {**SETTINGS, **settings, "RUSHES_DATABASE_URL": url}
        self._size = size
        self._name = f"fleet{seed}"
        self._random = random.Random(seed)
        self._workers: list[ForkServerProcess] = []
        self._stopped: list[tuple[threading.Timer, ForkServerProcess]] = []
        self._number = 0
        self.signals = {signal.SIGKILL: 0, signal.SIGTERM: 0, signal.SIGSTOP: 0}

    def __enter__(self) -> Self:
        self.refill()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for alarm, process in self._stopped:
            alarm.cancel()
            alarm.join()
            _send(process, signal.SIGCONT)
        for process in [*self._workers, *(process for _, process in self._stopped)]:
            process.kill()
            process.join()

    @property
    def pids(self) -> list[int]:
        return [process.pid or 0 for process in self._workers]

    def refill(self) -> None:
        """Replace those that are gone, and count those in again that are awake."""
        for alarm, process in list(self._stopped):
            if not alarm.is_alive():
                self._stopped.remove((alarm, process))
                self._workers.append(process)
        for process in list(self._workers):
            if not process.is_alive():
                process.join()
                self._workers.remove(process)
        while len(self._workers) + len(self._stopped) < self._size:
            self._start()

    def strike(self) -> None:
        """Kill, stop politely, or freeze one worker."""
        if not self._workers:
            return
        [number] = self._random.choices([signal.SIGKILL, signal.SIGTERM, signal.SIGSTOP], [7, 2, 1])
        process = self._random.choice(self._workers)
        if not (process.is_alive() and _send(process, number)):
            return
        self.signals[number] += 1
        if number == signal.SIGSTOP:
            self._workers.remove(process)
            self._stopped.append((self._wake_later(process), process))

    def run(self, kills: int, pause: float, meanwhile: Callable[[], None] = lambda: None) -> None:
        """Strike until `kills` workers were killed with -9."""
        while self.signals[signal.SIGKILL] < kills:
            time.sleep(self._random.uniform(0.5, 1.5) * pause)
            self.strike()
            meanwhile()
            self.refill()

    def _wake_later(self, process: ForkServerProcess) -> threading.Timer:
        """Wake it from a thread: it may hold the lock of SQLite that everybody else waits for."""
        longer_than_the_lease = 1.6
        alarm = threading.Timer(longer_than_the_lease, _send, (process, signal.SIGCONT))
        alarm.start()
        return alarm

    def _start(self) -> None:
        self._number += 1
        process = _context.Process(
            target=work, args=(self._settings, f"{self._name}-{self._number}")
        )
        process.start()
        self._workers.append(process)


def _send(process: ForkServerProcess, number: signal.Signals) -> bool:
    """Return whether it was still there: one that was asked to stop may go at any moment."""
    try:
        os.kill(process.pid or 0, number)
    except ProcessLookupError:
        return False
    return True
