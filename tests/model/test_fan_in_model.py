"""The last of two parents must wake the child, however their transactions interleave."""

from __future__ import annotations

import pytest

from tests.model.explorer import STUCK, explore
from tests.model.fan_in import FanInModel, Way


@pytest.mark.parametrize("way", [Way.COUNTER, Way.NOT_EXISTS_AND_SWEEP])
def test_child_always_becomes_ready_after_both_parents(way: Way) -> None:
    """001-003."""
    finding = explore(FanInModel(way))

    assert finding.broken is None, finding
    assert finding.states >= 30


@pytest.mark.parametrize("way", [Way.NOT_EXISTS, Way.COUNTER_READ_FIRST])
def test_wake_up_is_lost_when_parents_do_not_meet_at_the_childs_row(way: Way) -> None:
    """001-003: why the counter is decremented by the database."""
    finding = explore(FanInModel(way))

    assert finding.broken == STUCK, finding
    assert len(finding.trace) == 4
