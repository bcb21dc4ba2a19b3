"""Which qualities are made: by the short side, even, never above the film, the lowest required."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from rushes.errors import Permanent
from rushes.media.ladder import LEVELS, Rung, level_of, rungs
from tests.media.sources import SOURCE, film

side = st.integers(16, 8192)


def _ladder(width: int, height: int, fps: Fraction = Fraction(30)) -> tuple[Rung, ...]:
    return rungs(film(SOURCE, display_width=width, display_height=height, fps=fps))


@pytest.mark.parametrize(
    "width, height, wanted",
    [
        (3840, 2160, "2160p 1440p 1080p 720p 480p 360p"),
        (1920, 1080, "1080p 720p 480p 360p"),
        (1080, 1920, "1080p 720p 480p 360p"),
        (1920, 1079, "720p 480p 360p"),
        (640, 360, "360p"),
        (320, 180, "180p"),
        (319, 179, "178p"),
        (16, 16, "16p"),
    ],
)
def test_rungs_go_by_the_short_side(width, height, wanted):
    """000-030: a quality above the source is not made."""
    assert " ".join(rung.name for rung in _ladder(width, height)) == wanted


@given(width=side, height=side)
def test_rungs_are_even_and_never_above_the_film(width, height):
    for rung in _ladder(width, height):
        assert rung.width % 2 == rung.height % 2 == 0
        assert 0 < rung.width <= width
        assert 0 < rung.height <= height
        assert rung.name == f"{min(rung.width, rung.height)}p"


@given(width=side, height=side)
def test_picture_keeps_its_shape(width, height):
    for rung in _ladder(width, height):
        assert abs(rung.width - Fraction(width * rung.height, height)) <= max(
            2, Fraction(2 * width, height)
        )


def test_known_sizes_are_the_usual_ones():
    sizes = [(rung.width, rung.height) for rung in _ladder(1920, 1080)]

    assert sizes == [(1920, 1080), (1280, 720), (854, 480), (640, 360)]


def test_lowest_rung_alone_is_required():
    """000-032, 000-120: each quality stands for itself; the film needs only the lowest."""
    required = [rung.required for rung in _ladder(1920, 1080)]

    assert required == [False, False, False, True]


@given(width=side, height=side, fps=st.sampled_from([Fraction(24), Fraction(60), Fraction(120)]))
def test_level_allows_the_picture(width, height, fps):
    for rung in _ladder(width, height, fps):
        [level] = [level for level in LEVELS if level.name == rung.level]
        blocks = -(-rung.width // 16) * -(-rung.height // 16)
        assert blocks * fps <= level.macroblocks_per_s
        assert rung.maxrate_bps <= level.high_profile_bps


@pytest.mark.parametrize(
    "width, height, fps, wanted",
    [
        *[(640, 360, 30, "3.0"), (1280, 720, 30, "3.1"), (1280, 720, 60, "3.2")],
        *[(1920, 1080, 30, "4.0"), (1920, 1080, 60, "4.2"), (3840, 2160, 60, "5.2")],
    ],
)
def test_levels_are_those_of_the_standard(width, height, fps, wanted):
    assert level_of(width, height, Fraction(fps), 1_000_000) == wanted


def test_faster_pictures_may_take_more_bits():
    calm, fast = _ladder(1920, 1080)[0], _ladder(1920, 1080, Fraction(60))[0]

    assert fast.maxrate_bps > calm.maxrate_bps


def test_picture_of_a_few_pixels_is_refused():
    with pytest.raises(Permanent, match="15x200 pixels") as caught:
        _ladder(15, 200)

    assert caught.value.error_code == "SOURCE_UNSUPPORTED"


def test_ladder_survives_json():
    adapter = TypeAdapter(tuple[Rung, ...])
    ladder = _ladder(1920, 1080)

    assert adapter.validate_json(adapter.dump_json(ladder)) == ladder
