"""Workers on other machines: how they join, and the keys that they come with.

A machine joins with a token that an admin made minutes before. It gets a key of its own, which
lets it do the work of a worker and nothing else: it is nobody's key, and sees no film that it does
not work on. The token stays good for the same machine while it lives, because the answer with the
key may be lost; the key that was made the first time is then revoked.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import NamedTuple

from rushes.domain.graph import MAX_NAME, check_json, check_text
from rushes.domain.person import HERE, KeyKind, Origin, Principal, Scope
from rushes.engine.engine import millis
from rushes.engine.presence import MAX_JSON_BYTES
from rushes.errors import Invalid, NotFound, Unauthenticated
from rushes.library import audit, keys
from rushes.library.audit import Result
from rushes.library.keys import NO_HASH, digest
from rushes.store.database import Database, Row, Transaction
from rushes.store.ids import new_id

TOKEN = re.compile(r"rsh_join_(?P<secret>[A-Za-z0-9_-]{43})")
LIFE = timedelta(minutes=15)
LONGEST = timedelta(days=7)
KIND = re.compile(r"[a-z][a-z0-9_.-]{0,99}")
MAX_KEYS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Hand:
    """A worker that is at the door. `kinds` are those that its key is for; None: all."""

    name: str
    key_id: str
    kinds: frozenset[str] | None

    def allowed(self, kinds: Iterable[str]) -> frozenset[str]:
        return frozenset(kinds) if self.kinds is None else frozenset(kinds) & self.kinds


@dataclass(frozen=True, slots=True, kw_only=True)
class Applicant:
    """A machine that wants to be a worker."""

    name: str
    capabilities: tuple[str, ...] = ()
    metadata: dict[str, object] = field(default_factory=dict)
    hostname: str = ""
    version: str = "0"


@dataclass(frozen=True, slots=True, kw_only=True)
class Enlisted:
    """`text` is the key, which nobody will see again."""

    worker_id: str
    name: str
    kinds: frozenset[str] | None
    text: str = field(repr=False)


class Draft(NamedTuple):
    """A key that is not kept yet."""

    id: str
    secret: str

    @property
    def text(self) -> str:
        return keys.text_of(KeyKind.WORKER, self.id, self.secret)


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerKey:
    id: str
    worker: str
    kinds: frozenset[str] | None
    created_at: int
    expires_at: int | None
    used_at: int | None


def invite(
    db: Database,
    by: Principal,
    *,
    kinds: Iterable[str] = (),
    life: timedelta = LIFE,
    origin: Origin = HERE,
    now: int | None = None,
) -> str:
    """Return a token with which one machine may join. `kinds`: what it may do; none given: all."""
    by.need(Scope.ADMIN)
    words = _kinds(kinds)
    if not timedelta(0) < life <= LONGEST:
        raise Invalid(f"a token to join lives at most {LONGEST.days} days")
    secret = secrets.token_urlsafe(32)

    def work(tx: Transaction) -> None:
        keys.check_person(tx, by)
        tx.run("drop_old_join_tokens")
        if tx.rows("add_join_token", hash=digest(secret), kinds=words, life_ms=millis(life)):
            audit.write(tx, by, "worker.invite", f"kinds {words or 'all'}", origin=origin)

    db.transact(work, now=now)
    return f"rsh_join_{secret}"


def join(
    db: Database,
    token: str,
    applicant: Applicant,
    *,
    origin: Origin = HERE,
    now: int | None = None,
) -> Enlisted:
    """Register a machine with a token. Raises Unauthenticated for one that is not good for it."""
    _check(applicant)
    given = TOKEN.fullmatch(token)
    hashed = digest(given["secret"]) if given else NO_HASH
    key = Draft(*keys.draw())

    def work(tx: Transaction) -> Enlisted:
        rows = tx.rows("use_join_token", hash=hashed, worker=applicant.name)
        if not rows:
            raise Unauthenticated(
                "the token to join is unknown, too old or was used", hint="ask for a new one"
            )
        _check_free(tx, applicant.name, rows[0]["key_id"])
        if rows[0]["key_id"] not in (None, key.id):
            tx.rows("revoke_key", id=rows[0]["key_id"])
        tx.run("join_token_made", hash=hashed, key_id=key.id)
        return _enlist(tx, applicant, key, rows[0]["kinds"], origin)

    return db.transact(work, now=now)


def enlist(
    db: Database,
    applicant: Applicant,
    *,
    origin: Origin = HERE,
    now: int | None = None,
) -> Enlisted:
    """Register a machine whose caller has shown the admin secret of this installation."""
    _check(applicant)
    key = Draft(*keys.draw())

    def work(tx: Transaction) -> Enlisted:
        _check_free(tx, applicant.name, None)
        return _enlist(tx, applicant, key, "", origin)

    return db.transact(work, now=now)


def check_hand(db: Database, text: str, *, now: int | None = None) -> Hand | None:
    """Return the worker that comes with this key; None for one that is wrong, old or revoked."""
    row = keys.row_of(db, text, "worker_key", _is_worker, now=now)
    if row is None:
        return None
    return Hand(name=row["name"], key_id=keys.id_in(text), kinds=_set(row["kinds"]))


def _is_worker(row: Row, kind: str) -> bool:
    return kind == KeyKind.WORKER and bool(row["is_live"])


def note_foreign(db: Database, hand: Hand, given: str, *, origin: Origin) -> None:
    """Write down that a worker spoke for another: its key may have been stolen."""

    def work(tx: Transaction) -> None:
        deed = f"worker {hand.name} with key {hand.key_id} spoke as {given}"
        audit.write(tx, None, "foreign_lease", deed, result=Result.REFUSED, origin=origin)

    db.transact(work)


def list_keys(db: Database, by: Principal, worker: str) -> list[WorkerKey]:
    """Return the keys of a worker that are good, newest first."""
    by.need(Scope.ADMIN)
    return db.read(lambda tx: [_key(row) for row in tx.rows("worker_keys", name=worker)])


def add_key(
    db: Database,
    by: Principal,
    worker: str,
    *,
    kinds: Iterable[str] = (),
    origin: Origin = HERE,
    now: int | None = None,
) -> Enlisted:
    """Give a worker another key: the one before stays good until it is revoked."""
    by.need(Scope.ADMIN)
    words = _kinds(kinds)
    key = Draft(*keys.draw())

    def work(tx: Transaction) -> Enlisted:
        keys.check_person(tx, by)
        rows = tx.rows("worker_named", name=worker)
        if not rows:
            raise NotFound(f"there is no worker {worker[:MAX_NAME]!r}")
        if len(tx.rows("worker_keys", name=worker)) >= MAX_KEYS:
            raise Invalid(f"{worker} has {MAX_KEYS} keys already", hint="revoke one first")
        _add(tx, by, worker, key, words, origin)
        return Enlisted(worker_id=rows[0]["id"], name=worker, kinds=_set(words), text=key.text)

    return db.transact(work, now=now)


def revoke_key(
    db: Database,
    by: Principal,
    worker: str,
    key_id: str | None = None,
    *,
    origin: Origin = HERE,
    now: int | None = None,
) -> list[str]:
    """End one key of a worker, or all of them. Returns the ids of those that were good."""
    by.need(Scope.ADMIN)

    def work(tx: Transaction) -> list[str]:
        keys.check_person(tx, by)
        good = [row["id"] for row in tx.rows("worker_keys", name=worker)]
        wanted = good if key_id is None else [id for id in good if id == key_id]
        if not wanted:
            raise NotFound(f"{worker[:MAX_NAME]!r} has no such key")
        for id in wanted:
            tx.rows("revoke_key", id=id)
            audit.write(tx, by, "key.revoke", f"key {id} of worker {worker}", origin=origin)
        return wanted

    return db.transact(work, now=now)


def _check(applicant: Applicant) -> None:
    check_text(applicant.name, "the worker's name", MAX_NAME)
    if not applicant.name.strip() or "#" in applicant.name or not applicant.name.isprintable():
        raise Invalid("a worker's name is not empty, can be seen, and has no '#'")
    check_json(sorted(applicant.capabilities), MAX_JSON_BYTES, "the list of capabilities")
    check_json(applicant.metadata, MAX_JSON_BYTES, "the metadata")


def _check_free(tx: Transaction, name: str, key_id: str | None) -> None:
    """Refuse a name that another machine works under: it would be replaced."""
    good = {row["id"] for row in tx.rows("worker_keys", name=name)} - {key_id}
    known = tx.rows("worker_named", name=name)
    if good or (known and known[0]["mode"] == "active" and key_id is None):
        raise Invalid(f"there is a worker {name!r} already", hint="choose another --name")


def _enlist(
    tx: Transaction, applicant: Applicant, key: Draft, kinds: str, origin: Origin
) -> Enlisted:
    tx.run(
        "enlist",
        id=new_id(),
        name=applicant.name,
        owner=f"{applicant.name}#new",
        hostname=applicant.hostname or "unknown",
        version=applicant.version,
        lanes="{}",
        offers=[],
        kinds=[],
        capabilities=sorted(applicant.capabilities),
        metadata=json.dumps(applicant.metadata),
    )
    _add(tx, None, applicant.name, key, kinds, origin)
    [row] = tx.rows("worker_named", name=applicant.name)
    return Enlisted(worker_id=row["id"], name=applicant.name, kinds=_set(kinds), text=key.text)


def _add(
    tx: Transaction, by: Principal | None, worker: str, key: Draft, kinds: str, origin: Origin
) -> None:
    added = tx.rows(
        "add_key",
        id=key.id,
        kind=KeyKind.WORKER,
        user_id=None,
        name=worker,
        scopes=kinds,
        hash=digest(key.secret),
        lifetime_ms=None,
    )
    if added:
        audit.write(tx, by, "key.create", f"key {key.id} of worker {worker}", origin=origin)


def _kinds(kinds: Iterable[str]) -> str:
    words = sorted(set(kinds))
    for word in words:
        if not KIND.fullmatch(word):
            raise Invalid(f"{word[:MAX_NAME]!r} is not a kind of task")
    return " ".join(words)


def _set(kinds: str) -> frozenset[str] | None:
    return frozenset(kinds.split()) or None


def _key(row: Row) -> WorkerKey:
    same = ("id", "created_at", "expires_at", "used_at")
    return WorkerKey(
        **{name: row[name] for name in same}, worker=row["name"], kinds=_set(row["kinds"])
    )
