"""Turns what a server answers into the errors that this machine would have raised."""

from __future__ import annotations

import json
from typing import Any

from rushes import errors
from rushes.errors import (
    Conflict,
    Forbidden,
    Invalid,
    NotFound,
    Permanent,
    RushesError,
    TooMany,
    Unauthenticated,
    Unavailable,
)

BY_CODE: dict[str, type[RushesError]] = {
    error.code: error
    for error in (
        *(NotFound, Conflict, Invalid, Unavailable, Unauthenticated, Forbidden, TooMany),
        *(errors.IllegalTransition, errors.LeaseLost, errors.ActiveJobExists, errors.KeyReused),
        *(errors.DuplicateOf, errors.ChangedMeanwhile, errors.SchemaMismatch, errors.Gone),
    )
}
BY_STATUS: dict[int, type[RushesError]] = {
    401: Unauthenticated,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    429: TooMany,
    **dict.fromkeys((502, 503, 504), Unavailable),
}
OF_A_FILM = ("SOURCE_", "STORAGE_", "DISK_FULL")
"""How the codes begin that say what is wrong with a film, or with the place for it."""
KNOWN = frozenset(("type", "title", "status", "detail", "code", "hint", "instance"))


def error_of(status: int, body: bytes, server: str) -> RushesError:
    """Return the error that a problem+json stands for."""
    told = _problem(body)
    if told is None:
        return _foreign(status, server)
    code, message = str(told.get("code", "")), str(told.get("detail", ""))
    hint = str(told["hint"]) if told.get("hint") else None
    more = {name: value for name, value in told.items() if name not in KNOWN}
    if code.startswith(OF_A_FILM):
        return Permanent(message, error_code=code, hint=hint, **more)
    known = BY_CODE.get(code) or BY_STATUS.get(status, RushesError)
    error = known(message, hint=hint, **more)
    if error.code != code and code:
        error.code = code  # type: ignore[misc]
    if known is RushesError:
        error.status = status  # type: ignore[misc]
    return error


def _problem(body: bytes) -> dict[str, Any] | None:
    try:
        told = json.loads(body)
    except ValueError:
        return None
    return told if isinstance(told, dict) and "code" in told else None


def _foreign(status: int, server: str) -> RushesError:
    """Return what to say of an answer that no Rushes gave: a proxy's, or another program's."""
    return Unavailable(
        f"{server} answers with status {status}, but not as Rushes does",
        hint="check the address; a proxy may stand between",
    )
