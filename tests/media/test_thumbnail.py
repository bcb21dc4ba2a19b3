"""The poster: neither black nor blurred, in the right shape, at the right time."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from PIL import Image, ImageFilter
from pydantic import TypeAdapter

from rushes.errors import Invalid, Permanent
from rushes.media.child.poster import score
from rushes.media.probe import probe
from rushes.media.source import Source
from rushes.media.thumbnail import Poster, candidate_times, thumbnail
from tests.media import cards
from tests.media.clips import RECIPES, clip
from tests.media.numbered import COUNT, X264, Pixels, encode, read_jpeg, read_number

SHARP = cards.scenery(320, 180, seed=3)
BLACK = np.zeros((180, 320, 3), np.uint8)


def blurred(radius: float) -> Pixels:
    return np.asarray(SHARP.filter(ImageFilter.GaussianBlur(radius)))


def _late(target: Path) -> None:
    """scenery 3 after 75 black frames, one key frame"""
    picture = np.asarray(SHARP)
    frames = (BLACK if number < 75 else picture for number in range(COUNT))
    encode(target, frames, *X264, "-g", "250", "-sc_threshold", "0")


def _focus(target: Path) -> None:
    """scenery 3 out of focus but for frames 60 to 75, a key frame every 15"""
    picture, soft = np.asarray(SHARP), blurred(3)
    frames = (picture if 60 <= number < 75 else soft for number in range(COUNT))
    encode(target, frames, *X264, "-g", "15")


RECIPES |= {
    "late": ("mp4", _late),
    "focus": ("mp4", _focus),
    "black": ("mp4", f"-f lavfi -i color=black:size=320x180:rate=10:duration=1 {' '.join(X264)}"),
}


@cache
def film(name: str) -> tuple[Path, Source]:
    with TemporaryDirectory() as folder:
        return clip(name), probe(clip(name), folder=Path(folder))


def make(name: str, folder: Path, at_ms: int | None = None) -> Poster:
    path, source = film(name)
    return thumbnail(path, source, folder=folder, at_ms=at_ms)


def test_a_film_that_begins_black_gets_a_bright_poster(folder):
    """002-010: although its only key frame is black."""
    poster = make("late", folder)

    assert poster.t_ms >= 2_500
    assert read_jpeg(poster.stills[0].path).mean() > 60


def test_the_sharp_picture_wins(folder):
    poster = make("focus", folder)

    assert 2_000 <= poster.t_ms < 2_500


def test_a_black_film_still_gets_a_poster(folder):
    poster = make("black", folder)

    assert poster.score < 0.01
    assert read_jpeg(poster.stills[0].path).shape == (180, 320, 3)


@pytest.mark.parametrize(
    "name, size", [("rotated", (180, 320)), ("sar", (320, 180)), ("film", (1280, 720))]
)
def test_the_poster_has_the_shape_of_the_film(name, size, folder):
    poster = make(name, folder)

    large, small = poster.stills
    assert (large.width, large.height) == size == read_jpeg(large.path).shape[1::-1]
    assert max(small.width, small.height) == 320
    assert Path(large.path).name == "poster.jpg"
    assert Path(small.path).name == "poster-320.jpg"


@pytest.mark.parametrize("at_ms, number", [(0, 0), (1_500, 45), (1_499, 44), (3_999, 119)])
def test_a_chosen_time_gives_the_picture_shown_then(at_ms, number, folder):
    poster = make("numbered", folder, at_ms)

    assert read_number(read_jpeg(poster.stills[0].path)) == number


def test_a_time_outside_the_film_is_refused(folder):
    for at_ms in (-1, 4_000):
        with pytest.raises(Invalid, match="no picture at"):
            make("numbered", folder, at_ms)


def test_a_file_without_pictures_is_refused(folder):
    _, source = film("numbered")

    with pytest.raises(Permanent) as raised:
        thumbnail(clip("image"), source, folder=folder)

    assert raised.value.error_code == "SOURCE_UNSUPPORTED"
    assert list(folder.iterdir()) == []


def test_scores_put_black_glaring_flat_and_blurred_pictures_last():
    grey = np.asarray(SHARP.convert("L").convert("RGB"))
    best = score(np.asarray(SHARP))

    assert best > score(blurred(2)) > score(blurred(6)) > score(BLACK) == 0
    assert best - score(blurred(3)) > 0.08, "contrast and colours alone differ by 0.03"
    assert best > score(grey)
    assert score(BLACK + 255) == 0
    assert score(BLACK + 120) < 0.01
    assert score(np.asarray(Image.new("RGB", (1, 1), "gray"))) >= 0


def test_candidates_leave_out_the_very_start_and_end():
    times = candidate_times(60_000)

    assert times[0] == 2_500
    assert times[-1] == 57_500
    assert len(set(np.diff(times))) == 1


def test_a_result_survives_being_stored(folder):
    poster = make("black", folder)
    stored = TypeAdapter(Poster)

    assert stored.validate_json(stored.dump_json(poster)) == poster
