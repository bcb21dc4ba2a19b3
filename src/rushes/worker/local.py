"""The session of a worker that reaches the database itself."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from rushes.domain.outcome import Beat, Exchange, Outcome
from rushes.domain.room import Room
from rushes.domain.task import Claim
from rushes.domain.worker import Usage
from rushes.engine import complete, presence
from rushes.engine.engine import Engine
from rushes.stages.files import Files
from rushes.stages.process import Execution
from rushes.storage.local import LocalStorage
from rushes.store.database import Transaction
from rushes.worker.files import LocalFiles
from rushes.worker.session import Pulse

log = logging.getLogger(__name__)


@dataclass(slots=True)
class Told:
    """What the engine knows of the room on this worker's disk; None when that is uncertain."""

    has_room: bool | None = True
    lock: threading.Lock = field(default_factory=threading.Lock)


@dataclass(frozen=True, slots=True)
class LocalSession:
    engine: Engine
    owner: str
    storage: LocalStorage | None = None
    reserve_bytes: int = 0
    _told: Told = field(default_factory=Told)
    waits: ClassVar[bool] = False

    def exchange(self, outcomes: Sequence[Outcome], want: Mapping[str, int]) -> Exchange:
        if want:
            self._look_at_room()
        return complete.exchange(self.engine, self.owner, outcomes, want)

    def beat(self, beats: Sequence[Beat], usage: Usage | None = None) -> Pulse:
        gone = complete.extend(self.engine, self.owner, beats)
        self._look_at_room(anew=True)
        return Pulse(mode=presence.present(self.engine, self.owner, usage), gone=gone)

    def results(self, claim: Claim) -> list[dict[str, Any]]:
        return complete.parent_results(self.engine, claim)

    def files(self, claim: Claim) -> Files | None:
        return LocalFiles(self.storage, claim) if self.storage else None

    def record(
        self, claim: Claim, executions: Iterable[Execution], logs: list[dict[str, object]]
    ) -> None:
        rows = [_row(claim, execution) for execution in executions]

        def work(tx: Transaction) -> None:
            if rows:
                tx.run("add_executions", executions=rows)
            if logs:
                tx.run("add_logs", logs=logs)

        self.engine.db.transact(work)

    def hand_back_strays(self, held: Iterable[int]) -> None:
        complete.hand_back_strays(self.engine, self.owner, held)

    def interrupt(self) -> None:
        """Nothing here waits."""

    def leave(self) -> None:
        presence.leave(self.engine, self.owner)

    def _look_at_room(self, *, anew: bool = False) -> None:
        """Tell the engine when the disk has no room, `anew` with new figures, and when it has."""
        if self.storage is None:
            return
        with self._told.lock:
            room = Room(self.storage.free_bytes(), self.reserve_bytes)
            if room.is_enough is not self._told.has_room:
                log.warning("room on the disk: %s", room)
            elif room.is_enough or not anew:
                return
            self._told.has_room = None
            presence.tell_room(self.engine, self.owner, room)
            self._told.has_room = room.is_enough


def _row(claim: Claim, execution: Execution) -> dict[str, object]:
    return {
        "task_id": claim.id,
        "epoch": claim.epoch,
        "type": execution.type,
        "command": json.dumps(execution.command),
        "started_at": execution.started_at,
        "duration_ms": execution.duration_ms,
        "exit_code": execution.exit_code,
        "stdout": execution.stdout,
        "stderr": execution.stderr,
        "error": None if execution.exit_code == 0 else f"exit code {execution.exit_code}",
    }
