"""Keys: `rsh_<kind>_<id>_<secret>`. The secret is shown once; its SHA-256 is kept.

A key never leads to more than itself. Whoever came with one can make neither keys, users nor
login links, for what they make would outlive the key or do more than it may. The one exception is
the key of the first run, which stands for the person who set this installation up.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta

from rushes.domain.person import (
    FIRST_ADMIN,
    HERE,
    ROLES,
    Key,
    KeyKind,
    Origin,
    Principal,
    Scope,
    check_name,
)
from rushes.engine.engine import millis
from rushes.errors import Conflict, Forbidden, Invalid, Unavailable
from rushes.library import audit
from rushes.store import people
from rushes.store.database import Database, Row, Transaction

TEXT = re.compile(r"rsh_(?P<kind>[a-z]+)_(?P<id>[a-z0-9]{10})_(?P<secret>[A-Za-z0-9_-]{43})")
LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"  # none that is read as another
NO_HASH = "0" * 64
EVERY_MS = 60_000
"""How often the time of last use is written."""
MAX_KEYS = 100
LONGEST_LIFE = timedelta(days=3650)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyRequest:
    """A key that somebody asks for: for themselves, or as an admin for another `user`."""

    name: str
    scopes: frozenset[Scope]
    user: str | None = None
    lifetime: timedelta | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewKey:
    """`text` is the key itself, which nobody will see again."""

    key: Key
    text: str = field(repr=False)


def create_key(
    db: Database,
    by: Principal,
    wanted: KeyRequest,
    *,
    origin: Origin = HERE,
    now: int | None = None,
) -> NewKey:
    """Make a personal key that may do no more than both its maker and its user."""
    name = check_name(wanted.name, "the name of the key")
    if not wanted.scopes:
        raise Invalid("a key needs a scope", hint=f"known: {', '.join(Scope)}")
    if wanted.lifetime is not None and not timedelta(0) < wanted.lifetime <= LONGEST_LIFE:
        raise Invalid(f"a key lives between 1 and {LONGEST_LIFE.days} days, or without an end")
    key_id, secret = draw()

    def work(tx: Transaction) -> Key:
        check_person(tx, by)
        user_id = _user_of(tx, by, wanted)
        if len(people.list_keys(tx, user_id or "")) >= MAX_KEYS:
            raise Conflict(f"there are {MAX_KEYS} keys already", hint="revoke one first")
        added = tx.rows(
            "add_key",
            id=key_id,
            kind=KeyKind.USER,
            user_id=user_id,
            name=name,
            scopes=" ".join(sorted(wanted.scopes)),
            hash=digest(secret),
            lifetime_ms=None if wanted.lifetime is None else millis(wanted.lifetime),
        )
        if added:
            audit.write(tx, by, "key.create", f"key {key_id}", origin=origin)
        return people.get_key(tx, key_id, FIRST_ADMIN)

    key = db.transact(work, now=now)
    return NewKey(key=key, text=text_of(KeyKind.USER, key_id, secret))


def first_admin(db: Database, *, now: int | None = None) -> str | None:
    """Make the admin key of the first run. Returns it to the one who made it, and only then."""
    if db.read(lambda tx: tx.rows("first_key")):
        return None
    key_id, secret = draw()

    def work(tx: Transaction) -> bool:
        added = tx.rows(
            "add_key",
            id=key_id,
            kind=KeyKind.ADMIN,
            user_id=None,
            name="first run",
            scopes=" ".join(sorted(Scope)),
            hash=digest(secret),
            lifetime_ms=None,
        )
        if added:
            audit.write(tx, FIRST_ADMIN, "key.create", f"key {key_id}")
        [row] = tx.rows("first_key")
        return bool(row["id"] == key_id)

    return text_of(KeyKind.ADMIN, key_id, secret) if db.transact(work, now=now) else None


def check_key(db: Database, text: str, *, now: int | None = None) -> Principal | None:
    """Return who comes with this key; None for one that is wrong, revoked, expired or disabled."""
    row = row_of(db, text, "key_to_check", _is_person, now=now)
    return people.bearer_of(row) if row else None


def row_of(
    db: Database,
    text: str,
    statement: str,
    is_meant: Callable[[Row, str], bool],
    *,
    now: int | None = None,
) -> Row | None:
    """Return what a statement tells of the key in a text, if its secret is right and it is meant.

    An id that nobody has takes the same way as a secret that is wrong.
    """
    given = TEXT.fullmatch(text)
    if given is None:
        return None
    key_id = given["id"]
    rows = db.read(lambda tx: tx.rows(statement, id=key_id, every_ms=EVERY_MS), now=now)
    expected = rows[0]["hash"] if rows else NO_HASH
    if not hmac.compare_digest(digest(given["secret"]), expected):
        return None
    if not rows or not is_meant(rows[0], given["kind"]):
        return None
    if rows[0]["is_due"]:
        with suppress(Unavailable):  # a full disk is no reason to keep anybody out
            db.transact(lambda tx: tx.run("touch_key", id=key_id, every_ms=EVERY_MS), now=now)
    return rows[0]


def id_in(text: str) -> str:
    """Return the id of the key in a text; it is public. None in it: nothing."""
    given = TEXT.search(text)
    return given["id"] if given else ""


def list_keys(db: Database, by: Principal) -> list[Key]:
    """Return one's own keys, an admin's are everybody's; newest first."""
    return db.read(lambda tx: people.list_keys(tx, by.sees))


