"""Which constant frame rate a film gets, from the distances between its frames.

Headers lie and Matroska rounds to milliseconds, so the rate is measured; the header only breaks
ties, such as the one between 30 and 29.97 in a film of a second.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

NTSC = Fraction(1000, 1001)
USUAL = tuple(
    sorted(
        (
            *map(Fraction, (1, 2, 5, 10, 12, 15, 20, 24, 25, 30, 48, 50, 60, 90, 100, 120, 240)),
            *(rate * NTSC for rate in (24, 30, 48, 60, 120, 240)),
        )
    )
)
FASTEST, SLOWEST, UNKNOWN = Fraction(60), Fraction(1), Fraction(25)
MILLISECOND = Fraction(1, 1000)
ROUNDING = Fraction(1, 10_000)
STEADY_SHARE = Fraction(98, 100)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """How fast the film runs: as measured, and on our grid."""

    measured: Fraction
    grid: Fraction
    variable: bool


def measure(gaps: Counter[int], tick: Fraction, declared: Iterable[Fraction | None]) -> Rate:
    """Find the rate of a film whose frames lie `gaps` (in ticks → how often) apart.

    >>> measure(Counter({33: 40, 34: 19}), MILLISECOND, [None]).grid
    Fraction(30, 1)
    >>> measure(Counter({512: 60, 1536: 19}), Fraction(1, 15360), [Fraction(20)])
    Rate(measured=Fraction(30, 1), grid=Fraction(30, 1), variable=True)
    """
    hints = [_snapped(rate) for rate in declared if rate is not None and rate > 0]
    if not gaps:
        measured = _bounded(hints[0]) if hints else UNKNOWN
        return Rate(measured=measured, grid=on_grid(measured), variable=False)
    slack = max(tick, MILLISECOND) * Fraction(101, 100)
    typical = percentile(gaps, Fraction(1, 2))
    steady = Counter({gap: n for gap, n in gaps.items() if abs(gap - typical) * tick <= slack})
    if steady.total() < gaps.total() * STEADY_SHARE:
        shortest = percentile(gaps, Fraction(1, 10)) * tick
        measured = _nearest(1 / shortest)
        return Rate(measured=measured, grid=on_grid(measured), variable=True)
    mean = sum(gap * n for gap, n in steady.items()) * tick / steady.total()
    measured = _exact(mean, slack / steady.total(), hints)
    return Rate(measured=measured, grid=on_grid(measured), variable=False)


def on_grid(rate: Fraction) -> Fraction:
    """Return the rate at which a film is made: at most 60, by leaving out whole frames.

    >>> on_grid(Fraction(120)), on_grid(Fraction(25)), on_grid(Fraction(1, 10))
    (Fraction(60, 1), Fraction(25, 1), Fraction(1, 1))
    """
    slower = _bounded(rate / -(-rate // FASTEST))
    return min(max(slower, SLOWEST), FASTEST)


def percentile(gaps: Counter[int], share: Fraction) -> int:
    """Return the gap below which `share` of all gaps lie."""
    wanted, seen = gaps.total() * share, 0
    for gap in sorted(gaps):
        seen += gaps[gap]
        if seen >= wanted:
            return gap
    raise ValueError("there is no gap")


def _exact(mean: Fraction, slack: Fraction, hints: list[Fraction]) -> Fraction:
    """Return the first well-known rate that the mean distance allows."""
    by_nearness = sorted(USUAL, key=lambda rate: abs(1 / rate - mean))
    for rate in (*hints, *by_nearness):
        if abs(1 / rate - mean) <= slack:
            return _bounded(rate)
    return _bounded(1 / mean)


def _snapped(rate: Fraction) -> Fraction:
    """Matroska keeps the length of a frame in nanoseconds, so 29.97 comes back a little off."""
    usual = _nearest(rate)
    return usual if abs(usual / rate - 1) < ROUNDING else rate


def _nearest(rate: Fraction) -> Fraction:
    return min(USUAL, key=lambda usual: abs(usual / rate - 1))


def _bounded(rate: Fraction) -> Fraction:
    """Keep the numbers small: they become arguments of a filter."""
    return max(rate.limit_denominator(1001), Fraction(1, 1000))
