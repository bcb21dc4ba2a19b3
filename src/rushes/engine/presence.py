"""Workers come, say that they are there, and go.

A worker is a name that lasts; `owner` is one start of it (`name#random`), and leases belong
to that. A second start under the same name takes the name over: the first process finds out
at its next heartbeat, and its leases stay its own until they end.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from rushes.domain.event import EventType
from rushes.domain.graph import MAX_NAME, check_json, check_text
from rushes.domain.kind import stage_offer
from rushes.domain.room import ROOM, Room
from rushes.domain.worker import Mode, Usage
from rushes.engine.engine import Engine, millis
from rushes.engine.journal import Journal
from rushes.errors import Conflict, Invalid
from rushes.store.database import Transaction
from rushes.store.ids import new_id

MAX_JSON_BYTES = 10_240
MAX_NAMESAKES = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Introduction:
    """What a worker says of itself when it starts."""

    name: str
    lanes: Mapping[str, int]
    kinds: frozenset[str]
    capabilities: frozenset[str] = frozenset()
    hostname: str = "localhost"
    version: str = "0"
    type: str = "local"
    metadata: Mapping[str, object] = field(default_factory=dict)


def register(engine: Engine, worker: Introduction, *, now: int | None = None) -> str:
    """Note that a worker has started. Returns its owner string, which every call carries."""
    return _register(engine, worker, [worker.name], live_ms=None, now=now)


def register_beside(engine: Engine, worker: Introduction, *, now: int | None = None) -> str:
    """The same under the first of `name`, `name-2`, … that no live worker has.

    In one step: of two that start at the same moment, neither takes the name of the other.
    """
    names = (worker.name if n == 1 else f"{worker.name}-{n}" for n in range(1, MAX_NAMESAKES + 1))
    return _register(engine, worker, list(names), live_ms=millis(engine.limits.late_after), now=now)


def _register(
    engine: Engine,
    worker: Introduction,
    names: Sequence[str],
    *,
    live_ms: int | None,
    now: int | None,
) -> str:
    _check(worker)
    token = secrets.token_hex(4)

    def work(tx: Transaction) -> str:
        for name in names:
            owner = f"{name}#{token}"
            if tx.rows("register", live_ms=live_ms, **_row(replace(worker, name=name), owner)):
                journal = Journal()
                journal.add(EventType.WORKER_STARTED, worker=name, owner=owner)
                journal.write(tx)
                return owner
        raise Conflict(f"{len(names)} workers have names such as {worker.name!r} already")

    return engine.db.transact(work, now=now)


def present(
    engine: Engine, owner: str, usage: Usage | None = None, *, now: int | None = None
) -> Mode:
    """Say that a worker is there. Returns what is asked of it.

    Raises Conflict when another process has taken over the worker's name.
    """

    def work(tx: Transaction) -> Mode:
        cpu, memory = usage or (None, None)
        rows = tx.rows("heartbeat", owner=owner, cpu_percent=cpu, memory_percent=memory)
        if not rows:
            raise Conflict(f"another process works as {owner.partition('#')[0]} now")
        if rows[0]["offline_at"] is not None:
            _back_online(tx, owner)
        return Mode(rows[0]["mode"])

    return engine.db.transact(work, now=now)


def tell_room(engine: Engine, owner: str, room: Room, *, now: int | None = None) -> None:
    """Note whether a worker's disk has room. Without it the worker is given nothing that writes.

    A worker has room until it says otherwise.
    """

    def work(tx: Transaction) -> None:
        for row in tx.rows("lock_worker", owner=owner):
            offers = row["offers"] if isinstance(row["offers"], list) else json.loads(row["offers"])
            others = [offer for offer in offers if offer != ROOM]
            tx.run(
                "set_room",
                owner=owner,
                offers=[*others, ROOM] if room.is_enough else others,
                metadata=json.dumps({**json.loads(row["metadata"]), ROOM: room._asdict()}),
            )

    engine.db.transact(work, now=now)


def leave(engine: Engine, owner: str, *, now: int | None = None) -> None:
    """Note that a worker has stopped."""

    def work(tx: Transaction) -> None:
        journal = Journal()
        for row in tx.rows("stop_worker", owner=owner):
            journal.add(EventType.WORKER_STOPPED, worker=row["name"], owner=owner)
        journal.write(tx)

    engine.db.transact(work, now=now)


def _back_online(tx: Transaction, owner: str) -> None:
    journal = Journal()
    for row in tx.rows("mark_online", owner=owner):
        journal.add(EventType.WORKER_ONLINE, worker=row["name"], owner=owner)
    journal.write(tx)


def _check(worker: Introduction) -> None:
    check_text(worker.name, "the worker's name", MAX_NAME)
    if not worker.name or "#" in worker.name:
        raise Invalid("a worker's name is not empty and has no '#'")
    if not worker.lanes or any(slots < 1 for slots in worker.lanes.values()):
        raise Invalid("a worker needs at least one slot in every lane it serves")
    check_json(sorted(worker.capabilities), MAX_JSON_BYTES, "the list of capabilities")
    check_json(worker.metadata, MAX_JSON_BYTES, "the metadata")


def _row(worker: Introduction, owner: str) -> dict[str, object]:
    offers = sorted(worker.capabilities | {stage_offer(kind) for kind in worker.kinds} | {ROOM})
    return {
        "id": new_id(),
        "name": worker.name,
        "owner": owner,
        "type": worker.type,
        "hostname": worker.hostname,
        "version": worker.version,
        "lanes": json.dumps(dict(worker.lanes)),
        "offers": offers,
        "capabilities": sorted(worker.capabilities),
        "kinds": sorted(worker.kinds),
        "metadata": json.dumps(dict(worker.metadata)),
    }
