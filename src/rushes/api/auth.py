"""Who sends a request: a key in `Authorization`, or the session of a page in a cookie.

A page may only do what it asked for itself: an unsafe request with a cookie needs the token of its
session in a header, which no other site can read, and must not say that it comes from elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping

from rushes.domain.person import Principal, Session
from rushes.errors import Forbidden, Unauthenticated
from rushes.library import keys, sessions
from rushes.store.database import Database

SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
COOKIE, SECURE_COOKIE = "rushes", "__Host-rushes"
CSRF = "x-csrf-token"
HINT = "send a key: Authorization: Bearer rsh_…; rushes keys create makes one"


def principal(
    db: Database, method: str, headers: Mapping[str, str], cookies: Mapping[str, str]
) -> Principal:
    """Return who this is. A key wins over a cookie."""
    given = headers.get("authorization")
    if given is not None:
        return _by_key(db, given)
    token = token_of(cookies)
    if token is None:
        raise Unauthenticated("nobody is logged in", hint=HINT)
    session = sessions.check_session(db, token)
    if session is None:
        raise Unauthenticated("the session is over", hint="log in again")
    if method not in SAFE and not _is_from_our_page(session, headers):
        raise Forbidden("this request does not come from the page itself", hint="reload the page")
    return session.principal


def token_of(cookies: Mapping[str, str]) -> str | None:
    """Return what a browser keeps of its session."""
    return cookies.get(SECURE_COOKIE) or cookies.get(COOKIE)


def _by_key(db: Database, given: str) -> Principal:
    scheme, _, text = given.partition(" ")
    found = keys.check_key(db, text.strip()) if scheme.lower() == "bearer" else None
    if found is None:
        raise Unauthenticated("the key is not valid", hint=HINT)
    return found


def _is_from_our_page(session: Session, headers: Mapping[str, str]) -> bool:
    if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        return False
    origin = headers.get("origin")
    if origin is not None and origin.partition("://")[2] != headers.get("host"):
        return False
    return sessions.is_csrf(session, headers.get(CSRF, ""))
