"""The child's side of storyboard.py: finds a picture for every cue and lays them out in sheets.

A key picture inside the cue is good enough and costs almost nothing. Where key pictures are
further apart, a second reader walks on from the one before, so no picture is decoded twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from rushes.errors import Permanent
from rushes.media.child.display import Display, Pixels, write_jpeg
from rushes.media.child.entry import tell
from rushes.media.child.reel import Picture, Reel
from rushes.media.storyboard import COLUMNS, ROWS
from rushes.media.view import View


def run(
    path: str,
    view: dict[str, Any],
    cues_ms: list[tuple[int, int]],
    size: tuple[int, int],
    sheets: list[str],
) -> None:
    """Write the sheets; tell how far the work is."""
    order = View(**view)
    display = Display(order)
    with Reel(path, order) as keys, Reel(path, order) as walker:
        finder = _Finder(keys, walker)
        for number, name in enumerate(sheets):
            first = number * COLUMNS * ROWS
            tiles: list[Pixels] = []
            for start, end in cues_ms[first : first + COLUMNS * ROWS]:
                shown = display.show(finder.find(start, end).frame)
                tiles.append(display.pixels(shown, (size[0], size[1])))
                tell((first + len(tiles)) / len(cues_ms))
            write_jpeg(Path(name), _sheet(tiles))


class _Finder:
    def __init__(self, keys: Reel, walker: Reel) -> None:
        self._keys = keys
        self._walker = walker
        self._walk: Iterator[Picture] = iter(())
        self._shown: Picture | None = None
        self._next: Picture | None = None

    def find(self, start_ms: int, end_ms: int) -> Picture:
        """Return a key picture of this cue, else what is shown in its middle."""
        middle = (start_ms + end_ms) // 2
        key = self._keys.key_picture(middle)
        if key is not None and start_ms <= key.t_ms < end_ms:
            return key
        if self._shown is None or key is None or self._shown.t_ms < key.t_ms:
            self._walk = self._walker.pictures(middle)
            self._shown = self._next = next(self._walk, self._shown)
        while self._next is not None and self._next.t_ms <= middle:
            self._shown, self._next = self._next, next(self._walk, None)
        found = self._shown or key
        if found is None:
            raise Permanent("no picture of this film can be decoded", error_code="SOURCE_CORRUPT")
        return found


def _sheet(tiles: list[Pixels]) -> Pixels:
    """Lay the tiles out in rows; a last row that is not full is filled with black."""
    height, width, _ = tiles[0].shape
    rows = -(-len(tiles) // COLUMNS)
    sheet = np.zeros((rows * height, min(len(tiles), COLUMNS) * width, 3), np.uint8)
    for place, tile in enumerate(tiles):
        y, x = place // COLUMNS * height, place % COLUMNS * width
        sheet[y : y + height, x : x + width] = tile
    return sheet
