"""Logging in, by a password or by a link that works once, and what follows: a session.

The token of a session is 256 random bits; its SHA-256 is kept. The token against forged requests
is made from it, so that whoever reads the database learns neither. A session ends 12 hours after
it was last seen, after 7 days in any case, and when its user is disabled or gets a new password.
"""

from __future__ import annotations

import hmac
import re
import secrets
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta

from rushes.domain.failure import clean
from rushes.domain.person import HERE, Origin, Principal, Session, fold
from rushes.engine.engine import millis
from rushes.errors import NotFound, Unauthenticated, Unavailable
from rushes.library import audit, passwords
from rushes.library.audit import Result
from rushes.library.keys import check_person, digest
from rushes.store import people
from rushes.store.database import Database, Row, Transaction
from rushes.store.ids import new_id

IDLE_MS = millis(timedelta(hours=12))
LIFE_MS = millis(timedelta(days=7))
LINK_MS = millis(timedelta(minutes=15))
EVERY_MS = 60_000
"""How often the time at which a session was last seen is written."""
MOST = 200
TOKEN = re.compile(r"[A-Za-z0-9_-]{43}")
MAX_AGENT = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Login:
    """`token` is what a browser keeps and brings again."""

    session: Session
    token: str = field(repr=False)


def log_in(
    db: Database, name: str, password: str, *, origin: Origin = HERE, now: int | None = None
) -> Login:
    """Begin a session. Raises Unauthenticated, the same for a wrong name and a wrong password.

    Raises TooMany for the 11th try in a minute from one address for one name.
    """
    folded = fold(name)

    def begin(tx: Transaction) -> list[Row]:
        passwords.count_try(tx, folded, origin)
        return list(tx.rows("user_to_log_in", folded=folded))

    rows = db.transact(begin, now=now)
    known = rows[0]["password"] if rows else None
    if not passwords.fits(known, password):
        db.transact(lambda tx: _refuse(tx, rows, origin), now=now)
        raise Unauthenticated("the name or the password is wrong")
    session_id, token = new_id(), secrets.token_urlsafe(32)

    def work(tx: Transaction) -> Session:
        passwords.forget_tries(tx, folded, origin)
        if not _may_enter(tx, rows[0]["id"], known):
            raise Unauthenticated("the name or the password is wrong")
        return _begin(tx, rows[0]["id"], session_id, token, origin)

    return Login(session=db.transact(work, now=now), token=token)


def make_link(
    db: Database,
    by: Principal,
    user: str | None = None,
    *,
    origin: Origin = HERE,
    now: int | None = None,
) -> str:
    """Return the token of a link that logs in once, within 15 minutes, as `by` or as a `user`."""
    token = secrets.token_urlsafe(32)

    def work(tx: Transaction) -> None:
        check_person(tx, by)
        user_id = by.owner or None
        if user is not None:
            user_id = people.find_user(tx, user, by).id
        tx.run("drop_old_links")
        if tx.rows("add_link", hash=digest(token), user_id=user_id, life_ms=LINK_MS):
            audit.write(tx, by, "link.create", f"user {user_id or ''}".strip(), origin=origin)

    db.transact(work, now=now)
    return token


def redeem(db: Database, link: str, *, origin: Origin = HERE, now: int | None = None) -> Login:
    """Begin a session with a link. Raises Unauthenticated if it was used or is too old."""
    session_id, token = new_id(), secrets.token_urlsafe(32)

    def work(tx: Transaction) -> Session | None:
        for row in tx.rows("use_link", hash=digest(link), session_id=session_id):
            if row["user_id"] is None or _may_enter(tx, row["user_id"]):
                return _begin(tx, row["user_id"], session_id, token, origin)
        return None

    session = db.transact(work, now=now) if TOKEN.fullmatch(link) else None
    if session is None:
        raise Unauthenticated(
            "the login link was used before, or is too old", hint="ask for a new one"
        )
    return Login(session=session, token=token)


