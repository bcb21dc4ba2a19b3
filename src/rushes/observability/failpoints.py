"""Named places where a test may make the program fail. Inert unless they are armed.

    RUSHES_TEST=1 RUSHES_FAILPOINTS="complete.after_commit=error@2,claim.before_commit=kill"

An action is `error` (raise), `kill` (SIGKILL to this process) or `delay:MS`; `@n` means
only the n-th time the place is reached.
"""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass

from rushes.errors import Invalid, RushesError, Unavailable

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
        "upload.after_write",
        "upload.after_rename",
        "upload.after_db",
        *(f"encode.{lines}p" for lines in (2160, 1440, 1080, 720, 480, 360)),
    }
)
_ENTRY = re.compile(
    r"(?P<name>[a-z0-9_.]+)=(?P<action>error|kill|delay)(:(?P<argument>[0-9]+))?(@(?P<only>[0-9]+))?"
)


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


def hit(name: str, error: type[RushesError] = Unavailable) -> None:
    """Mark a place, and say which error is to be expected there. Does nothing unless armed."""
    if not _armed and not _called:
        return
    if name in _called:
        _called[name]()
    failpoint = _armed.get(name)
    if failpoint is None:
        return
    failpoint.reached += 1
    if failpoint.only is None or failpoint.only == failpoint.reached:
        _act(name, failpoint, error)


def _act(name: str, failpoint: Failpoint, error: type[RushesError]) -> None:
    if failpoint.action == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    elif failpoint.action == "delay":
        time.sleep(failpoint.argument / 1000)
    else:
        raise error(f"failpoint {name}")


def _parse(entry: str) -> tuple[str, Failpoint]:
    match = _ENTRY.fullmatch(entry.strip())
    if match is None or match["name"] not in NAMES:
        raise Invalid(f"not a failpoint: {entry}", hint=f"names: {', '.join(sorted(NAMES))}")
    only = int(match["only"]) if match["only"] else None
    return match["name"], Failpoint(match["action"], int(match["argument"] or 0), only)
