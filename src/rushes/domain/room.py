"""Room on a disk: how much is free, and how much has to stay free."""

from __future__ import annotations

from typing import NamedTuple

ROOM = "room"
"""What a worker offers while its disk has room; every stage that writes files needs it."""

GB = 1_000_000_000


class Room(NamedTuple):
    """Below `reserve_bytes` nothing is begun that writes."""

    free_bytes: int
    reserve_bytes: int

    @property
    def is_enough(self) -> bool:
        return self.free_bytes >= self.reserve_bytes

    def __str__(self) -> str:
        return f"{amount(self.free_bytes)} free, needs {amount(self.reserve_bytes)}"


def amount(number: int) -> str:
    """Return a number of bytes as people read it.

    >>> amount(999), amount(1_500_000), amount(2_000_000_000_000)
    ('999 bytes', '1.5 MB', '2000.0 GB')
    """
    for unit, size in (("GB", GB), ("MB", 1_000_000), ("kB", 1_000)):
        if number >= size:
            return f"{number / size:.1f} {unit}"
    return f"{number} bytes"
