"""Reads how much work waits, by kind."""

from __future__ import annotations

from typing import NamedTuple

from rushes.store.database import Transaction


class Depth(NamedTuple):
    """How many tasks of a kind may be claimed, and how many are."""

    ready: int
    running: int


EMPTY = Depth(0, 0)


def depths(tx: Transaction) -> dict[str, Depth]:
    """Return the kinds that have open work."""
    return {row["kind"]: Depth(row["ready"], row["running"]) for row in tx.rows("queue_depths")}