def check_session(db: Database, token: str, *, now: int | None = None) -> Session | None:
    """Return the session of this token; None for one that is unknown or over."""
    if not TOKEN.fullmatch(token):
        return None
    session, is_due = db.read(lambda tx: _find(tx, token), now=now)
    if session is not None and is_due:
        with suppress(Unavailable):  # a full disk is no reason to keep people out
            db.transact(
                lambda tx: tx.run("touch_session", id=session.id, every_ms=EVERY_MS), now=now
            )
    return session


def is_csrf(session: Session, text: str) -> bool:
    """Return whether a request with this text comes from a page that we served."""
    if session.csrf is None:
        return False
    return hmac.compare_digest(session.csrf.encode(), text.encode("utf-8", "replace"))


def list_sessions(
    db: Database, by: Principal, user: str | None = None, *, now: int | None = None
) -> list[Session]:
    """Return one's own sessions that are alive, or those of a `user`, newest first."""

    def work(tx: Transaction) -> list[Session]:
        owner = by.owner if user is None else people.find_user(tx, user, by).id
        rows = tx.rows("list_sessions", owner=owner, idle_ms=IDLE_MS, n=MOST)
        return [people.session_from(row) for row in rows]

    return db.read(work, now=now)


def end_session(
    db: Database, by: Principal, session_id: str, *, origin: Origin = HERE, now: int | None = None
) -> None:
    """End one's own session, or as an admin any. Ending it twice is fine."""

    def work(tx: Transaction) -> None:
        check_person(tx, by)
        if not session_id.isprintable() or not tx.rows("session_of", id=session_id, owner=by.sees):
            raise NotFound(f"there is no session {session_id[:36]!r}")
        if tx.rows("end_session", id=session_id):
            audit.write(tx, by, "session.end", f"session {session_id}", origin=origin)

    db.transact(work, now=now)


def end_all(
    db: Database,
    by: Principal,
    user: str | None = None,
    *,
    origin: Origin = HERE,
    now: int | None = None,
) -> int:
    """End every session but the one that asks: one's own, or those of a `user`."""

    def work(tx: Transaction) -> int:
        check_person(tx, by)
        owner = by.owner if user is None else people.find_user(tx, user, by).id
        ended = tx.rows("end_sessions", owner=owner, keep=by.session_id)
        if ended:
            audit.write(tx, by, "session.end_all", f"user {owner}".strip(), origin=origin)
        return len(ended)

    return db.transact(work, now=now)


def _may_enter(tx: Transaction, user_id: str, password: str | None = None) -> bool:
    """Look once more, and let a change of their rights wait until the session is there."""
    [row] = tx.rows("lock_user", id=user_id)
    return row["disabled_at"] is None and password in (None, row["password"])


def _begin(
    tx: Transaction, user_id: str | None, session_id: str, token: str, origin: Origin
) -> Session:
    tx.run("drop_sessions")
    added = tx.rows(
        "add_session",
        id=session_id,
        user_id=user_id,
        hash=digest(token),
        address=clean(origin.address, MAX_AGENT),
        agent=clean(origin.agent, MAX_AGENT),
        life_ms=LIFE_MS,
    )
    session, _ = _find(tx, token)
    if session is None:  # the answer to the commit was lost, and it was ended since
        raise Unauthenticated("the session was ended meanwhile")
    if added:
        audit.write(tx, session.principal, "login", f"session {session_id}", origin=origin)
    return session


def _refuse(tx: Transaction, rows: list[Row], origin: Origin) -> None:
    """Write down a login that failed; what was typed for a name only if it is one."""
    who = f"user {rows[0]['id']}" if rows else "nobody"
    audit.write(tx, None, "login", who, result=Result.REFUSED, origin=origin)


def _find(tx: Transaction, token: str) -> tuple[Session | None, bool]:
    for row in tx.rows("session", hash=digest(token), idle_ms=IDLE_MS, every_ms=EVERY_MS):
        csrf = hmac.digest(token.encode(), b"csrf", "sha256").hex()
        return people.session_from(row, csrf=csrf), bool(row["is_due"])
    return None, False
