"""What a stage sees of its task: params in, progress and checkpoints out.

Shared by two threads: the slot that runs the stage, and the heartbeat, which collects the
news and tells the stage when the task is no longer its own. The stage hears it at its next
call of `progress`, `save`, `run` or `check`, as an exception it need not know.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Callable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ValidationError

from rushes.domain.failure import MESSAGE_LIMIT, clean
from rushes.domain.outcome import Beat
from rushes.domain.task import Claim
from rushes.errors import LeaseLost, Permanent, ToolFailed
from rushes.observability import failpoints
from rushes.stages import process
from rushes.stages.files import Files
from rushes.stages.process import Execution

M = TypeVar("M", bound=BaseModel)
Level = Literal["debug", "info", "warn", "error"]
Results = Callable[[Claim], list[dict[str, Any]]]


class Stop(StrEnum):
    """Why a stage is to stop."""

    LOST = "lost"  # somebody else has the task
    KILLED = "killed"  # somebody stopped it
    DRAIN = "drain"  # this worker goes away; stop at the next checkpoint
    NOW = "now"  # the same, without waiting for one


class Interrupted(Exception):
    """The worker goes away: the task is handed back, nothing is wrong with it."""


class TaskContext:
    def __init__(
        self,
        claim: Claim,
        *,
        scratch_root: Path | None = None,
        results: Results | None = None,
        files: Files | None = None,
        on_save: Callable[[], None] | None = None,
    ) -> None:
        self.claim = claim
        self._files = files
        self.executions: list[Execution] = []
        self.logs: list[dict[str, object]] = []
        self._scratch_root = scratch_root
        self._results = results
        self._on_save = on_save
        self._scratch: Path | None = None
        self._lock = threading.Lock()
        self._stop: Stop | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._news: dict[str, Any] = {}

    @property
    def attempt(self) -> int:
        """The number of this run, from 1."""
        return self.claim.attempt

    @property
    def is_last_attempt(self) -> bool:
        """Whether a failure of this run ends the task."""
        return self.claim.attempt >= self.claim.max_attempts

    @property
    def checkpoint(self) -> dict[str, Any]:
        """What an earlier attempt saved; empty at first."""
        saved: dict[str, Any] = json.loads(self.claim.checkpoint or "{}")
        return saved

    @property
    def scratch(self) -> Path:
        """A folder of the attempt's own, removed when it ends."""
        if self._scratch is None:
            name = f"task-{self.claim.id}-{self.claim.epoch}-"
            self._scratch = Path(tempfile.mkdtemp(prefix=name, dir=self._scratch_root))
        return self._scratch

    @property
    def files(self) -> Files:
        """What the stage reads and what it makes, wherever that is."""
        if self._files is None:
            raise Permanent("this worker has no storage", error_code="INTERNAL")
        return self._files

    def params(self, model: type[M]) -> M:
        """Return the params of the task. Wrong ones fail it for good."""
        try:
            return model.model_validate_json(self.claim.params)
        except ValidationError as error:
            raise Permanent(str(error), error_code="INVALID_INPUT") from error

    def results(self, step: str | None = None) -> list[Any]:
        """Return what the tasks before this one returned, in order, of one step or of all."""
        rows = self._results(self.claim) if self._results else []
        return [row["result"] for row in rows if step is None or row["step"] == step]

    def results_of(self, model: type[M], step: str) -> list[M]:
        """The same, as values; a task of that step that did not end well has none."""
        return [model.model_validate(row) for row in self.results(step) if row is not None]

    def result(self, model: type[M], step: str) -> M:
        """Return what the one task of `step` returned."""
        [found] = self.results_of(model, step)
        return found

    def progress(
        self, percent: float, message: str | None = None, *, phase: str | None = None
    ) -> None:
        """Say how far the work is. Raises if the task is no longer ours."""
        news = {"progress": max(0, min(100, int(percent))), "phase": phase, "message": message}
        with self._lock:
            self._news.update(
                {key: value for key, value in news.items() if value is not None}, moved=True
            )
        self.check()

    def save(self, **checkpoint: Any) -> None:
        """Keep a checkpoint: a later attempt starts from it. A worker that drains stops here."""
        with self._lock:
            self._news.update(checkpoint=json.dumps(checkpoint), moved=True)
        if self._on_save is not None:
            self._on_save()
        if self._stop is Stop.DRAIN:
            raise Interrupted
        self.check()

    def check(self) -> None:
        """Raise if the task is no longer ours."""
        if self._stop is None or self._stop is Stop.DRAIN:
            return
        if self._stop is Stop.NOW:
            raise Interrupted
        raise LeaseLost(f"task {self.claim.id} was {self._stop}")

    def log(self, level: Level, message: str, **metadata: Any) -> None:
        """Write a line into the log of the job."""
        entry: dict[str, object] = {
            "task_id": self.claim.id,
            "epoch": self.claim.epoch,
            "level": level,
            "message": clean(message, MESSAGE_LIMIT),
            "metadata": json.dumps(metadata) if metadata else None,
        }
        with self._lock:
            self.logs.append(entry)

    def run(self, command: Sequence[str], *, type: str = "command") -> Execution:
        """Run a program to its end; a non-zero exit raises ToolFailed. Stopped with the task."""
        failpoints.hit("stage.before_spawn")
        self.check()
        execution = process.run(command, type=type, cwd=str(self.scratch), on_start=self._started)
        failpoints.hit("stage.after_exit")
        with self._lock:
            self._process = None
            self.executions.append(execution)
        self.check()
        if execution.exit_code != 0:
            last = execution.stderr.strip().splitlines()[-1:] or ["it printed nothing"]
            raise ToolFailed(
                f"{command[0]} ended with {execution.exit_code}: {last[0]}",
                exit_code=execution.exit_code,
            )
        return execution

    def stop(self, why: Stop) -> None:
        """Tell the stage to stop; called by the worker. All but DRAIN end its program at once."""
        with self._lock:
            if self._stop in (None, Stop.DRAIN):
                self._stop = why
            running = self._process
        if running is not None and why is not Stop.DRAIN:
            process.stop_group(running)

    @property
    def stopped(self) -> Stop | None:
        return self._stop

    def beat(self) -> Beat:
        """Return the news since the last beat; called by the heartbeat."""
        with self._lock:
            news, self._news = self._news, {}
        return Beat(id=self.claim.id, epoch=self.claim.epoch, **news)

    def has_news(self) -> bool:
        return bool(self._news)

    def close(self, *, kept: bool) -> None:
        """Remove what the attempt left on this machine; what it made, too, unless it is kept."""
        if self._files is not None:
            if not kept:
                self._files.discard()
            self._files.close()
        if self._scratch is not None:
            shutil.rmtree(self._scratch, ignore_errors=True)

    def _started(self, running: subprocess.Popen[bytes]) -> None:
        with self._lock:
            self._process = running
            stopped = self._stop not in (None, Stop.DRAIN)
        if stopped:
            process.stop_group(running)
        failpoints.hit("stage.after_spawn")
