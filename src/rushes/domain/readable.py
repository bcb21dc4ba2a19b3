"""Reads what a database may have damaged."""

from __future__ import annotations

import json
from typing import Any


def readable(text: str, otherwise: Any) -> Any:
    """Return what a text of JSON says. A damaged row must not hide all the others.

    >>> readable('{"a": 1}', {}), readable('{"a', {})
    ({'a': 1}, {})
    """
    try:
        return json.loads(text)
    except ValueError:
        return otherwise
