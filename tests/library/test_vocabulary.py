"""Which words do for another: how many slips lie between two."""

from __future__ import annotations

import doctest
from itertools import product

import pytest

from rushes.library import vocabulary
from rushes.library.vocabulary import slips
from rushes.media.text import distance

WORDS = ["".join(letters) for size in range(6) for letters in product("abc", repeat=size)]


@pytest.mark.parametrize("limit", [0, 1, 2])
def test_slips_are_counted_as_the_distance_has_them(limit: int):
    """Without its table, for words that are at most so far apart."""
    for other in WORDS:
        for one in ("", "a", "abc", "abca", "bcab", "aabbc", "cabac"):
            expected = min(distance(one, other), limit + 1)
            assert min(slips(one, other, limit), limit + 1) == expected, (one, other)


def test_examples_hold():
    assert doctest.testmod(vocabulary).failed == 0
