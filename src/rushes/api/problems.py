"""Errors as every door tells them: problem+json (RFC 9457) with a code, a hint, a request id."""

from __future__ import annotations

from collections.abc import Mapping

from rushes.errors import RushesError, StageError

MEDIA_TYPE = "application/problem+json"


def problem(error: RushesError) -> dict[str, object]:
    """Return an error as an object for people and programs."""
    hint = {"hint": error.hint} if error.hint else {}
    detail = {key: _plain(value) for key, value in error.detail.items()}
    return {**detail, **describe(code_of(error), status_of(error), error.message), **hint}


def describe(code: str, status: int, detail: str) -> dict[str, object]:
    """Return the members that every problem has."""
    slug = code.lower().replace("_", "-")
    return {
        "type": f"urn:rushes:problem:{slug}",
        "title": slug.replace("-", " ").capitalize(),
        "status": status,
        "detail": detail,
        "code": code,
    }


def code_of(error: RushesError) -> str:
    return error.error_code if isinstance(error, StageError) else error.code


def status_of(error: RushesError) -> int:
    """Return the status of an answer. What a stage refuses is the input's fault, or the disk's."""
    if not isinstance(error, StageError):
        return error.status
    return 507 if error.error_code == "DISK_FULL" else 422


def _plain(value: object) -> object:
    """Return a value as JSON has it; what another server told has lists and objects in it."""
    if isinstance(value, Mapping):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return value if isinstance(value, str | int | float | bool | None) else str(value)
