"""The audit log: who did what, and that nobody can quietly take it back."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from typing import get_args

import pytest

from rushes.domain.person import LOCAL, Origin, Principal
from rushes.library import audit
from rushes.library.audit import BATCH, Result
from rushes.store.database import Database, Transaction
from rushes.store.queries import Dialect, load
from tests.world import NOON, sql

ANN = Principal(name="ann", owner="7", scopes=frozenset(), session_id="s1")
ORIGIN = Origin(address="10.0.0.9", request_id="req-1")


def fill(db: Database, n: int = 5) -> None:
    def work(tx: Transaction) -> None:
        for number in range(n):
            audit.write(tx, ANN, "job.kill", f"job {number}", origin=ORIGIN)

    db.transact(work, now=NOON)


def test_deed_is_kept_with_who_when_whence_and_how(db: Database):
    db.transact(
        lambda tx: audit.write(
            tx, ANN, "key.create", "key 1", result=Result.REFUSED, origin=ORIGIN
        ),
        now=NOON,
    )

    [entry] = audit.page(db)

    assert (entry.id, entry.at, entry.actor, entry.credential) == (1, NOON, "ann", "s1")
    assert (entry.action, entry.object, entry.result) == ("key.create", "key 1", "refused")
    assert (entry.address, entry.request_id) == ("10.0.0.9", "req-1")


def test_deed_that_is_rolled_back_is_not_kept(db: Database):
    def work(tx: Transaction) -> None:
        audit.write(tx, ANN, "job.kill", "job 1")
        raise LookupError

    with pytest.raises(LookupError):
        db.transact(work)
    fill(db, 1)

    assert [entry.object for entry in audit.page(db)] == ["job 0"]
    assert audit.verify(db) is None


def test_texts_from_outside_are_kept_as_far_as_a_database_can(db: Database):
    """B-HTTP-9."""
    odd = Origin(address="\x00\ud800" + "9" * 1000, request_id="a\r\nb\x00")
    db.transact(lambda tx: audit.write(tx, None, "login", "x" * 1000, origin=odd))

    [entry] = audit.page(db)

    assert (entry.actor, entry.credential, entry.request_id) == ("", None, "a\r\nb")
    assert len(entry.address) == len(entry.object) == audit.MAX_TEXT
    assert audit.verify(db) is None


def test_pages_follow_one_another_without_a_gap(db: Database):
    fill(db, 7)

    first = audit.page(db, limit=3)
    second = audit.page(db, limit=3, before=first[-1].id)
    third = audit.page(db, limit=3, before=second[-1].id)

    assert [entry.id for entry in (*first, *second, *third)] == [7, 6, 5, 4, 3, 2, 1]


def test_log_that_nobody_touched_is_sound(db: Database):
    assert audit.verify(db) is None

    fill(db, BATCH + 1)

    assert audit.verify(db) is None


CHANGES = {
    "at": "at = at + 1",
    "actor": "actor = 'bob'",
    "credential": "credential = NULL",
    "address": "address = ''",
    "action": "action = 'job.retry'",
    "object": "object = 'job 9'",
    "result": "result = 'refused'",
    "request_id": "request_id = NULL",
    "hash": "hash = replace(hash, substr(hash, 1, 1), 'x')",
}
TAMPERED = {
    **{
        f"{name} changed": (f"UPDATE audit SET {to} WHERE id = 3", 3)
        for name, to in CHANGES.items()
    },
    "first removed": ("DELETE FROM audit WHERE id = 1", 1),
    "one removed": ("DELETE FROM audit WHERE id = 3", 3),
    "gap closed": ("UPDATE audit SET id = 9 WHERE id = 4", 4),
    "last removed": ("DELETE FROM audit WHERE id = 5", 5),
    "all removed": ("DELETE FROM audit", 1),
    "end moved back": (
        "UPDATE audit_end SET n = 4, hash = (SELECT hash FROM audit WHERE id = 4)",
        5,
    ),
    "end changed": ("UPDATE audit_end SET hash = ''", 5),
    "end removed": ("DELETE FROM audit_end", 1),
    "one made up": (
        f"INSERT INTO audit SELECT 6, {', '.join(audit.FIELDS[1:])}, hash FROM audit WHERE id = 5",
        6,
    ),
}


@pytest.mark.parametrize("statement, first", TAMPERED.values(), ids=TAMPERED)
def test_log_that_was_tampered_with_is_found(db: Database, statement: str, first: int):
    fill(db)

    sql(db, statement)

    assert audit.verify(db) == first


def test_writers_at_once_make_one_chain(db: Database):
    def write(_: int) -> None:
        for _n in range(5):
            fill(db, 2)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(8)))

    assert [entry.id for entry in audit.page(db, limit=200)] == list(range(80, 0, -1))
    assert audit.verify(db) is None


@pytest.mark.parametrize("dialect", get_args(Dialect))
def test_no_statement_changes_or_removes_a_row(dialect: Dialect):
    changing = re.compile(r"(UPDATE|DELETE FROM)\s+audit\b")

    assert [name for name, text in load(dialect).items() if changing.search(text)] == []
    assert changing.search("DELETE FROM audit WHERE id = 1")


def test_person_at_the_machine_has_no_credential(db: Database):
    db.transact(lambda tx: audit.write(tx, LOCAL, "user.create", "user 1"))

    [entry] = audit.page(db)

    assert (entry.actor, entry.credential, entry.address) == ("local", None, "")
