"""Reads tasks and what was tried of them."""

from __future__ import annotations

import json
from typing import Any

from rushes.domain.task import State, Task
from rushes.errors import NotFound
from rushes.store.database import Row, Transaction

ALL = 2**31 - 1  # as LIMIT: no limit


def get(tx: Transaction, task_id: int) -> Task:
    rows = tx.rows("task", id=task_id)
    if not rows:
        raise NotFound(f"there is no task {task_id}")
    return from_row(rows[0])


def of_job(tx: Transaction, job_id: str) -> list[Task]:
    return [from_row(row) for row in tx.rows("job_tasks", job_id=job_id)]


def parents(tx: Transaction, task_id: int) -> list[Task]:
    return [from_row(row) for row in tx.rows("parents", id=task_id)]


def attempts(tx: Transaction, job_id: str) -> list[dict[str, Any]]:
    return [_decoded(row, "failure") for row in tx.rows("job_attempts", job_id=job_id)]


def executions(
    tx: Transaction, job_id: str, *, task_id: int | None = None, last: int = ALL
) -> list[dict[str, Any]]:
    """Return the last programs that ran for a job, or for one task of it, oldest first."""
    rows = tx.rows("job_executions", job_id=job_id, task_id=task_id, n=last)
    return [_decoded(row, "command") for row in reversed(rows)]


def logs(
    tx: Transaction, job_id: str, *, task_id: int | None = None, last: int = ALL
) -> list[dict[str, Any]]:
    """Return the last lines that stages wrote for a job, or one task of it, oldest first."""
    rows = tx.rows("job_logs", job_id=job_id, task_id=task_id, n=last)
    return [_decoded(row, "metadata") for row in reversed(rows)]


def from_row(row: Row) -> Task:
    values = dict(row)
    return Task(**{**values, "state": State(row["state"]), "optional": bool(row["optional"])})


def _decoded(row: Row, column: str) -> dict[str, Any]:
    return {**dict(row), column: json.loads(row[column] or "null")}
