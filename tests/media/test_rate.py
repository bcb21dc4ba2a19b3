"""The frame rate and the count of frames, from distances alone; no film is made for these."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rushes.media.child.index import DISTINCT_GAPS, Track
from rushes.media.child.rate import FASTEST, MILLISECOND, SLOWEST, USUAL, measure

FINE = Fraction(1, 90_000)


@dataclass(frozen=True)
class Packet:
    """As much of a packet as is counted."""

    pts: int | None
    dts: int | None = None
    duration: int = 0
    is_corrupt: bool = False
    is_keyframe: bool = False


def gaps(rate: Fraction, tick: Fraction, frames: int) -> Counter[int]:
    times = [round(n / rate / tick) for n in range(frames)]
    return Counter(later - earlier for earlier, later in pairwise(times))


def track(times: list[int], **options: object) -> Track:
    counted = Track(tick=MILLISECOND, **options)
    for time in times:
        counted.add(Packet(time))
    counted.close()
    return counted


@given(
    rate=st.sampled_from(USUAL),
    tick=st.sampled_from([MILLISECOND, FINE, Fraction(1, 15_360), Fraction(1, 48_000)]),
    frames=st.integers(2, 500),
)
def test_rate_of_the_header_is_kept_when_the_frames_agree(rate, tick, frames):
    assert measure(gaps(rate, tick, frames), tick, [rate]).measured == rate


@given(rate=st.sampled_from(USUAL), frames=st.integers(300, 1000))
def test_rate_is_found_without_a_header(rate, frames):
    assert measure(gaps(rate, FINE, frames), FINE, []).measured == rate


@pytest.mark.parametrize("declared", [Fraction(1000), Fraction(90_000), Fraction(1, 7), None])
def test_header_that_lies_is_not_believed(declared):
    assert measure(gaps(Fraction(25), FINE, 100), FINE, [declared]).measured == 25


def test_film_of_one_frame_has_the_rate_of_its_header():
    assert measure(Counter(), FINE, [Fraction(30)]).grid == 30
    assert measure(Counter(), FINE, [None, Fraction(0)]).grid == 25


def test_telephone_that_wavers_is_variable():
    dice = random.Random(1)
    wavering = Counter(round(90 * dice.gauss(33.3, 3)) for _ in range(1000))

    rate = measure(wavering, FINE, [Fraction(2997, 100)])

    assert rate.variable
    assert rate.grid in {Fraction(30), Fraction(30_000, 1001)}


def test_one_lost_frame_makes_no_film_variable():
    assert not measure(Counter({3600: 99, 7200: 1}), FINE, []).variable


@given(st.dictionaries(st.integers(1, 10**12), st.integers(1, 10**6), min_size=1, max_size=50))
def test_grid_is_always_one_that_can_be_made(found):
    rate = measure(Counter(found), FINE, [])

    assert SLOWEST <= rate.grid <= FASTEST
    assert rate.grid.denominator <= 1001


def test_order_of_packets_does_not_matter():
    """B-frames arrive up to 16 places early or late."""
    dice = random.Random(2)
    times = list(range(0, 40_000, 40))
    groups = [times[n : n + 16] for n in range(0, len(times), 16)]
    mixed = [time for group in groups for time in dice.sample(group, k=len(group))]

    assert track(mixed).gaps == track(times).gaps == Counter({40: 999})
    assert track(mixed).seconds() == 40


def test_long_picture_counts_in_a_file_with_an_index_only():
    times = [0, 40, 80, 100_080, 100_120]

    assert track(times).seconds() == Fraction(100_120 + 25_030, 1000)
    assert track(times, clocked=True).seconds() == Fraction(200, 1000)
    assert track(times, clocked=True).jumps == 1


def test_memory_is_flat_whatever_the_gaps():
    counted = track([n * n for n in range(30_000)])

    assert len(counted.gaps) == DISTINCT_GAPS
    assert counted.seconds() > Fraction(29_999**2, 1000)


def test_packet_without_a_time_is_counted_and_no_more():
    counted = Track(tick=MILLISECOND)
    for packet in (Packet(None), Packet(None, dts=40), Packet(80)):
        counted.add(packet)
    counted.close()

    assert (counted.packets, counted.first, counted.gaps) == (3, 40, Counter({40: 1}))
