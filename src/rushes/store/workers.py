"""Reads workers as people look at them."""

from __future__ import annotations

import json
from typing import Any

from rushes.domain.worker import Mode, Usage, Worker
from rushes.errors import Invalid, NotFound
from rushes.store.database import Row, Transaction


def list_all(tx: Transaction) -> tuple[list[Worker], int]:
    """Return every worker by name, and the time of the database."""
    rows = tx.rows("list_workers")
    return [_worker(row) for row in rows], rows[0]["now"] if rows else 0


def held(tx: Transaction) -> dict[str, list[Row]]:
    """Return the tasks that are worked on now, by the owner of their leases."""
    found: dict[str, list[Row]] = {}
    for row in tx.rows("held_tasks"):
        found.setdefault(row["owner"], []).append(row)
    return found


def now(tx: Transaction) -> int:
    """Return the time of the database."""
    [row] = tx.rows("clock")
    return int(row["now"])


def find(tx: Transaction, text: str) -> Worker:
    """Return the worker of this name, or of an id that begins with `text`."""
    workers, _ = list_all(tx)
    named = [worker for worker in workers if worker.name == text]
    found = named or [worker for worker in workers if text and worker.id.startswith(text)]
    if not found:
        raise NotFound(f"there is no worker {text!r}", hint="rushes workers list shows them")
    if len(found) > 1:
        raise Invalid(f"{text!r} fits more than one worker; give more characters")
    return found[0]


def _worker(row: Row) -> Worker:
    return Worker(
        id=row["id"],
        name=row["name"],
        owner=row["owner"],
        type=row["type"],
        mode=Mode(row["mode"]),
        hostname=row["hostname"],
        version=row["version"],
        lanes=_json(row["lanes"]),
        capabilities=_json(row["capabilities"]),
        kinds=_json(row["kinds"]),
        metadata=_json(row["metadata"]),
        started_at=row["started_at"],
        last_heartbeat=row["last_heartbeat"],
        load=row["load"],
        tasks_done=row["tasks_done"],
        tasks_failed=row["tasks_failed"],
        usage=_usage(row),
    )


def _usage(row: Row) -> Usage | None:
    if row["cpu_percent"] is None or row["memory_percent"] is None:
        return None
    return Usage(row["cpu_percent"], row["memory_percent"])


def _json(value: Any) -> Any:
    """PostgreSQL's driver decodes jsonb by itself; text columns come as text."""
    return json.loads(value) if isinstance(value, str) else value
