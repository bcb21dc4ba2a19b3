"""Users: made, disabled and enabled by an admin; everybody changes their own password.

A user who is disabled is out at once: their sessions end, their keys work again only once they are
enabled. There is always an admin left.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from rushes.domain.person import (
    HERE,
    Origin,
    Principal,
    Role,
    Scope,
    User,
    check_name,
    check_password,
    fold,
)
from rushes.errors import Conflict, Unauthenticated
from rushes.library import audit, passwords
from rushes.library.keys import check_person
from rushes.store import people
from rushes.store.database import Database, Transaction
from rushes.store.ids import new_id


@dataclass(frozen=True, slots=True, kw_only=True)
class NewUser:
    """Without a password they come in by a login link or with a key."""

    name: str
    role: Role = Role.USER
    password: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewPassword:
    """`current` is needed from whoever changes their own."""

    user: str
    password: str = field(repr=False)
    current: str | None = field(default=None, repr=False)


def add_user(
    db: Database, by: Principal, wanted: NewUser, *, origin: Origin = HERE, now: int | None = None
) -> User:
    """Make a user. Raises Conflict if somebody has a name that reads the same."""
    name = check_name(wanted.name, "the name")
    if wanted.password is not None:
        check_password(wanted.password)
    by.need(Scope.ADMIN)
    hashed = None if wanted.password is None else passwords.hash_password(wanted.password)
    user_id = new_id()

    def work(tx: Transaction) -> User:
        check_person(tx, by)
        added = tx.rows(
            "add_user",
            id=user_id,
            name=name,
            folded=fold(name),
            role=wanted.role,
            password=hashed,
        )
        if added:
            audit.write(tx, by, "user.create", f"user {user_id}", origin=origin)
        user = people.find_user(tx, name, by)
        if user.id != user_id:
            raise Conflict(f"there is a user {user.name!r} already", user_id=user.id)
        return user

    return db.transact(work, now=now)


def list_users(db: Database, by: Principal) -> list[User]:
    by.need(Scope.ADMIN)
    return db.read(people.list_users)


def disable(
    db: Database, by: Principal, user: str, *, origin: Origin = HERE, now: int | None = None
) -> User:
    """Keep a user out, at once. Raises Conflict for the last admin."""
    by.need(Scope.ADMIN)

    def work(tx: Transaction) -> User:
        check_person(tx, by)
        admins = [row["id"] for row in tx.rows("lock_admins")]
        found = people.find_user(tx, user, by)
        if admins == [found.id]:
            raise Conflict(f"{found.name} is the last admin", hint="make another admin first")
        if tx.rows("disable_user", id=found.id):
            _shut_out(tx, found)
            audit.write(tx, by, "user.disable", f"user {found.id}", origin=origin)
        return people.find_user(tx, found.id, by)

    return db.transact(work, now=now)


def enable(
    db: Database, by: Principal, user: str, *, origin: Origin = HERE, now: int | None = None
) -> User:
    """Let a disabled user in again; their keys work as before."""
    by.need(Scope.ADMIN)

    def work(tx: Transaction) -> User:
        check_person(tx, by)
        found = people.find_user(tx, user, by)
        if tx.rows("enable_user", id=found.id):
            audit.write(tx, by, "user.enable", f"user {found.id}", origin=origin)
        return people.find_user(tx, found.id, by)

    return db.transact(work, now=now)


def set_password(
    db: Database,
    by: Principal,
    wanted: NewPassword,
    *,
    origin: Origin = HERE,
    now: int | None = None,
) -> User:
    """Give a user a new password, and end their sessions but the one that asks.

    Raises Unauthenticated if it is one's own and `current` is wrong.
    """
    check_password(wanted.password)
    user, known = _prove(db, by, wanted, origin, now)
    hashed = passwords.hash_password(wanted.password)

    def work(tx: Transaction) -> User:
        [row] = tx.rows("lock_user", id=user.id)
        if row["password"] == hashed:  # it was this very call, whose answer was lost
            return people.find_user(tx, user.id, by)
        if known not in (None, row["password"]):
            raise Conflict(f"the password of {user.name} was changed meanwhile")
        tx.run("set_password", id=user.id, password=hashed)
        passwords.forget_tries(tx, fold(user.name), origin)
        _shut_out(tx, user, keep=by.session_id)
        audit.write(tx, by, "user.password", f"user {user.id}", origin=origin)
        return people.find_user(tx, user.id, by)

    return db.transact(work, now=now)


def _prove(
    db: Database, by: Principal, wanted: NewPassword, origin: Origin, now: int | None
) -> tuple[User, str | None]:
    """Return the user whose password `by` may change, and what it is if it is one's own."""

    def begin(tx: Transaction) -> tuple[User, str | None]:
        check_person(tx, by)
        user = people.find_user(tx, wanted.user, by)
        if user.id != by.owner or not user.has_password:
            return user, None
        passwords.count_try(tx, fold(user.name), origin)
        [row] = tx.rows("lock_user", id=user.id)
        return user, row["password"]

    user, known = db.transact(begin, now=now)
    if known is not None and not passwords.fits(known, wanted.current or ""):
        raise Unauthenticated("the current password is wrong")
    return user, known


def _shut_out(tx: Transaction, user: User, *, keep: str | None = None) -> None:
    tx.run("end_sessions", owner=user.id, keep=keep)
    tx.run("drop_links", owner=user.id)
