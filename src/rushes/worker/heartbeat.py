"""Renews leases from a thread of its own, which no work can hold up.

Work runs in child processes or lets the interpreter go now and then; this thread needs a
moment every few seconds. A worker that reaches nobody goes on for `patience`, measured by
its own monotonic clock, because a lease that ran out is still its own until somebody takes
the task; then it stops its work.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from rushes.domain.worker import Mode
from rushes.errors import Conflict
from rushes.stages.context import Stop
from rushes.worker.held import Held
from rushes.worker.session import WorkerSession
from rushes.worker.timing import Timing
from rushes.worker.usage import Meter

log = logging.getLogger(__name__)

SOONEST = 0.1  # seconds between two beats that checkpoints ask for
RETRY = 1.0


class Heartbeat:
    def __init__(
        self,
        session: WorkerSession,
        held: Held,
        *,
        timing: Timing,
        on_mode: Callable[[Mode], None],
        on_replaced: Callable[[str], None],
    ) -> None:
        self._session = session
        self._held = held
        self._meter = Meter()
        self._every = timing.heartbeat.total_seconds()
        self._busy = (timing.busy or timing.heartbeat).total_seconds()
        self._patience = timing.patience.total_seconds()
        self._on_mode = on_mode
        self._on_replaced = on_replaced
        self._soon = threading.Event()
        self._stop = threading.Event()
        self._heard_at = time.monotonic()
        self._is_unheard = False
        self._thread = threading.Thread(target=self._run, name="rushes-heartbeat", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def soon(self) -> None:
        """Beat without waiting for the next turn: there is a checkpoint to keep."""
        self._soon.set()

    def stop(self) -> None:
        self._stop.set()
        self._soon.set()
        self._thread.join(timeout=10)

    def beat(self) -> None:
        """One beat: send what is new of every held claim, obey the answer."""
        contexts = self._held.all()
        pulse = self._session.beat([context.beat() for context in contexts], self._meter.read())
        self._heard_at = time.monotonic()
        if self._is_unheard:
            log.info("heartbeats are answered again")
        self._is_unheard = False
        for id, why in pulse.gone.items():
            context = self._held.get(id)
            if context is not None:
                log.info("task %s is gone: %s", id, why)
                context.stop(Stop(why))
        self._on_mode(pulse.mode)

    def _run(self) -> None:
        while not self._stop.is_set():
            wait = self._every
            try:
                self.beat()
            except Conflict as error:
                self._held.stop_all(Stop.LOST)
                self._on_replaced(error.message)
                return
            except Exception as error:  # noqa: BLE001  (without this thread all leases are lost)
                self._complain(error)
                wait = min(self._every, RETRY)
                self._fence()
            self._stop.wait(SOONEST)
            self._rest(time.monotonic() + wait - SOONEST)
            self._soon.clear()

    def _rest(self, end: float) -> None:
        """Sleep until the next beat: less long once there is a task that may be killed."""
        while (left := end - time.monotonic()) > 0:
            if self._soon.wait(min(left, self._busy)) or len(self._held):
                return

    def _complain(self, error: Exception) -> None:
        """Once per silence: a log that nobody empties must not fill up and hold this thread."""
        log.log(
            logging.DEBUG if self._is_unheard else logging.WARNING, "heartbeat failed: %s", error
        )
        self._is_unheard = True

    def _fence(self) -> None:
        """Stop all work when nobody has answered for too long."""
        if time.monotonic() - self._heard_at > self._patience and len(self._held):
            log.error("no lease was renewed for %.1f s; the work is stopped", self._patience)
            self._held.stop_all(Stop.LOST)
