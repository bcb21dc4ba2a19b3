"""Writes history: attempts as they end, and what happened in a transaction as events.

One row per job and type, with the list of its tasks: a batch of two hundred completions
of one job is one event.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from rushes.domain.event import OF_MOVE, EventType
from rushes.domain.failure import KilledBy
from rushes.domain.task import Move
from rushes.store.database import Row, Transaction


class Journal:
    def __init__(self) -> None:
        self._entries: list[tuple[str | None, str, dict[str, object]]] = []

    def moved(self, move: Move, rows: Iterable[Row], **data: object) -> None:
        """Note that the tasks of `rows` made a move; a row has id, job_id and epoch."""
        tasks: dict[str, list[list[int]]] = {}
        for row in rows:
            tasks.setdefault(row["job_id"], []).append([row["id"], row["epoch"]])
        for job_id, moved in tasks.items():
            self._entries.append((job_id, OF_MOVE[move], {**data, "tasks": moved}))

    def add(self, type: EventType, job_id: str | None = None, **data: object) -> None:
        self._entries.append((job_id, type, data))

    def write(self, tx: Transaction) -> None:
        if self._entries:
            tx.run(
                "add_events",
                events=[
                    {
                        "job_id": job_id,
                        "type": type,
                        "data": json.dumps(data, separators=(",", ":")),
                    }
                    for job_id, type, data in self._entries
                ],
            )


def record_attempts(
    tx: Transaction, rows: Iterable[Row], outcome: str, killed_by: KilledBy | None = None
) -> None:
    """Write down the attempts that have just ended, one per row."""
    ended = [row["id"] for row in rows]
    if ended:
        tx.run("record_attempts", ended=ended, outcome=outcome, killed_by=killed_by)
