"""Times of the database as text."""

from __future__ import annotations


def rfc3339(milliseconds: int | None) -> str | None:
    """Return a time of the database as text.

    >>> rfc3339(1_767_268_800_250)
    '2026-01-01T12:00:00.250Z'
    """
    from rushes.api import models

    return None if milliseconds is None else models.rfc3339(models.moment(milliseconds))
