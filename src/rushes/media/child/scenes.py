"""Finds where one scene ends and the next begins, in the same pass that samples the film.

The score is that of ffmpeg's `scdet`: how much the brightness changed, but no more than this
change differs from the one before, so that steady motion or a flicker of a few frames is no cut.
"""

from __future__ import annotations

from rushes.media.child.phash import Cells, change

CUT = 15.0  # mean change in grey levels; a fast pan of a film measured 4


class Scenes:
    """Is shown one picture after the other and says which of them begins a scene."""

    def __init__(self) -> None:
        self._last: Cells | None = None
        self._change = 0.0

    def begins(self, picture: Cells) -> bool:
        last, self._last = self._last, picture
        if last is None or last.shape != picture.shape:
            return False
        before, self._change = self._change, change(last, picture)
        return min(self._change, abs(self._change - before)) >= CUT
