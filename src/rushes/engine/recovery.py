"""Gives abandoned tasks to somebody else.

A task is abandoned when its lease has run out, when its work has not moved for its stall
time, or when it has run longer than its hard limit. Whether its worker is dead, asleep or
merely slow cannot be known from here and does not matter: the lease epoch stops the old
claim from finishing what the new one started.

    RUNNING --abandoned--> READY   attempts left
                       `-> ERROR   that was the last one, or the task lost its worker
                                   three times in a row without a checkpoint between

Only the leader runs this loop, yet two at once would be harmless: a task moves in one
UPDATE that repeats the reason. Workers are looked at only to say that they are offline;
their tasks are left to their leases.

After a standstill of everything (nobody recovered for two leases) leases have run out
because nobody could renew them: the first pass only grants one lease of grace, written
down, so that a process that restarts in a loop cannot postpone recovery for ever.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rushes.domain.event import EventType
from rushes.domain.failure import KilledBy, failure
from rushes.domain.task import Move
from rushes.engine.advance import settle
from rushes.engine.engine import Engine, millis
from rushes.engine.journal import Journal, record_attempts
from rushes.observability import failpoints
from rushes.store.database import Row, Transaction

LOOP = "recovery"
BATCH = 500
TIMED_OUT = ("stalled", "overran")
MESSAGES = {
    "expired": "the lease of {owner} ran out",
    "stalled": "no progress from {owner} for the stall time of {kind}",
    "overran": "{owner} ran longer than the hard limit of {kind}",
    "restart": "the process of {owner} is gone",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovered:
    """What one pass did."""

    expired: int = 0
    exhausted: int = 0
    in_grace: bool = False


def run_once(engine: Engine, *, now: int | None = None) -> Recovered:
    """Take back every abandoned task."""
    if engine.db.transact(lambda tx: _in_grace(tx, engine), now=now):
        return Recovered(in_grace=True)
    expired = exhausted = 0
    while moved := _take_batch(engine, now):
        expired, exhausted = expired + moved[0], exhausted + moved[1]
    engine.db.transact(_ran, now=now)
    return Recovered(expired=expired, exhausted=exhausted)


def take_back(engine: Engine, owners: Iterable[str], *, now: int | None = None) -> Recovered:
    """Take back the tasks of processes that are known to be dead, and give back the attempt."""
    dead = [{"owner": owner} for owner in owners]
    if not dead:
        return Recovered()

    def work(tx: Transaction) -> tuple[int, int]:
        return _abandon(tx, engine, tx.rows("find_held", owners=dead), certain=True)

    expired, exhausted = engine.db.transact(work, now=now)
    return Recovered(expired=expired, exhausted=exhausted)


def mark_offline(engine: Engine, *, now: int | None = None) -> list[str]:
    """Note workers that have been silent for long. Display only: no task is touched."""

    def work(tx: Transaction) -> list[str]:
        journal = Journal()
        rows = tx.rows("mark_offline", offline_ms=millis(engine.limits.offline_after))
        for row in rows:
            journal.add(EventType.WORKER_OFFLINE, worker=row["name"], owner=row["owner"])
        journal.write(tx)
        return [row["name"] for row in rows]

    return engine.db.transact(work, now=now)


def _in_grace(tx: Transaction, engine: Engine) -> bool:
    """Whether this pass has to wait; grants the grace if everything stood still."""
    [loop] = tx.rows("loop", name=LOOP) or [{"ran_at": None, "grace_until": None, "now": 0}]
    now, ran_at, grace_until = loop["now"], loop["ran_at"], loop["grace_until"]
    if ran_at is None:
        return False
    granted = grace_until is not None and grace_until > ran_at
    if granted:
        return bool(now < grace_until)
    lease = millis(engine.limits.lease)
    if now - ran_at <= 2 * lease:
        return False
    tx.run("set_loop", name=LOOP, ran_at=ran_at, grace_until=now + lease)
    return True


def _take_batch(engine: Engine, now: int | None) -> tuple[int, int] | None:
    """Look, then move what is still abandoned. None when nothing was."""
    found = engine.db.read(lambda tx: tx.rows("find_abandoned", n=BATCH), now=now)
    failpoints.hit("recovery.between_select_update")
    moved = engine.db.transact(lambda tx: _abandon(tx, engine, found, certain=False), now=now)
    return moved if any(moved) else None


def _ran(tx: Transaction) -> None:
    [clock] = tx.rows("clock")
    tx.run("set_loop", name=LOOP, ran_at=clock["now"], grace_until=None)


def _abandon(
    tx: Transaction, engine: Engine, found: Sequence[Row], *, certain: bool
) -> tuple[int, int]:
    """Move what is still abandoned. Returns (made ready, ended)."""
    if not found:
        return 0, 0
    journal = Journal()
    [clock] = tx.rows("clock")
    hopeless = [row for row in found if _is_hopeless(engine, row)]
    expired = 0
    for cause in dict.fromkeys(row["cause"] for row in found):
        again = [row for row in found if row["cause"] == cause and row not in hopeless]
        expired += len(_expire(tx, cause, again, clock["now"], certain, journal))
    ended = _exhaust(tx, engine, hopeless, clock["now"], certain, journal)
    settle(tx, engine, ended, journal)
    journal.write(tx)
    return expired, len(ended)


def _is_hopeless(engine: Engine, row: Row) -> bool:
    if _is_poison(engine, row):
        return True
    return bool(row["cause"] != "restart" and row["attempt"] >= row["max_attempts"])


def _is_poison(engine: Engine, row: Row) -> bool:
    return bool(row["losses"] + 1 >= engine.limits.max_losses and row["cause"] not in TIMED_OUT)


def _expire(
    tx: Transaction, cause: str, rows: Sequence[Row], now: int, certain: bool, journal: Journal
) -> Sequence[Row]:
    if not rows:
        return []
    expired = tx.rows(
        "expire",
        claims=[_claim(row, _code(cause), now) for row in rows],
        give_back=1 if cause == "restart" else 0,
        lost=0 if cause in TIMED_OUT else 1,
        certain=certain,
    )
    timed_out = cause in TIMED_OUT
    outcome = "timed_out" if timed_out else "restarted" if cause == "restart" else "expired"
    record_attempts(tx, expired, outcome, _killed_by(cause))
    journal.moved(Move.TIME_OUT if timed_out else Move.EXPIRE, expired, cause=cause)
    tx.woken.update(row["lane"] for row in expired)
    return expired


def _exhaust(
    tx: Transaction, engine: Engine, rows: Sequence[Row], now: int, certain: bool, journal: Journal
) -> Sequence[Row]:
    if not rows:
        return []
    claims = [
        _claim(row, "WORKER_CRASHED" if _is_poison(engine, row) else _code(row["cause"]), now)
        for row in rows
    ]
    ended = tx.rows("exhaust", claims=claims, certain=certain)
    cause_of = {row["id"]: row["cause"] for row in rows}
    for cause in dict.fromkeys(cause_of.values()):
        moved = [row for row in ended if cause_of[row["id"]] == cause]
        record_attempts(tx, moved, "exhausted", _killed_by(cause))
        journal.moved(Move.EXHAUST, moved, cause=cause)
    return ended


def _claim(row: Row, code: str, now: int) -> dict[str, object]:
    message = MESSAGES[row["cause"]].format(owner=row["owner"], kind=row["kind"])
    record = failure(
        code,
        f"{message} (attempt {row['attempt']} of {row['max_attempts']})",
        error_type="Abandoned",
        failed_at=now,
        killed_by=_killed_by(row["cause"]),
    )
    return {
        "id": row["id"],
        "epoch": row["epoch"],
        "losses": row["losses"],
        "failure": record.to_json(),
    }


def _code(cause: str) -> str:
    return "WORKER_TIMEOUT" if cause in TIMED_OUT else "WORKER_CRASHED"


def _killed_by(cause: str) -> KilledBy:
    return KilledBy.TIMEOUT if cause in TIMED_OUT else KilledBy.WORKER_CRASH
