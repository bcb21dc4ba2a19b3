"""Reads people and what they come with. Nobody learns from here who else there is."""

from __future__ import annotations

from rushes.domain.person import (
    FIRST_ADMIN,
    ROLES,
    Key,
    KeyKind,
    Principal,
    Role,
    Scope,
    Session,
    User,
    fold,
)
from rushes.errors import NotFound
from rushes.store.database import Row, Transaction


def find_user(tx: Transaction, text: str, by: Principal) -> User:
    """Return the user of this id or name. One whom `by` does not see is not there."""
    folded = fold(text)
    for row in tx.rows("find_user", text=text, folded=folded) if folded else ():
        if by.sees in (None, row["id"]):
            return user_from(row)
    raise NotFound(f"there is no user {text[:100]!r}", hint="rushes users list shows them")


def list_users(tx: Transaction) -> list[User]:
    return [user_from(row) for row in tx.rows("list_users")]


def get_key(tx: Transaction, key_id: str, by: Principal) -> Key:
    """Return a key. One that `by` does not see is not there."""
    for row in tx.rows("key", id=key_id, owner=by.sees) if key_id.isalnum() else ():
        return key_from(row)
    # no more of it than an id has: somebody may have given a whole key
    raise NotFound(f"there is no key {key_id[:10]!r}", hint="rushes keys list shows them")


def list_keys(tx: Transaction, owner: str | None) -> list[Key]:
    """Return the keys that are not revoked, newest first."""
    return [key_from(row) for row in tx.rows("list_keys", owner=owner)]


def user_from(row: Row) -> User:
    return User(
        **{**dict(row), "role": Role(row["role"]), "has_password": bool(row["has_password"])}
    )


def key_from(row: Row) -> Key:
    return Key(
        id=row["id"],
        kind=KeyKind(row["kind"]),
        name=row["name"],
        owner=row["user_id"] or "",
        user=row["user_name"],
        scopes=_scopes(row),
        created_at=row["created_at"],
        expires_at=row["expires_at"],
        used_at=row["used_at"],
        revoked_at=row["revoked_at"],
    )


def session_from(row: Row, *, csrf: str | None = None) -> Session:
    return Session(
        id=row["id"],
        principal=Principal(
            name=_name(row),
            owner=row["user_id"] or "",
            scopes=_allowed(row),
            session_id=row["id"],
        ),
        address=row["address"],
        agent=row["agent"],
        created_at=row["created_at"],
        seen_at=row["seen_at"],
        expires_at=row["expires_at"],
        csrf=csrf,
    )


def bearer_of(row: Row) -> Principal:
    """Return whoever came with a key: never more than its user may do today."""
    return Principal(
        name=_name(row),
        owner=row["user_id"] or "",
        scopes=_scopes(row) & _allowed(row),
        key_id=row["id"],
    )


def _name(row: Row) -> str:
    return FIRST_ADMIN.name if row["user_id"] is None else str(row["user_name"])


def _allowed(row: Row) -> frozenset[Scope]:
    return FIRST_ADMIN.scopes if row["user_id"] is None else ROLES[Role(row["role"])]


def _scopes(row: Row) -> frozenset[Scope]:
    words = row["scopes"].split()
    return frozenset(scope for scope in Scope if scope in words)
