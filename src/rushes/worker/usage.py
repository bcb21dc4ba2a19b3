"""How busy this machine is, for people to see. Known on Linux only; elsewhere nothing is told.

The heartbeat asks, so nothing that a system tells may make it fail.
"""

from __future__ import annotations

from pathlib import Path

from rushes.domain.worker import Usage

PROC = Path("/proc")
IDLE = slice(3, 5)  # of the times of all processors: idle, and waiting for a disk


class Meter:
    """Tells how busy the processors were since it was last asked."""

    def __init__(self, proc: Path = PROC) -> None:
        self._proc = proc
        self._idle = self._all = 0
        self.read()

    def read(self) -> Usage | None:
        try:
            return Usage(cpu_percent=self._busy(), memory_percent=self._memory())
        except (OSError, ValueError, LookupError):
            return None

    def _busy(self) -> int:
        line = (self._proc / "stat").read_text().partition("\n")[0]
        ticks = [int(word) for word in line.split()[1:9]]
        idle, passed = sum(ticks[IDLE]) - self._idle, sum(ticks) - self._all
        self._idle, self._all = self._idle + idle, self._all + passed
        return _percent(passed - idle, passed)

    def _memory(self) -> int:
        """Return how much is in use, without what is only kept for its speed."""
        lines = (self._proc / "meminfo").read_text().splitlines()
        sizes = {name: rest.split()[0] for name, _, rest in (line.partition(":") for line in lines)}
        total, free = int(sizes["MemTotal"]), int(sizes["MemAvailable"])
        return _percent(total - free, total)


def _percent(part: int, whole: int) -> int:
    return max(0, min(100, round(100 * part / whole))) if whole > 0 else 0
