"""What every request finds: the library, the settings, and who asks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, TypeVar, cast

from fastapi import Depends, Request

from rushes.api import auth
from rushes.api.desk import Desk
from rushes.api.hall import Hall
from rushes.api.throttle import Throttle
from rushes.domain.outcome import Exchange
from rushes.domain.person import Origin, Principal
from rushes.engine.notify import Notifier
from rushes.errors import Unauthenticated
from rushes.library import keys
from rushes.library.library import Library
from rushes.settings import Settings

if TYPE_CHECKING:
    from rushes.api.sse import Hub

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """One server process."""

    library: Library
    settings: Settings
    notifier: Notifier
    hub: Hub
    guesses: Throttle = field(default_factory=lambda: Throttle(10, "too many wrong keys"))
    newcomers: Throttle = field(default_factory=lambda: Throttle(60, "too many machines join"))
    hall: Hall[Exchange] = field(default_factory=Hall)


def context_of(request: Request) -> Context:
    return cast("Context", request.app.state.context)


def origin_address(request: Request) -> str:
    return request.client.host if request.client else ""


def origin_of(request: Request) -> Origin:
    return Origin(
        address=origin_address(request),
        request_id=request.state.request_id,
        agent=request.headers.get("user-agent", "")[:200],
    )


def guarded(request: Request, check: Callable[[], T]) -> T:
    """Return who a check lets in. Raises TooMany for whoever keeps guessing."""
    guesses, guessed = context_of(request).guesses, _guessed(request)
    if guessed is None:
        return check()
    guesses.check((origin_address(request), guessed))
    try:
        return check()
    except Unauthenticated:
        guesses.count((origin_address(request), guessed))
        raise


def principal_of(request: Request) -> Principal:
    """Return who sent a request.

    Raises Unauthenticated for nobody, Forbidden for a forged one, TooMany for who keeps guessing.
    """
    db = context_of(request).library.db
    return guarded(
        request, lambda: auth.principal(db, request.method, request.headers, request.cookies)
    )


def desk_of(request: Request) -> Desk:
    return Desk(context_of(request).library, principal_of(request), origin_of(request))


def _guessed(request: Request) -> str | None:
    """Return which key a request may be guessing; what is none is one more. A cookie is no key."""
    if "x-admin-secret" in request.headers:
        return "x-admin-secret"
    given = request.headers.get("authorization")
    return None if given is None else keys.id_in(given)


Here = Annotated[Context, Depends(context_of)]
From = Annotated[Origin, Depends(origin_of)]
Who = Annotated[Principal, Depends(principal_of)]
AtDesk = Annotated[Desk, Depends(desk_of)]
