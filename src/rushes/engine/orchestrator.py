"""Makes ready what waits for its time: backoff after a failure, and later starts.

What waits for its parents is advanced in the transaction that ends them (advance.py);
this loop never marks work done and does no heavy work.
"""

from __future__ import annotations

from collections.abc import Sequence

from rushes.engine.advance import make_ready, settle
from rushes.engine.engine import Engine
from rushes.engine.journal import Journal
from rushes.observability import failpoints
from rushes.store.database import Row, Transaction

BATCH = 1_000


def run_once(engine: Engine, *, now: int | None = None) -> int:
    """Advance every task whose time has come. Returns how many were looked at."""
    total = 0
    while True:
        looked_at = engine.db.transact(lambda tx: _advance(tx, engine), now=now)
        total += looked_at
        if looked_at < BATCH:
            return total


def next_due(engine: Engine) -> int | None:
    """Return when the next task becomes due, in ms; None when none waits for its time."""
    [row] = engine.db.read(lambda tx: tx.rows("next_due"))
    return int(row["at"]) if row["at"] is not None else None


def reconcile(engine: Engine) -> list[int]:
    """Return NEW tasks whose counter of open parents is wrong. A check, not the mechanism."""
    return [row["id"] for row in engine.db.read(lambda tx: tx.rows("unadvanced"))]


def _advance(tx: Transaction, engine: Engine) -> int:
    failpoints.hit("orchestrator.before_advance")
    due = tx.rows("due", job_id=None, n=BATCH)
    if due:
        advance(tx, engine, due, Journal())
    failpoints.hit("orchestrator.after_advance")
    return len(due)


def advance(tx: Transaction, engine: Engine, due: Sequence[Row], journal: Journal) -> None:
    """Make due tasks ready, settle those that turn out not to be needed, write it down."""
    skipped = make_ready(tx, engine, due, journal)
    settle(tx, engine, skipped, journal)
    journal.write(tx)
