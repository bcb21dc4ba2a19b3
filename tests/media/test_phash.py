"""Pictures that look alike have near hashes, others do not; and small text is never overlooked."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from rushes.errors import Invalid
from rushes.media.child.phash import BLOCK_CHANGE, bits_apart, cells, distance, phash, tile_changed

Pixels = NDArray[np.uint8]
ALIKE = bits_apart(0.95)
SIZES = st.integers(1, 70)


def scenery(seed: int, height: int = 360, width: int = 640) -> Pixels:
    """Return a smooth picture, the same at every size."""
    waves = np.random.default_rng(seed).normal(0, 1, (6, 3))
    y, x = np.mgrid[0 : 1 : height * 1j, 0 : 1 : width * 1j]
    picture = sum(
        strength * np.cos(np.pi * (across * 2 * x + down * 2 * y + place))
        for place, (strength, across, down) in enumerate(waves)
    )
    return np.clip(128 + 15 * picture, 0, 255).astype(np.uint8)


def hash_of(pixels: Pixels) -> int:
    return phash(cells(pixels))


def plain_hash(picture: NDArray[np.float32]) -> list[bool]:
    """Return the bits by the definition of the transform, for a picture of 32x32 cells."""
    waves = []
    for v in range(8):
        for u in range(8):
            across = np.cos(np.pi * u * (2 * np.arange(32) + 1) / 64) * np.sqrt((1 + (u > 0)) / 32)
            down = np.cos(np.pi * v * (2 * np.arange(32) + 1) / 64) * np.sqrt((1 + (v > 0)) / 32)
            waves.append(float((picture * np.outer(down, across)).sum()))
    return [wave > np.median(waves) + 4 for wave in waves]


@pytest.mark.parametrize(
    "change",
    [
        lambda pixels: np.clip(pixels.astype(int) + 20, 0, 255),
        lambda pixels: pixels * 0.85,
        lambda pixels: pixels + np.random.default_rng(1).normal(0, 3, pixels.shape),
    ],
    ids=["brighter", "flatter", "noisy"],
)
@pytest.mark.parametrize("seed", range(5))
def test_a_changed_copy_stays_alike(seed, change):
    """002-017: a look-alike is recognised although no pixel is the same."""
    pixels = scenery(seed)

    copy = np.clip(change(pixels), 0, 255).astype(np.uint8)

    assert distance(hash_of(pixels), hash_of(copy)) <= ALIKE


@pytest.mark.parametrize("seed", range(5))
def test_the_same_picture_in_another_size_is_alike(seed):
    assert distance(hash_of(scenery(seed)), hash_of(scenery(seed, 1080, 1920))) <= ALIKE


def test_other_pictures_are_far_apart():
    hashes = [hash_of(scenery(seed)) for seed in range(12)]

    distances = [distance(one, other) for one in hashes for other in hashes if one is not other]

    assert min(distances) > 2 * ALIKE


def test_noise_on_a_flat_picture_is_no_change():
    flats = [
        np.random.default_rng(seed).normal(100, 2, (360, 640)).astype(np.uint8) for seed in range(6)
    ]

    assert len({hash_of(flat) for flat in flats}) == 1


@pytest.mark.parametrize("seed", range(3))
def test_the_hash_follows_the_definition_of_the_transform(seed):
    picture = cells(scenery(seed, 128, 128))

    bits = [bool((phash(picture) >> place) & 1) for place in reversed(range(64))]

    assert bits == plain_hash(picture / 16)


@given(SIZES, SIZES, st.integers(0, 2**32 - 1))
def test_a_cell_is_the_sum_of_its_pixels(height, width, seed):
    pixels = np.random.default_rng(seed).integers(0, 256, (height, width), dtype=np.uint8)

    found = cells(pixels)

    rows, columns = max(1, height // 8) * 2, max(1, width // 8) * 2
    assert found.shape == (rows, columns)
    if height >= 8 and width >= 8:
        last = pixels[rows * 4 - 4 : rows * 4, columns * 4 - 4 : columns * 4]
        assert found[-1, -1] == last.sum()


@given(SIZES, SIZES)
def test_a_picture_of_any_size_has_a_hash_and_is_like_itself(height, width):
    pixels = scenery(1, height, width)

    assert 0 <= hash_of(pixels) < 2**64
    assert not tile_changed(cells(pixels), cells(pixels))


@pytest.mark.parametrize(
    "changed, by, fires",
    [
        ([(0, 0), (2, 3), (5, 5)], BLOCK_CHANGE + 1, True),
        ([(0, 0), (2, 3), (5, 5)], -BLOCK_CHANGE - 1, True),
        ([(0, 0), (2, 3), (5, 5)], BLOCK_CHANGE, False),
        ([(0, 0), (5, 5)], 100, False),
        ([(0, 0), (0, 6), (6, 0), (6, 6)], 100, False),
        ([(12, 12), (12, 13), (13, 13)], 100, True),
    ],
    ids=["three", "darker", "faint", "two", "scattered", "in the cut off corner"],
)
def test_the_tile_rule_fires_at_three_cells_of_one_tile(changed, by, fires):
    before = np.full((28, 28), 100 * 16, np.int16)
    after = before.copy()
    for row, column in changed:
        after[2 * row : 2 * row + 2, 2 * column : 2 * column + 2] += by * 16

    assert tile_changed(before, after) is fires


def test_one_digit_in_the_place_of_another_changes_its_tile():
    """The means of the blocks would not tell: here they stay exactly the same."""
    before = np.full((28, 28), 100 * 16, np.int16)
    after = before.copy()
    after[0, 0:6:2] += 50 * 16
    after[1, 0:6:2] -= 50 * 16

    assert tile_changed(before, after)


def test_the_threshold_is_given_as_similarity_and_used_as_bits():
    """002-014: dedupe_threshold 0.95 of 64 bits lets at most 3 differ."""
    assert [bits_apart(value) for value in (1, 0.99, 0.95, 0.9, 0)] == [0, 0, 3, 6, 64]
    with pytest.raises(Invalid):
        bits_apart(95)
