"""Tells in the feed what people do to films, so that every window shows it. No job is needed."""

from __future__ import annotations

from rushes.domain.event import EventType
from rushes.engine.journal import Journal
from rushes.store.database import Transaction


def tell(tx: Transaction, type: EventType, asset_id: str, **data: object) -> None:
    """Write down what happened to a film, in the transaction that makes it true."""
    journal = Journal()
    journal.add(type, None, asset_id=asset_id, **data)
    journal.write(tx)
