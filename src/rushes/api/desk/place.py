"""Where a page of a list begins."""

from __future__ import annotations

from collections.abc import Callable

from rushes.errors import Invalid, NotFound
from rushes.store.jobs import is_id


def place(cursor: str | None, find: Callable[[str], str]) -> str | None:
    """Return the id that a page begins after; None: with the newest. Raises Invalid if forged.

    A whole id is a place also when nothing is there any more: lists lose rows while they are read.
    """
    if cursor is None or is_id(cursor):
        return cursor
    try:
        return find(cursor)
    except NotFound as error:
        raise Invalid("this cursor is none of ours", hint="begin again without one") from error
