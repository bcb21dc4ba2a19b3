"""What this machine brings to the work: an ffmpeg, walls around it, a reader of text."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from rushes.engine.doctor import Finding, Report, Severity
from rushes.errors import Permanent
from rushes.media import ffmpeg, ocr, sandbox, selftest
from rushes.media.ffmpeg import Ffmpeg
from rushes.media.sandbox import Level

INVARIANTS = {
    "M1": "films are opened behind walls",
    "M2": "there is an ffmpeg that can do the work",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """What was found, by trying; only a worker needs any of it."""

    ffmpeg: Ffmpeg | None
    walls: Level
    reads_text: bool

    def __str__(self) -> str:
        tool = f"{self.ffmpeg.version} ({self.ffmpeg.source})" if self.ffmpeg else "missing"
        text = "text is read" if self.reads_text else "text is not read"
        return f"ffmpeg {tool}, walls: {self.walls}, {text}"


def look() -> Machine:
    """Look at what is here. The walls are tried: a file outside, and a connection."""
    try:
        found = ffmpeg.find()
    except Permanent:
        found = None
    return Machine(ffmpeg=found, walls=sandbox.level(), reads_text=ocr.is_installed())


class Abilities(NamedTuple):
    """What a worker tells of its machine."""

    capabilities: frozenset[str]
    metadata: dict[str, object]


def try_out() -> Abilities:
    """Try the encoders of this machine, and return what it can do.

    Raises Permanent where no film can be encoded: whatever it took would come back as a failure.
    """
    found = ffmpeg.find()
    tried = selftest.encoders(found)
    for check in tried:
        if check.name in selftest.REQUIRED and not check.ok:
            raise Permanent(
                f"ffmpeg cannot do {check.name} here: {check.detail}",
                error_code="ENCODER_UNAVAILABLE",
                hint="rushes doctor tells more",
            )
    encoders = [check.name for check in tried if check.ok]
    reads = {"ocr"} if ocr.is_installed() else set()
    speeds = {"gpu"} if set(encoders) & set(selftest.HARDWARE) else set()
    told: dict[str, object] = {
        "cores": os.cpu_count(),
        "ffmpeg": f"{found.version} ({found.source})",
        "encoders": encoders,
        "walls": str(sandbox.level()),
    }
    return Abilities(frozenset(reads | speeds), told)


def examine(machine: Machine, *, deep: bool) -> Report:
    """Say what is missing for the work; `deep` also lets ffmpeg try all that it is needed for."""
    findings = [
        Finding(invariant, Severity.WARNING, text, (detail,))
        for invariant, text, detail in _complaints(machine, deep=deep)
    ]
    return Report(strict=deep, findings=findings, checked={"checks": 1})


def _complaints(machine: Machine, *, deep: bool) -> Iterator[tuple[str, str, str]]:
    if machine.walls is Level.NONE:
        yield "M1", "films are opened without walls around ffmpeg", "install bubblewrap"
    if machine.ffmpeg is None:
        yield "M2", "there is no complete ffmpeg", "install ffmpeg 5.1 or newer, or rushes[ffmpeg]"
    elif deep:
        for check in selftest.checks(machine.ffmpeg):
            if check.name in selftest.REQUIRED and not check.ok:
                yield "M2", f"ffmpeg cannot do {check.name}", check.detail
