"""The demo's checks of its clips notice a single frame."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

from rushes.library import demo_clip, demo_film
from tests.media.numbered import X264, Pixels, encode

FIRST, STOP = demo_clip.FRAMES.start, demo_clip.FRAMES.stop
FIRST_IS_WRONG = f"its first frame is not frame {FIRST} of the film"
LAST_IS_WRONG = f"its last frame is not frame {STOP - 1} of the film"


def picture(number: int) -> Pixels:
    return drawn(demo_film.look_of(number))


@cache
def drawn(look: tuple[demo_film.Scene, tuple[demo_film.Line, ...], int]) -> Pixels:
    return np.asarray(demo_film.draw(*look))


@pytest.mark.parametrize(
    "first, stop, wrong",
    [
        (FIRST, STOP, []),
        (FIRST - 1, STOP - 1, [FIRST_IS_WRONG]),
        (FIRST + 1, STOP + 1, [LAST_IS_WRONG]),
        (FIRST, STOP + 1, ["it does not have the frames that it should"]),
    ],
)
def test_clip_that_is_one_frame_off_is_noticed(tmp_path: Path, first: int, stop: int, wrong):
    path = tmp_path / "clip.mp4"
    encode(path, (picture(number) for number in range(first, stop)), *X264)

    assert demo_clip.wrong_clip(path) == wrong
