"""Where a film is cut: no frame twice, none forgotten, and sound that stays beside the pictures."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from rushes.media.plan import PACKET_S, Cut, Plan, make_grid, plan
from tests.media.sources import SOURCE, film

rates = st.builds(Fraction, st.integers(1, 240_000), st.sampled_from([1, 1000, 1001])).filter(
    lambda fps: Fraction(1) <= fps <= 240
)
lengths = st.integers(1, 2_000)


@given(fps=rates, frames=lengths, linear=st.booleans())
def test_chunks_cover_every_frame_once(fps, frames, linear):
    grid, chunks = _plan(fps, frames, linear)

    covered = [frame for chunk in chunks for frame in (chunk.first_frame, chunk.end_frame)]
    assert covered[0] == 0
    assert covered[-1] == frames
    assert covered[1:-1:2] == covered[2::2]
    numbers = [number for chunk in chunks for number in chunk.numbers]
    assert numbers == list(range(grid.segments))
    for chunk in chunks:
        assert chunk.first_frame == grid.segment(chunk.first_segment).start
        assert chunk.first_frame < chunk.end_frame
        assert chunk.first_frame % grid.gop_frames == 0
    assert [chunk.index for chunk in chunks] == list(range(len(chunks)))


@given(fps=rates, frames=lengths)
def test_sound_covers_the_film_beside_its_pictures(fps, frames):
    grid, _ = _plan(fps, frames)

    end = 0
    for number in range(grid.segments):
        packets, pictures = grid.audio_segment(number), grid.segment(number)
        assert packets.start == end
        assert len(packets) > 0
        assert 0 <= pictures.start / fps - packets.start * PACKET_S < PACKET_S
        end = packets.stop
    assert 0 <= end * PACKET_S - grid.duration < PACKET_S


@pytest.mark.parametrize(
    "seconds, linear, segments",
    [
        (120, False, [20]),
        (121, False, [10, 11]),
        (7_200, False, [10, 1_190]),
        (7_200, True, [1_200]),
    ],
)
def test_first_minute_of_the_sound_of_a_long_film_is_a_chunk_of_its_own(seconds, linear, segments):
    """001-024: what is watched early does not wait for all of the sound."""
    source = film(SOURCE, fps=Fraction(24), frames=24 * seconds)

    sounds = plan(replace(source, linear=linear)).sounds

    assert [chunk.segments for chunk in sounds] == segments
    assert [n for chunk in sounds for n in chunk.numbers] == list(range(sum(segments)))


@given(fps=rates, frames=lengths)
def test_no_segment_is_longer_than_the_target_says(fps, frames):
    grid, _ = _plan(fps, frames)

    for number in range(grid.segments):
        for duration in (
            len(grid.segment(number)) / fps,
            len(grid.audio_segment(number)) * PACKET_S,
        ):
            assert int(duration + Fraction(1, 2)) <= grid.target_s


@given(fps=rates)
def test_a_frame_is_a_whole_number_of_ticks(fps):
    grid = make_grid(fps, 1, Cut())

    assert Fraction(grid.timescale, grid.frame_ticks) == fps
    assert grid.timescale < 2**32


@pytest.mark.parametrize(
    "fps, gop_frames, segment_frames",
    [
        (Fraction(30), 60, 180),
        (Fraction(24000, 1001), 48, 144),
        (Fraction(60000, 1001), 120, 360),
        (Fraction(25), 50, 150),
        (Fraction(25, 2), 25, 75),
        (Fraction(1), 2, 6),
        (Fraction(1, 10), 1, 1),
    ],
)
def test_segments_are_whole_groups_of_about_two_and_six_seconds(fps, gop_frames, segment_frames):
    grid = make_grid(fps, 1000, Cut())

    assert (grid.gop_frames, grid.segment_frames) == (gop_frames, segment_frames)


def test_first_chunk_is_one_segment_and_the_others_are_five():
    """001-024: somebody can watch when six seconds are encoded."""
    _, chunks = _plan(Fraction(30), 30 * 100)

    assert [chunk.segments for chunk in chunks] == [1, 5, 5, 5, 1]


def test_damaged_film_is_one_chunk():
    _, chunks = _plan(Fraction(30), 30 * 100, linear=True)

    [chunk] = chunks
    assert (chunk.first_frame, chunk.end_frame, chunk.segments) == (0, 3000, 17)


def test_film_of_one_frame_is_one_chunk():
    grid, [chunk] = _plan(Fraction(30), 1)

    assert (chunk.end_frame, chunk.segments, grid.target_s) == (1, 1, 1)


def test_plan_survives_json():
    adapter = TypeAdapter(Plan)
    made = plan(film(SOURCE, fps=Fraction(24000, 1001), frames=1000))

    assert adapter.validate_json(adapter.dump_json(made)) == made


def _plan(fps, frames, linear=False):
    made = plan(replace(film(SOURCE, fps=fps, frames=frames), linear=linear))
    return made.grid, made.chunks
