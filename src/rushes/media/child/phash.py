"""Tells whether two pictures look alike: a 64-bit perceptual hash, and a rule for small text.

Both see a picture as its cells, the brightness of each 4x4 pixels. The hash alone loses a line of
text that changes on a still picture: it holds only the coarse waves of the whole. So two pictures
are alike only if their hashes are near *and* no tile of 48x48 pixels has changed. A block of 8x8
has changed if its four cells did by more than 12 on average: the mean of the block alone would
hide one digit that takes the place of another.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rushes.errors import Invalid

Luma = NDArray[np.uint8]
Cells = NDArray[np.int16]

BITS = 64
CELL_PX = 4
CELL_PIXELS = CELL_PX * CELL_PX
BLOCK_PX = 8
SIDE = 32
WAVES = 8
TILE_BLOCKS = 6
TILE_CHANGES = 3
BLOCK_CHANGE = 12
FAINT = 4.0  # a wave of a quarter of a grey level: on a flat picture noise would be bits


def bits_apart(similarity: float) -> int:
    """Return by how many bits two hashes may differ and still count as alike.

    >>> bits_apart(0.95), bits_apart(1.0), bits_apart(0.5)
    (3, 0, 32)
    """
    if not 0 <= similarity <= 1:
        raise Invalid(f"a similarity is between 0 and 1, not {similarity}")
    return int((1 - similarity) * BITS + 1e-9)


def distance(one: int, other: int) -> int:
    """Return how many bits differ.

    >>> distance(0b1011, 0b0010)
    2
    """
    return (one ^ other).bit_count()


def cells(luma: Luma) -> Cells:
    """Return the sum of each 4x4 pixels; a rest of less than a block at the edges is not seen.

    Adding slices is ten times faster than one sum over two axes.
    """
    short = [(0, max(0, BLOCK_PX - side)) for side in luma.shape]
    if any(missing for _, missing in short):
        luma = np.pad(luma, short, mode="edge")
    height, width = (side - side % BLOCK_PX for side in luma.shape)
    rows = luma[0:height:CELL_PX, :width].astype(np.int16)
    for line in range(1, CELL_PX):
        rows += luma[line:height:CELL_PX, :width]
    return _added(rows[:, place::CELL_PX] for place in range(CELL_PX))


def phash(picture: Cells) -> int:
    """Return the 64-bit hash: the signs, around their median, of the 8x8 longest waves of 32x32."""
    waves = (_waves() @ _shrink(_shrink(picture).T).T @ _waves().T).ravel() / CELL_PIXELS
    bits = waves > np.median(waves) + FAINT
    return int.from_bytes(np.packbits(bits).tobytes(), "big")


def tile_changed(before: Cells, after: Cells) -> bool:
    """Say whether any tile of 6x6 blocks has at least 3 that changed by more than 12."""
    apart = np.abs(after - before)
    blocks = _added(apart[y::2, x::2] for y in (0, 1) for x in (0, 1))
    changed = blocks > BLOCK_CHANGE * CELL_PIXELS * 4
    if np.count_nonzero(changed) < TILE_CHANGES:
        return False
    tiled = np.pad(changed, [(0, -side % TILE_BLOCKS) for side in changed.shape])
    rows, columns = (side // TILE_BLOCKS for side in tiled.shape)
    counts = tiled.reshape(rows, TILE_BLOCKS, columns, TILE_BLOCKS).sum(axis=(1, 3))
    return bool((counts >= TILE_CHANGES).any())


def change(before: Cells, after: Cells) -> float:
    """Return by how many grey levels two pictures differ on average."""
    return float(np.abs(after - before).mean()) / CELL_PIXELS


def _added(slices: Iterable[Cells]) -> Cells:
    first, *others = slices
    total = first.copy()
    for other in others:
        total += other
    return total


def _shrink(picture: NDArray[Any]) -> NDArray[np.float64]:
    """Return the means of 32 equal groups of rows.

    Not by one product of matrices: for that the library would start threads, which burn more
    time than all the rest.
    """
    rows = len(picture)
    starts = np.arange(SIDE) * rows // SIDE
    sizes = np.maximum(1, np.diff(starts, append=rows))
    means: NDArray[np.float64] = np.add.reduceat(picture, starts, dtype=float) / sizes[:, None]
    return means


@cache
def _waves() -> NDArray[np.float64]:
    """Return the 8 longest waves over 32 samples, each of length 1."""
    angles = np.pi * np.outer(np.arange(WAVES), np.arange(SIDE) + 0.5) / SIDE
    waves: NDArray[np.float64] = np.cos(angles) * np.sqrt(2 / SIDE)
    waves[0] /= np.sqrt(2)
    return waves
