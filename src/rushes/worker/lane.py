"""A pool of slots: threads that run the tasks of one lane, one at a time each."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Mapping

from rushes.domain.outcome import HandedBack, Outcome
from rushes.stages.context import Stop, TaskContext
from rushes.stages.registry import Stage
from rushes.worker.executor import execute

AHEAD_SECONDS = 0.1  # of work to have ready
AHEAD_MOST = 4_000
SHORTEST_LOOK = 0.05  # seconds; within less, two tasks that end together look like a rush

Ended = Callable[["Lane", TaskContext, Outcome | None], None]


class Lane:
    """`outstanding` counts what is asked for, queued or running; only the worker's lock guards it.

    A lane whose stages are all short is filled ahead of its free slots, by what it gets done
    in a tenth of a second; long tasks are claimed one per free slot, so that no idle worker
    sees them held by a busy one.
    """

    def __init__(self, name: str, slots: int, *, short: bool) -> None:
        self.name = name
        self.slots = slots
        self.short = short
        self.outstanding = 0
        self.dry = False
        self.hints = 0
        self._finished = 0
        self._ahead = 0
        self._filled_at = time.monotonic()
        self._queue: queue.SimpleQueue[TaskContext | None] = queue.SimpleQueue()

    def start(self, stages: Mapping[str, Stage], ended: Ended) -> None:
        for number in range(self.slots):
            name = f"rushes-slot-{self.name}-{number}"
            threading.Thread(
                target=self._slot, args=(stages, ended), name=name, daemon=True
            ).start()

    def has_room(self) -> bool:
        return self.outstanding < self.slots or self.want(with_report=False) > 0

    def want(self, *, with_report: bool) -> int:
        """How many tasks to ask for. A long queue is refilled by halves, or with a report."""
        room = self.slots + self._ahead - self.outstanding
        if self.dry or room <= 0:
            return 0
        enough = with_report or self.outstanding < self.slots or room >= self._ahead / 2
        return room if enough else 0

    def hint(self) -> None:
        """There may be work here."""
        self.hints += 1
        self.dry = False

    def filled(self, asked: int, got: int, *, hints: int) -> None:
        """Learn from a claim: an empty lane rests until a hint; a quick one gets more ahead.

        `hints` had come before the claim. Later ones may tell of work that it did not see.
        """
        self.dry = got < asked and self.hints == hints
        if not self.short:
            return
        now = time.monotonic()
        elapsed = now - self._filled_at
        if elapsed >= SHORTEST_LOOK:
            self._ahead = min(AHEAD_MOST, int(self._finished / elapsed * AHEAD_SECONDS))
            self._finished, self._filled_at = 0, now

    def finished(self) -> None:
        """Count one task off; called with the worker's lock held."""
        self.outstanding -= 1
        self._finished += 1

    def put(self, context: TaskContext) -> None:
        self._queue.put(context)

    def clear(self) -> list[TaskContext]:
        """Take back what no slot has started."""
        taken: list[TaskContext] = []
        while True:
            try:
                context = self._queue.get_nowait()
            except queue.Empty:
                return taken
            if context is not None:
                taken.append(context)

    def close(self) -> None:
        for _ in range(self.slots):
            self._queue.put(None)

    def _slot(self, stages: Mapping[str, Stage], ended: Ended) -> None:
        while (context := self._queue.get()) is not None:
            ended(self, context, _run(context, stages))


def _run(context: TaskContext, stages: Mapping[str, Stage]) -> Outcome | None:
    """Run a task unless it was stopped while it stood in the queue."""
    match context.stopped:
        case None:
            return execute(context, stages)
        case Stop.LOST | Stop.KILLED:
            return None
        case Stop.DRAIN | Stop.NOW:
            return HandedBack(context.claim.id, context.claim.epoch)
