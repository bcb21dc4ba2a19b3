"""`/api/login`, `/me`, `/sessions`, `/keys`, `/users`, `/audit`: who may come in, and who did."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from pydantic import Field, SecretStr

from rushes.api import models
from rushes.api.auth import COOKIE, SECURE_COOKIE, token_of
from rushes.api.context import AtDesk, From, Here, Who
from rushes.api.idempotency import Once
from rushes.api.people import KeyView, MadeKey, UserView
from rushes.api.routers.jobs import LARGEST, Body, Limit
from rushes.domain.person import Principal, Role, Scope, Session
from rushes.library import audit, sessions
from rushes.library.sessions import Login

router = APIRouter(tags=["people"])

Name = Annotated[str, Field(min_length=1, max_length=100)]
Password = Annotated[SecretStr, Field(max_length=1000)]


class Credentials(Body):
    name: Name
    password: Password


class Link(Body):
    token: Annotated[str, Field(max_length=200)]


class NewKeyBody(Body):
    name: Name
    scopes: Annotated[list[Scope], Field(min_length=1, max_length=4)]
    user: Name | None = None
    expires_in: Annotated[int | None, Field(ge=60, le=315_360_000)] = None


class NewUserBody(Body):
    name: Name
    role: Role = Role.USER
    password: Password | None = None


class PasswordBody(Body):
    password: Password
    current: Password | None = None


class Me(models.Model):
    """Who asks. `csrf` goes into the header X-CSRF-Token of requests that change something."""

    name: str
    owner: str
    scopes: list[Scope]
    csrf: str | None = None


class SessionView(models.Model):
    session_id: str
    address: str
    agent: str
    created_at: models.Time
    seen_at: models.Time
    expires_at: models.Time
    is_this: bool


class Entry(models.Model):
    """One line of the audit log."""

    id: int
    at: models.Time
    actor: str
    credential: str | None
    action: str
    object: str
    result: str
    address: str
    request_id: str | None


@router.post("/login")
def log_in(here: Here, origin: From, body: Credentials, request: Request, response: Response) -> Me:
    """Begin a session with a name and a password; the cookie is the session."""
    password = body.password.get_secret_value()
    login = sessions.log_in(here.library.db, body.name, password, origin=origin)
    return _enter(login, request, response)


@router.post("/login/link")
def log_in_by_link(
    here: Here, origin: From, body: Link, request: Request, response: Response
) -> Me:
    """Begin a session with a link that works once."""
    login = sessions.redeem(here.library.db, body.token, origin=origin)
    return _enter(login, request, response)


@router.post("/logout", status_code=204)
def log_out(here: Here, who: Who, origin: From) -> Response:
    """End this session."""
    if who.session_id is not None:
        sessions.end_session(here.library.db, who, who.session_id, origin=origin)
    response = Response(None, 204)
    for name in (COOKIE, SECURE_COOKIE):
        response.delete_cookie(name, path="/", secure=name == SECURE_COOKIE)
    return response


@router.get("/me")
def show_me(here: Here, who: Who, request: Request) -> Me:
    """Say who asks, and what they may do."""
    token = token_of(request.cookies) if who.session_id else None
    session = sessions.check_session(here.library.db, token) if token else None
    return _me(who, session.csrf if session else None)


@router.get("/sessions")
def list_sessions(here: Here, who: Who) -> models.Page[SessionView]:
    """List one's own sessions."""
    found = sessions.list_sessions(here.library.db, who)
    return models.Page(items=[_session(one, who.session_id) for one in found])


@router.delete("/sessions/{session_id}", status_code=204)
def end_session(here: Here, who: Who, origin: From, session_id: str) -> Response:
    """End a session."""
    sessions.end_session(here.library.db, who, session_id, origin=origin)
    return Response(None, 204)


@router.get("/keys")
def list_keys(desk: AtDesk) -> models.Page[KeyView]:
    """List one's own keys; an admin sees everybody's."""
    return desk.keys.list()


@router.post("/keys", status_code=201)
def create_key(desk: AtDesk, once: Once, body: NewKeyBody) -> MadeKey:
    """Make a key that may do no more than its maker. It is shown this once."""

    def work() -> MadeKey:
        return desk.keys.create(
            body.name, scopes=body.scopes, user=body.user, expires_in=body.expires_in
        )

    return once(work, secret=frozenset({"key"}))


@router.delete("/keys/{key_id}")
def revoke_key(desk: AtDesk, key_id: str) -> KeyView:
    """End a key at once."""
    return desk.keys.revoke(key_id)


@router.get("/users")
def list_users(desk: AtDesk) -> models.Page[UserView]:
    """List the people of this installation."""
    return desk.users.list()


@router.post("/users", status_code=201)
def add_user(desk: AtDesk, once: Once, body: NewUserBody) -> UserView:
    """Let somebody in."""
    password = body.password.get_secret_value() if body.password else None
    asked = once.about(f"{body.role} {body.name}")
    return asked(lambda: desk.users.add(body.name, role=body.role, password=password))


@router.post("/users/{user}/disable")
def disable_user(desk: AtDesk, once: Once, user: str) -> UserView:
    """Keep somebody out, at once."""
    return once(lambda: desk.users.disable(user))


@router.post("/users/{user}/enable")
def enable_user(desk: AtDesk, once: Once, user: str) -> UserView:
    """Let somebody in again."""
    return once(lambda: desk.users.enable(user))


@router.put("/users/{user}/password")
def set_password(desk: AtDesk, user: str, body: PasswordBody) -> UserView:
    """Change a password; all other sessions of that person end."""
    current = body.current.get_secret_value() if body.current else None
    return desk.users.set_password(user, body.password.get_secret_value(), current=current)


@router.get("/audit")
def show_audit(
    here: Here,
    who: Who,
    before: Annotated[int | None, Query(ge=1, le=LARGEST)] = None,
    limit: Limit = 50,
) -> models.Page[Entry]:
    """Tell who did what, newest first."""
    who.need(Scope.ADMIN)
    found = audit.page(here.library.db, before=before, limit=limit)
    items = [Entry(**{name: getattr(one, name) for name in Entry.model_fields}) for one in found]
    return models.Page(items=items, next_cursor=str(found[-1].id) if len(found) == limit else None)


def _enter(login: Login, request: Request, response: Response) -> Me:
    """Give the browser its cookie. Its safer name is only to be had over HTTPS."""
    secure = request.url.scheme == "https"
    name = SECURE_COOKIE if secure else COOKIE
    response.set_cookie(name, login.token, httponly=True, samesite="lax", path="/", secure=secure)
    return _me(login.session.principal, login.session.csrf)


def _me(who: Principal, csrf: str | None) -> Me:
    return Me(name=who.name, owner=who.owner, scopes=sorted(who.scopes), csrf=csrf)


def _session(found: Session, this: str | None) -> SessionView:
    same = ("address", "agent", "created_at", "seen_at", "expires_at")
    values = {name: getattr(found, name) for name in same}
    return SessionView(**values, session_id=found.id, is_this=found.id == this)
