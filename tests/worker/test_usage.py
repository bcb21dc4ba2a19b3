"""How busy a machine is, read from what its system tells."""

from __future__ import annotations

from pathlib import Path

import pytest

from rushes.domain.worker import Usage
from rushes.worker.usage import Meter

MEMORY = "MemTotal:       16000 kB\nMemFree:         1000 kB\nMemAvailable:    4000 kB\n"


def stat(folder: Path, *ticks: int) -> None:
    words = " ".join(str(n) for n in ticks)
    (folder / "stat").write_text(f"cpu  {words} 0 0\ncpu0 {words} 0 0\n")


@pytest.fixture
def proc(tmp_path: Path) -> Path:
    stat(tmp_path, 500, 0, 100, 300, 100, 0, 0, 0)
    (tmp_path / "meminfo").write_text(MEMORY)
    return tmp_path


def test_processors_count_from_one_reading_to_the_next(proc: Path):
    """And waiting for a disk is not work."""
    meter = Meter(proc)

    stat(proc, 560, 0, 110, 320, 110, 0, 0, 0)
    busy = meter.read()
    stat(proc, 560, 0, 110, 420, 110, 0, 0, 0)
    idle = meter.read()

    assert (busy, idle) == (Usage(70, 75), Usage(0, 75))


def test_reading_twice_within_a_tick_is_no_work(proc: Path):
    meter = Meter(proc)

    assert meter.read() == Usage(0, 75)


@pytest.mark.parametrize("told", [None, "", "MemTotal: 16000 kB\n", "MemTotal:\n", "what?\n"])
def test_system_that_tells_nothing_of_use_has_no_usage(proc: Path, told: str | None):
    """The heartbeat asks: it must not fail of an odd system."""
    if told is None:
        (proc / "stat").unlink()
    else:
        (proc / "meminfo").write_text(told)

    assert Meter(proc).read() is None


def test_this_machine_can_be_read():
    usage = Meter().read()

    assert usage is not None
    assert all(0 <= percent <= 100 for percent in usage)
