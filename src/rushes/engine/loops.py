"""Runs the maintenance loops in a thread each; only the leader does their work.

A pass that fails is logged and tried again at the next tick: no error ends a loop.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from rushes.engine import leader, orchestrator, recovery
from rushes.engine.engine import Engine, millis

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Loop:
    """One maintenance job: what a pass does, and how often."""

    name: str
    every: timedelta
    run_once: Callable[[], object]


@dataclass(slots=True)
class Health:
    """When a loop last ran, and what went wrong then."""

    ran_at: float | None = None
    leads: bool = False
    error: str | None = None


@dataclass(slots=True)
class Maintenance:
    """The loops of one process. `health` is for /health and for tests."""

    engine: Engine
    holder: str
    recover_every: timedelta = timedelta(seconds=5)
    advance_every: timedelta = timedelta(seconds=1)
    reconcile_every: timedelta = timedelta(seconds=60)
    others: Sequence[Loop] = ()
    health: dict[str, Health] = field(default_factory=dict)
    _stop: threading.Event = field(default_factory=threading.Event)
    _threads: list[threading.Thread] = field(default_factory=list)

    def loops(self) -> list[Loop]:
        engine = self.engine
        return [
            Loop("orchestrator", self.advance_every, lambda: orchestrator.run_once(engine)),
            Loop("recovery", self.recover_every, lambda: recovery.run_once(engine)),
            Loop("presence", self.recover_every, lambda: recovery.mark_offline(engine)),
            Loop("reconcile", self.reconcile_every, self._reconcile),
            *self.others,
        ]

    def start(self) -> None:
        for loop in self.loops():
            self.health[loop.name] = Health()
            thread = threading.Thread(
                target=self._run, args=(loop,), name=f"rushes-{loop.name}", daemon=True
            )
            self._threads.append(thread)
            thread.start()

    def stop(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(timeout=10)

    def _run(self, loop: Loop) -> None:
        while not self._stop.is_set():
            self._pass(loop)
            self._stop.wait(loop.every.total_seconds())
        self._guarded(loop, lambda: leader.step_down(self.engine, loop.name, self.holder))

    def _pass(self, loop: Loop) -> None:
        health = self.health[loop.name]
        lease_ms = 3 * millis(loop.every) + 1_000

        def work() -> None:
            health.leads = leader.lead(self.engine, loop.name, self.holder, lease_ms=lease_ms)
            if health.leads:
                loop.run_once()
            health.error = None

        self._guarded(loop, work)
        health.ran_at = time.monotonic()

    def _guarded(self, loop: Loop, work: Callable[[], None]) -> None:
        try:
            work()
        except Exception as error:  # a loop must outlive whatever one pass met
            health = self.health[loop.name]
            level = logging.DEBUG if health.error == str(error) else logging.WARNING
            log.log(level, "a pass of %s failed: %s", loop.name, error)
            health.error = str(error)

    def _reconcile(self) -> None:
        wrong = orchestrator.reconcile(self.engine)
        if wrong:
            log.error("counters of open parents are wrong for tasks %s", wrong[:20])
