"""When a failed attempt is tried again, and how often."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rushes.domain.retry import HEAVY, LIGHT, Exponential, Listed, jittered, may_retry


def test_heavy_work_waits_one_five_and_fifteen_minutes():
    """002-048 (C26: the list, not the formula), 002-046."""
    waits = [HEAVY.delay(attempt).total_seconds() for attempt in (1, 2, 3, 4, 50)]

    assert waits == [60, 300, 900, 900, 900]


def test_light_work_doubles_its_wait_up_to_five_minutes():
    """003-059 (C26)."""
    waits = [LIGHT.delay(attempt).total_seconds() for attempt in (1, 2, 3, 4, 5, 6, 7, 1_000_000)]

    assert waits == [10, 20, 40, 80, 160, 300, 300, 300]


@given(st.sampled_from([HEAVY, LIGHT]), st.integers(1, 60), st.integers())
def test_wait_is_moved_by_at_most_a_fifth_either_way(backoff, attempt: int, seed: int):
    """002-048."""
    exact = backoff.delay(attempt)

    wait = jittered(backoff, attempt, Random(seed))

    assert 0.8 * exact <= wait <= 1.2 * exact


def test_jitter_spreads_waits_over_the_whole_range():
    random = Random(1)

    shares = [jittered(LIGHT, 1, random) / LIGHT.delay(1) for _ in range(1_000)]

    assert min(shares) < 0.81
    assert max(shares) > 1.19


@pytest.mark.parametrize("max_attempts", [1, 2, 3, 10])
def test_max_attempts_is_the_number_of_runs(max_attempts: int):
    """000-009, 000-010, 000-082, 000-087, 003-037 (C1: three means three runs)."""
    runs = 1
    while may_retry(attempt=runs, max_attempts=max_attempts, retryable=True):
        runs += 1

    assert runs == max_attempts


@given(st.integers(1, 10), st.integers(1, 10))
def test_what_cannot_be_retried_is_never_retried(attempt: int, max_attempts: int):
    """002-050."""
    assert not may_retry(attempt=attempt, max_attempts=max_attempts, retryable=False)


def test_policy_is_pluggable():
    """003-059."""
    assert Listed((1, 2)).delay(2).total_seconds() == 2
    assert Exponential(base=1, cap=5).delay(4).total_seconds() == 5
