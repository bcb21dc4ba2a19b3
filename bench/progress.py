"""Tells on stderr how far a long benchmark is; results alone go to stdout."""

from __future__ import annotations

import sys


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