def revoke_key(
    db: Database, by: Principal, key_id: str, *, origin: Origin = HERE, now: int | None = None
) -> Key:
    """End a key at once. Whoever came with a key can revoke that one, and no other."""

    def work(tx: Transaction) -> Key:
        if by.key_id != key_id:
            check_person(tx, by)
        key = people.get_key(tx, key_id, by)
        if tx.rows("revoke_key", id=key.id):
            audit.write(tx, by, "key.revoke", f"key {key.id}", origin=origin)
        return people.get_key(tx, key_id, by)

    return db.transact(work, now=now)


def has_credentials(db: Database, *, now: int | None = None) -> bool:
    """Return whether anybody could come in from another machine."""
    return bool(db.read(lambda tx: tx.rows("has_credentials"), now=now))


def secret(db: Database, name: str) -> bytes:
    """Return the secret of this installation that has this name; it is made when first needed."""
    value = secrets.token_hex(32)

    def work(tx: Transaction) -> str:
        tx.run("add_secret", name=name, value=value)
        [row] = tx.rows("secret", name=name)
        return str(row["value"])

    for row in db.read(lambda tx: tx.rows("secret", name=name)):
        return bytes.fromhex(row["value"])
    return bytes.fromhex(db.transact(work))


def check_person(tx: Transaction, by: Principal) -> None:
    """Refuse whoever came with a key, unless it is that of the first run."""
    if by.key_id is not None and not tx.rows("admin_key", id=by.key_id):
        raise Forbidden(
            "a key cannot make or change keys, users and logins",
            hint="log in, or use the admin key of the first run",
        )


def digest(secret: str) -> str:
    """Return what is kept of a secret of 256 random bits."""
    return hashlib.sha256(secret.encode()).hexdigest()


def _user_of(tx: Transaction, by: Principal, wanted: KeyRequest) -> str | None:
    """Return the id of the user that the key is for. Raises Forbidden if it asks for too much."""
    allowed = frozenset(scope for scope in Scope if by.may(scope))
    user_id = by.owner or None
    if wanted.user is not None:
        user = people.find_user(tx, wanted.user, by)
        if user.disabled_at is not None:
            raise Conflict(f"{user.name} is disabled", hint="enable them first")
        allowed, user_id = allowed & ROLES[user.role], user.id
    if not wanted.scopes <= allowed:
        more = ", ".join(sorted(wanted.scopes - allowed))
        raise Forbidden(f"the key would be allowed more than its owner: {more}")
    return user_id


def _is_person(row: Row, kind: str) -> bool:
    return bool(row["is_live"]) and row["kind"] == kind and kind != KeyKind.WORKER


def draw() -> tuple[str, str]:
    """Return a new id and a new secret."""
    return "".join(secrets.choice(LETTERS) for _ in range(10)), secrets.token_urlsafe(32)


def text_of(kind: KeyKind, key_id: str, secret: str) -> str:
    return f"rsh_{kind}_{key_id}_{secret}"
