"""Lets the task hear of a program while it runs: progress, the end of the lease, what was run."""

from __future__ import annotations

import time

from rushes.media.sandbox import Output, Watch
from rushes.observability import failpoints
from rushes.stages.context import TaskContext
from rushes.stages.process import Execution


class TaskWatch(Watch):
    """Progress goes from `first` to `last` percent of the task. Stops the program with the task."""

    def __init__(self, task: TaskContext, kind: str, first: float = 0, last: float = 100) -> None:
        self._task = task
        self._kind = kind
        self._first = first
        self._last = last

    def tick(self) -> None:
        failpoints.hit("stage.after_spawn")
        self._task.check()

    def progress(self, fraction: float) -> None:
        self._task.progress(self._first + (self._last - self._first) * fraction)

    def ran(self, output: Output) -> None:
        failpoints.hit("stage.after_exit")
        ended_at = time.time_ns() // 1_000_000
        self._task.executions.append(
            Execution(
                type=self._kind,
                command=output.command,
                started_at=ended_at - output.duration_ms,
                duration_ms=output.duration_ms,
                exit_code=output.exit_code,
                stdout=output.stdout,
                stderr=output.stderr,
            )
        )
