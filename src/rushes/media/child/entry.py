"""The other end of `sandbox.call`: runs one function in a process of its own.

The answer goes out on what was standard output, one JSON value per line; libraries that print
write to standard error instead. Only `sandbox.call` starts this.
"""

from __future__ import annotations

import errno
import importlib
import json
import os
import sys
from dataclasses import asdict, is_dataclass
from fractions import Fraction
from pathlib import PurePath
from typing import IO

from rushes.errors import Permanent, Retryable, RushesError

DISK_FULL = Retryable("the disk is full", error_code="DISK_FULL")
TOO_LARGE = Permanent("the file needs more memory than allowed", error_code="SOURCE_TOO_LARGE")

_channel: IO[str] | None = None


def main() -> None:
    """Read the order from standard input, run it, send the answer or the error."""
    global _channel  # noqa: PLW0603  a process has one parent
    _channel = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    order = json.load(sys.stdin.buffer)
    module, _, function = order["target"].partition(":")
    try:
        answer = getattr(importlib.import_module(module), function)(**order["arguments"])
    except RushesError as error:
        _send("error", _describe(error))
    except MemoryError:
        _send("error", _describe(TOO_LARGE))
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        _send("error", _describe(DISK_FULL))
    else:
        _send("answer", answer)


def tell(message: object) -> None:
    """Send `message` to the `on_message` of whoever called; outside a child, do nothing."""
    if _channel is not None:
        _send("told", message)


def _send(kind: str, value: object) -> None:
    assert _channel is not None
    json.dump({kind: value}, _channel, default=_plain, allow_nan=False, separators=(",", ":"))
    _channel.write("\n")
    _channel.flush()


def _plain(value: object) -> object:
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    if isinstance(value, Fraction | PurePath):
        return str(value)
    raise TypeError(f"{type(value).__name__} cannot be sent to the parent")


def _describe(error: RushesError) -> dict[str, object]:
    return {
        "class": type(error).__name__,
        "message": error.message,
        "error_code": getattr(error, "error_code", None),
        "hint": error.hint,
    }
