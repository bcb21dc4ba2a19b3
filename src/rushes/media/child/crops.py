"""Remembers what lines of text look like, so that a line is recognised once and not per frame.

A line is the same when a shift of a few pixels lays it over one already read and no spot of
3 by 3 pixels differs by more than a quarter of the contrast. JPEG noise stays below an eighth; the
smallest changes of a text (9 to 0, 1 to l, a comma to a full stop) are above two fifths.
It is always compared with the line that was read, never with a reuse of it: a slow change
cannot creep past. Runs in the child of ocr.py.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TypeAlias

import cv2
import numpy as np
from numpy.typing import NDArray

Grey: TypeAlias = NDArray[np.uint8]
Rectangle: TypeAlias = tuple[int, int, int, int]  # x, y, width, height

SLACK = 5  # pixels by which a detector's box may differ for the same line
MARGIN = 3 * SLACK
KEPT = 200
CANDIDATES = 3
CHANGED = 0.25  # of the contrast
VISIBLE = 28.0  # of 255: what counts as a change however strong the contrast behind the text is
FLAT = 16.0  # of 255: less contrast than any text has, and more than grain
SKETCH = (24, 6)


@dataclass(frozen=True, slots=True, eq=False)
class Line:
    """A line that was read: its pixels with a margin, and what they say."""

    patch: Grey
    width: int
    height: int
    sketch: NDArray[np.int16]
    tolerance: float
    text: str
    confidence: float


class Crops:
    """The lines read last. `look` at a frame first, then ask for its boxes."""

    def __init__(self) -> None:
        self._lines: deque[Line] = deque(maxlen=KEPT)
        self._frame: Grey = np.zeros((1, 1), np.uint8)

    def look(self, picture: NDArray[np.uint8]) -> None:
        grey = cv2.cvtColor(picture, cv2.COLOR_BGR2GRAY)
        self._frame = np.pad(grey, MARGIN, mode="edge")

    def is_flat(self, box: Rectangle) -> bool:
        """Tell whether the inside of a box is one colour: a window or a sign, but no text."""
        x, y, width, height = box
        inside = (x + width // 8, y + height // 4, width - width // 4, height - height // 2)
        dark, light = np.percentile(self._cut(inside), (2, 98))
        return bool(light - dark < FLAT)

    def find(self, box: Rectangle) -> Line | None:
        """Return the line that was read from the same pixels, if there is one."""
        sketch = self._sketch(box)
        alike = [line for line in self._lines if _same_size(line, box)]
        alike.sort(key=lambda line: int(np.abs(line.sketch - sketch).sum()))
        for line in alike[:CANDIDATES]:
            if self._covers(line, box):
                self._lines.remove(line)
                self._lines.append(line)
                return line
        return None

    def keep(self, box: Rectangle, text: str, confidence: float) -> Line:
        """Remember, and return, what was read from the pixels in the box."""
        patch = self._cut(box, SLACK).copy()
        dark, light = np.percentile(patch, (2, 98))
        line = Line(
            patch=patch,
            width=box[2],
            height=box[3],
            sketch=self._sketch(box),
            tolerance=min(CHANGED * float(light - dark), VISIBLE),
            text=text,
            confidence=confidence,
        )
        self._lines.append(line)
        return line

    def _covers(self, line: Line, box: Rectangle) -> bool:
        x, y, width, height = box
        match = cv2.matchTemplate(line.patch, self._cut(box), cv2.TM_SQDIFF)
        left, top = cv2.minMaxLoc(match)[2]
        # where the frame must be cut to lie over the patch, then the part that either box covers
        over = self._cut((x - left, y - top, line.patch.shape[1], line.patch.shape[0]))
        x0, x1 = min(SLACK, left), max(SLACK + line.width, left + width)
        y0, y1 = min(SLACK, top), max(SLACK + line.height, top + height)
        difference = cv2.absdiff(line.patch[y0:y1, x0:x1], over[y0:y1, x0:x1])
        return float(cv2.blur(difference.astype(np.float32), (3, 3)).max()) <= line.tolerance

    def _cut(self, box: Rectangle, margin: int = 0) -> Grey:
        x, y, width, height = box
        x, y = x + MARGIN - margin, y + MARGIN - margin
        return self._frame[y : y + height + 2 * margin, x : x + width + 2 * margin]

    def _sketch(self, box: Rectangle) -> NDArray[np.int16]:
        small = cv2.resize(self._cut(box), SKETCH, interpolation=cv2.INTER_AREA)
        return np.asarray(small, np.int16)


def _same_size(line: Line, box: Rectangle) -> bool:
    return abs(line.width - box[2]) <= SLACK and abs(line.height - box[3]) <= SLACK
