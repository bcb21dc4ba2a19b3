"""The child's side of thumbnail.py: looks at candidates, scores them, writes the best one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rushes.errors import Permanent
from rushes.media.child.display import Display, Pixels, write_jpeg
from rushes.media.child.reel import Picture, Reel
from rushes.media.view import View

Floats = NDArray[np.float32]

SCORED_AT_PX = 640
GOOD = 0.45
FEW = 3
WALK_PICTURES = 3_000
WALK_STEP_MS = 250

DARK, BRIGHT = 0.2, 0.85
FULL_CONTRAST = 0.2
SHARP_EDGE = 0.2
FULL_COLOUR = 60
LUMA = np.array([0.299 / 255, 0.587 / 255, 0.114 / 255], np.float32)


def run(
    path: str, view: dict[str, Any], times_ms: list[int], exact: bool, targets: dict[str, int]
) -> dict[str, object]:
    """Write the best picture at about these times, or the very one, in each size."""
    order = View(**view)
    display = Display(order)
    with Reel(path, order) as reel:
        if exact:
            shown = reel.showing(times_ms[0])
            score, picture = _best(display, order, [shown] if shown else [])
        else:
            score, picture = _choose(reel, display, order, times_ms)
    if picture is None:
        raise Permanent("no picture of this film can be decoded", error_code="SOURCE_CORRUPT")

    upright = display.show(picture.frame)
    sizes = [order.fit(box) for box in targets.values()]
    for name, size in zip(targets, sizes, strict=True):
        write_jpeg(Path(name), display.pixels(upright, size))
    return {"t_ms": picture.t_ms, "score": score, "sizes": sizes}


def score(pixels: Pixels) -> float:
    """Return how good a poster these RGB pixels make, from 0 to 1.

    Neither dark nor glaring comes first, as a factor: a black picture gets nothing for the rest.
    Sharpness is the steepest hundredth of all edges, because a picture may well be soft elsewhere.
    """
    rgb = pixels.astype(np.float32)
    grey: Floats = rgb @ LUMA
    mean = float(grey.mean())
    exposure = min(1.0, mean / DARK, (1 - mean) / (1 - BRIGHT))
    contrast = min(1.0, float(grey.std()) / FULL_CONTRAST)
    return exposure * (0.5 * _sharpness(grey) + 0.3 * contrast + 0.2 * _colour(rgb))


def _sharpness(grey: Floats) -> float:
    if min(grey.shape) < 2:
        return 0.0
    steps = np.maximum(np.abs(np.diff(grey, axis=0))[:, 1:], np.abs(np.diff(grey, axis=1))[1:])
    return min(1.0, float(np.percentile(steps, 99)) / SHARP_EDGE)


def _colour(rgb: Floats) -> float:
    """Return how colourful, by the spread of the two opponent colours."""
    red, green, blue = rgb[..., 0], rgb[..., 1], rgb[..., 2]
    one, other = red - green, (red + green) / 2 - blue
    spread = np.hypot(one.std(), other.std()) + 0.3 * np.hypot(one.mean(), other.mean())
    return min(1.0, float(spread) / FULL_COLOUR)


def _choose(
    reel: Reel, display: Display, view: View, times_ms: list[int]
) -> tuple[float, Picture | None]:
    """Compare key pictures; where a film has few, or only poor ones, walk through its beginning."""
    seen: set[int] = set()
    best = _best(display, view, _keys(reel, times_ms, seen))
    if len(seen) < FEW or best[0] < GOOD:
        walked = _best(display, view, _walk(reel))
        best = max(best, walked, key=lambda scored: scored[0])
    return best


def _keys(reel: Reel, times_ms: list[int], seen: set[int]) -> Iterator[Picture]:
    for time in times_ms:
        key = reel.key_picture(time)
        if key is not None and key.t_ms not in seen:
            seen.add(key.t_ms)
            yield key


def _walk(reel: Reel) -> Iterator[Picture]:
    due_ms = 0
    for picture in islice(reel.pictures(), WALK_PICTURES):
        if picture.t_ms >= due_ms:
            due_ms = picture.t_ms + WALK_STEP_MS
            yield picture


def _best(
    display: Display, view: View, pictures: Iterable[Picture]
) -> tuple[float, Picture | None]:
    best: tuple[float, Picture | None] = (-1.0, None)
    for picture in pictures:
        pixels = display.pixels(display.show(picture.frame), view.fit(SCORED_AT_PX))
        best = max(best, (score(pixels), picture), key=lambda scored: scored[0])
    return best
