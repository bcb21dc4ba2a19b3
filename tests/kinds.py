"""The kinds of task that tests of the engine use; tests/stages.py runs them."""

from __future__ import annotations

from datetime import timedelta

from rushes.domain.kind import Kind
from rushes.domain.retry import HEAVY
from rushes.domain.room import ROOM

KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind(name="noop", short=True),
        Kind(name="split"),
        Kind(name="part"),
        Kind(name="join"),
        Kind(
            name="heavy", backoff=HEAVY, stall=timedelta(minutes=30), hard_limit=timedelta(hours=4)
        ),
        Kind(name="write", needs=frozenset({ROOM})),
        Kind(name="gpu", lane="gpu", needs=frozenset({"gpu"})),
        Kind(name="encode", prefers=frozenset({"gpu"})),
    )
}
