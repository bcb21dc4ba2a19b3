"""Writes down who did what. Rows are only ever added, each chained to the one before.

The hash of a row covers the row and the hash before it, and the end of the chain is kept beside
it: whoever changes a row, takes one out or cuts some off is noticed by `verify`. Not so whoever
may write to the database and makes the whole chain anew; keep copies of its end elsewhere.

Writers stand in line for the end of the chain until they commit, so `write` comes last in a
transaction, and only for what a person does: the work of the engine is in the events.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from enum import StrEnum

from rushes.domain.failure import clean
from rushes.domain.person import HERE, Origin, Principal
from rushes.store.database import Database, Row, Transaction

BATCH = 1_000
MAX_TEXT = 300


class Result(StrEnum):
    OK = "ok"
    REFUSED = "refused"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One deed. `credential` is the id of the key or session that the actor came with."""

    id: int
    at: int
    actor: str
    credential: str | None
    address: str
    action: str
    object: str
    result: str
    request_id: str | None


FIELDS = tuple(field.name for field in fields(Entry))


def write(
    tx: Transaction,
    by: Principal | None,
    action: str,
    object: str,
    *,
    result: Result = Result.OK,
    origin: Origin = HERE,
) -> None:
    """Add a row, in the transaction of the deed itself. `by` is None for somebody unknown."""
    [end] = tx.rows("hold_audit_end")
    entry = Entry(
        id=end["n"] + 1,
        at=end["now"],
        actor=clean(by.name, MAX_TEXT) if by else "",
        credential=by.key_id or by.session_id if by else None,
        address=clean(origin.address, MAX_TEXT),
        action=action,
        object=clean(object, MAX_TEXT),
        result=result,
        request_id=None if origin.request_id is None else clean(origin.request_id, MAX_TEXT),
    )
    link = _link(end["hash"], entry)
    tx.run("add_audit", **asdict(entry), hash=link)
    tx.run("move_audit_end", n=entry.id, hash=link)


def noting(by: Principal, action: str, origin: Origin) -> Callable[[Transaction, str], None]:
    """Return what adds a row about this action, once it is told to what it was done."""
    return lambda tx, what: write(tx, by, action, what, origin=origin)


def page(db: Database, *, before: int | None = None, limit: int = 50) -> list[Entry]:
    """Return rows, newest first; `before` is the id of the last one of the page before."""
    rows = db.read(lambda tx: list(tx.rows("audit_page", before=before, n=limit)))
    return [Entry(**dict(row)) for row in rows]


def verify(db: Database) -> int | None:
    """Return the id of the first row that is missing or not as it was written; None if all are.

    Rows that are added meanwhile are not looked at.
    """
    newest = page(db, limit=1)  # before the end, which may then only be further on
    ends = db.read(lambda tx: list(tx.rows("audit_end")))
    n, last = (ends[0]["n"], ends[0]["hash"]) if ends else (0, "")
    seen, link = 0, ""
    while seen < n:
        rows = _after(db, seen, min(BATCH, n - seen))
        for row in rows:
            link = _link(link, Entry(**{name: row[name] for name in FIELDS}))
            if row["hash"] != link:
                return seen + 1
            seen += 1
        if not rows:
            return seen + 1
    if link != last:
        return n
    return n + 1 if newest and newest[0].id > n else None


def _after(db: Database, seen: int, n: int) -> list[Row]:
    return db.read(lambda tx: list(tx.rows("audit_rows", after=seen, n=n)))


def _link(before: str, entry: Entry) -> str:
    row = json.dumps(list(asdict(entry).values()), separators=(",", ":"))
    return hashlib.sha256(f"{before}{row}".encode()).hexdigest()
