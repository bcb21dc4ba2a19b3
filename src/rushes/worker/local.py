"""The session of a worker that reaches the database itself."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rushes.domain.outcome import Beat, Exchange, Outcome
from rushes.domain.task import Claim
from rushes.engine import complete, presence
from rushes.engine.engine import Engine
from rushes.stages.process import Execution
from rushes.store.database import Transaction
from rushes.worker.session import Pulse


@dataclass(frozen=True, slots=True)
class LocalSession:
    engine: Engine
    owner: str

    def exchange(self, outcomes: Sequence[Outcome], want: Mapping[str, int]) -> Exchange:
        return complete.exchange(self.engine, self.owner, outcomes, want)

    def beat(self, beats: Sequence[Beat]) -> Pulse:
        gone = complete.extend(self.engine, self.owner, beats)
        return Pulse(mode=presence.present(self.engine, self.owner), gone=gone)

    def results(self, claim: Claim) -> list[dict[str, Any]]:
        return complete.parent_results(self.engine, claim)

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

    def leave(self) -> None:
        presence.leave(self.engine, self.owner)


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
