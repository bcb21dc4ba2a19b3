"""Named places where a test may make the program fail. Inert unless they are armed.

    RUSHES_TEST=1 RUSHES_FAILPOINTS="complete.after_commit=error@2,claim.before_commit=kill"

An action is `error` (raise), `kill` (SIGKILL to this process) or `delay:MS`; `@n` means
only the n-th time the place is reached.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass

from rushes.errors import Invalid, Unavailable

NAMES = frozenset(
    {
        "job.before_commit",
        "job.after_commit",
        "claim.before_commit",
        "claim.after_commit",
        "heartbeat.before",
        "heartbeat.after_commit",
        "stage.before_spawn",
        "stage.after_spawn",
        "stage.after_exit",
        "complete.before_commit",
        "complete.after_commit",
        "recovery.between_select_update",
        "orchestrator.before_advance",
        "orchestrator.after_advance",
    }
)
ACTIONS = ("error", "kill", "delay")


@dataclass(slots=True)
class Failpoint:
    action: str
    argument: int
    only: int | None
    reached: int = 0


_armed: dict[str, Failpoint] = {}
_called: dict[str, Callable[[], None]] = {}


def arm(specification: str) -> None:
    """Arm the failpoints of a comma-separated list; an empty one disarms all."""
    _armed.clear()
    for entry in filter(None, specification.split(",")):
        name, failpoint = _parse(entry)
        _armed[name] = failpoint


def call(name: str, action: Callable[[], None] | None) -> None:
    """Let a test in this process run `action` when the place is reached; None stops it."""
    _called.pop(name, None)
    if action is not None:
        _called[name] = action


def hit(name: str) -> None:
    """Mark a place. Does nothing unless a test armed it."""
    if not _armed and not _called:
        return
    if name in _called:
        _called[name]()
    failpoint = _armed.get(name)
    if failpoint is None:
        return
    failpoint.reached += 1
    if failpoint.only is None or failpoint.only == failpoint.reached:
        _act(name, failpoint)


def _act(name: str, failpoint: Failpoint) -> None:
    if failpoint.action == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    elif failpoint.action == "delay":
        time.sleep(failpoint.argument / 1000)
    else:
        raise Unavailable(f"failpoint {name}")


def _parse(entry: str) -> tuple[str, Failpoint]:
    name, _, rest = entry.strip().partition("=")
    rest, _, only = rest.partition("@")
    action, _, argument = rest.partition(":")
    if name not in NAMES or action not in ACTIONS or not (argument or "0").isdigit():
        raise Invalid(f"not a failpoint: {entry}", hint=f"names: {', '.join(sorted(NAMES))}")
    return name, Failpoint(action, int(argument or 0), int(only) if only else None)
