"""Where a page of a list begins."""

from __future__ import annotations

from collections.abc import Callable

from rushes.errors import Invalid, NotFound


def place(cursor: str | None, find: Callable[[str], str]) -> str | None:
    """Return the id that a page begins after; None: with the newest. Raises Invalid if forged."""
    try:
        return None if cursor is None else find(cursor)
    except NotFound as error:
        raise Invalid("this cursor is none of ours", hint="begin again without one") from error
