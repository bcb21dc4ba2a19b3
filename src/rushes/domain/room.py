"""Room on a disk: how much is free, and how much has to stay free."""

from __future__ import annotations

from typing import NamedTuple

ROOM = "room"
"""What a worker offers while its disk has room; every stage that writes files needs it."""

GB = 1_000_000_000
UNITS = ("B", "kB", "MB", "GB", "TB")


class Room(NamedTuple):
    """Below `reserve_bytes` nothing is begun that writes."""

    free_bytes: int
    reserve_bytes: int

    @property
    def is_enough(self) -> bool:
        return self.free_bytes >= self.reserve_bytes

    def __str__(self) -> str:
        return f"{amount(self.free_bytes)} free, needs {amount(self.reserve_bytes)}"


def amount(n: int) -> str:
    """Return a number of bytes as people say it.

    >>> amount(999), amount(12_345_678)
    ('999 B', '12.3 MB')
    """
    value, unit = float(n), 0
    while value >= 999.5 and unit < len(UNITS) - 1:
        value, unit = value / 1000, unit + 1
    return f"{value:.1f} {UNITS[unit]}" if unit else f"{n} B"
