"""Reads the feed. A cursor says where a reader was; it can miss nothing (sql/events.sql).

On PostgreSQL the order of the feed is that of transaction numbers, which are given out at a
transaction's first write: the second claim of a task may come before the expiry that set it
free. Whoever tells the history of a job sorts its events by the second part of the cursor,
which grows from cause to effect.
"""

from __future__ import annotations

import json
import re

from rushes.domain.event import Event
from rushes.errors import Invalid
from rushes.store.database import Row, Transaction

BEGINNING = "0-0"
_CURSOR = re.compile(r"([0-9]{1,19})-([0-9]{1,18})")


def after(
    tx: Transaction, cursor: str = BEGINNING, *, job_id: str | None = None, limit: int = 1_000
) -> list[Event]:
    """Return the events after `cursor`, oldest first. Nothing will ever appear before them."""
    match = _CURSOR.fullmatch(cursor)
    if match is None:
        raise Invalid(f"not a cursor: {cursor[:40]!r}")
    rows = tx.rows("feed", xid=match[1], id=int(match[2]), job_id=job_id, n=limit)
    return [_event(row) for row in rows]


def end(tx: Transaction) -> str:
    """Return the cursor of a reader that wants only what happens from now on."""
    [row] = tx.rows("feed_end")
    return f"{row['xid']}-{row['id']}"


def _event(row: Row) -> Event:
    return Event(
        cursor=f"{row['xid']}-{row['id']}",
        job_id=row["job_id"],
        type=row["type"],
        at=row["at"],
        data=json.loads(row["data"]),
    )
