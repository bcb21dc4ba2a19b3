"""What a worker is shown as."""

from __future__ import annotations

import pytest

from rushes.domain.worker import LATE_AFTER_MS, OFFLINE_AFTER_MS, Mode, Worker, presence
from tests.world import NOON


@pytest.mark.parametrize(
    "mode, silent_ms, load, word",
    [
        ("active", 0, 0, "idle"),
        ("active", 0, 1, "busy"),
        ("active", LATE_AFTER_MS, 1, "busy"),
        ("active", LATE_AFTER_MS + 1, 1, "late"),
        ("active", OFFLINE_AFTER_MS, 0, "late"),
        ("active", OFFLINE_AFTER_MS + 1, 1, "offline"),
        ("draining", 0, 1, "draining"),
        ("draining", OFFLINE_AFTER_MS + 1, 1, "offline"),
        ("disabled", 0, 0, "disabled"),
        ("disabled", OFFLINE_AFTER_MS + 1, 0, "disabled"),
        ("stopped", 0, 0, "offline"),
    ],
)
def test_worker_is_shown_by_what_was_asked_of_it_then_by_its_silence(
    mode: str, silent_ms: int, load: int, word: str
):
    """000-024, 000-038, 000-039, 000-041, 003-016, 003-050, 003-054 (C7, C45)."""
    worker = _worker(mode=Mode(mode), last_heartbeat=NOON - silent_ms, load=load)

    assert presence(worker, now=NOON) == word


def test_thresholds_are_settings():
    """000-109, 000-138."""
    worker = _worker(last_heartbeat=NOON - 11)

    assert presence(worker, now=NOON, late_after=10) == "late"
    assert presence(worker, now=NOON, late_after=1, offline_after=10) == "offline"


def test_slots_are_the_sum_over_lanes():
    """003-017."""
    assert _worker(lanes={"default": 4, "gpu": 1}).slots == 5


def _worker(**facts: object) -> Worker:
    columns = dict.fromkeys(Worker.__dataclass_fields__)
    return Worker(**{**columns, "mode": Mode.ACTIVE, "load": 0, **facts})
