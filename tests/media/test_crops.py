"""Lines that were read before: one that moved is known again, one that changed is not."""

from __future__ import annotations

import io

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from rushes.media.child.crops import Crops
from tests.media import cards

POSTS = (
    "Reply 12: see you at 12:59",
    "Reply 13: see you at 13:00",
    "Note 7: the Council approves",
)
CHANGES = (
    ("The Council met", "The Counci1 met"),
    ("at 12:59 today", "at 13:00 today"),
    ("ACME 187.32", "ACME 187.35"),
    ("ACME 187.32", "ACME 187.82"),
    ("level O", "level 0"),
    ("1,000", "1.000"),
    ("modern", "modem"),
    ("né", "nè"),
    ("schon", "schön"),
    ("3 of 8", "3 of 6"),
    ("the end", "the end."),
)
COLOURS = {"clear": ("#101010", "#ffffff"), "faint": ("#6a6a6a", "#9a9a9a")}


def strip(text: str, size: int, colours: tuple[str, str], at: int = 0) -> NDArray[np.uint8]:
    """A picture of one line after it was a JPEG; `at` moves it by pixels."""
    fill, ground = colours
    picture = Image.new("RGB", (320, 96), ground)
    ImageDraw.Draw(picture).text((20 + at, 16 + at), text, fill, cards.font(size))
    stored = io.BytesIO()
    picture.save(stored, "JPEG", quality=85)
    return np.asarray(cv2.imdecode(np.frombuffer(stored.getvalue(), np.uint8), 1), np.uint8)


def box_of(text: str, size: int, at: int = 0) -> tuple[int, int, int, int]:
    left, top, right, bottom = map(int, cards.font(size).getbbox(text))
    return 17 + at + left, 13 + at + top, right - left + 6, bottom - top + 6


@pytest.mark.parametrize("colours", COLOURS.values(), ids=COLOURS.keys())
@pytest.mark.parametrize("size", [14, 24, 44])
@pytest.mark.parametrize("before, after", CHANGES)
def test_a_line_that_changed_in_one_letter_is_read_anew(
    before: str, after: str, size: int, colours: tuple[str, str]
) -> None:
    crops = Crops()
    crops.look(strip(before, size, colours))
    crops.keep(box_of(before, size), before, 1.0)
    crops.look(strip(after, size, colours))

    assert crops.find(box_of(after, size)) is None


@pytest.mark.parametrize("size", [14, 24, 44])
@pytest.mark.parametrize("at", [0, 3, 8])
def test_a_line_that_moved_is_not_read_again(size: int, at: int) -> None:
    crops, colours, text = Crops(), COLOURS["clear"], "at 12:59 today"
    crops.look(strip(text, size, colours))
    kept = crops.keep(box_of(text, size), text, 1.0)
    crops.look(strip(text, size, colours, at))
    x, y, width, height = box_of(text, size, at)

    assert crops.find((x - 1, y + 1, width + 2, height - 1)) is kept


def test_a_slow_change_cannot_creep_past() -> None:
    """Each frame differs little from the one before, and every one is compared with the first."""
    one, other = (strip(text, 24, COLOURS["clear"]) for text in ("3 of 8", "3 of 6"))
    crops, box = Crops(), box_of("3 of 8", 24)
    crops.look(one)
    crops.keep(box, "3 of 8", 1.0)

    found = []
    for share in np.linspace(0, 1, 11):
        crops.look(np.asarray(cv2.addWeighted(one, 1 - share, other, share, 0), np.uint8))
        found.append(crops.find(box) is not None)

    assert (found[0], found[-1]) == (True, False)


@pytest.mark.parametrize("size", [14, 44])
def test_a_box_of_one_colour_is_not_read_and_faint_text_is(size: int) -> None:
    crops = Crops()
    faint = strip("at 12:59", size, ("#727272", "#909090"))
    grain = np.random.default_rng(1).normal(128, 3, faint.shape).astype(np.uint8)

    crops.look(faint)
    assert not crops.is_flat(box_of("at 12:59", size))
    crops.look(grain)
    assert crops.is_flat(box_of("at 12:59", size))


def test_a_feed_is_recognised_once_per_line_and_not_per_frame() -> None:
    from rushes.media.child.rapid import Rapid

    engine = Rapid()
    pictures = [
        np.asarray(cards.feed(POSTS, offset, width=480, height=180))[:, :, ::-1].copy()
        for offset in range(0, 12, 2)
    ]

    found = [[region.text for region in engine.read_picture(picture)] for picture in pictures]

    assert found == [list(POSTS)] * len(pictures)
    assert engine.recognised == 3
