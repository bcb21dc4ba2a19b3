"""One process at a time runs a maintenance loop: it holds a lease on the loop's row.

Two at once are harmless, because every loop moves rows by guarded statements; the lease
only saves work. A row needs no session, so connection poolers do not matter.
"""

from __future__ import annotations

from rushes.engine.engine import Engine
from rushes.store.database import Transaction


def lead(engine: Engine, loop: str, holder: str, *, lease_ms: int, now: int | None = None) -> bool:
    """Take or renew the lease of `loop`. Returns whether `holder` has it."""

    def work(tx: Transaction) -> bool:
        return bool(tx.rows("take_loop", name=loop, holder=holder, lease_ms=lease_ms))

    return engine.db.transact(work, now=now)


def step_down(engine: Engine, loop: str, holder: str) -> None:
    """Give the lease up, so that another process need not wait for its end."""
    engine.db.transact(lambda tx: tx.run("leave_loop", name=loop, holder=holder))
