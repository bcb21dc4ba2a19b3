"""The same with the system's ffmpeg: a choice of tests from the files beside, run once more.

`wheel` is the ffmpeg that every media test uses; here it is the other one.
"""

from __future__ import annotations

import pytest

from rushes.media import ffmpeg
from tests.media.test_chunks import (
    CLIPS,
    test_fields_become_whole_frames,
    test_hdr_film_becomes_plain_colour,
    test_progress_of_a_chunk_reaches_its_end,
    test_required_rung_that_fails_is_an_error,
    test_rotated_film_is_upright,
    test_sound_stays_beside_its_picture,
)
from tests.media.test_chunks import test_stitched_chunks_equal_the_whole as stitched_equals_whole
from tests.media.test_clip import (
    test_a_fast_clip_at_a_key_frame_is_exact,
    test_a_fast_clip_begins_where_it_was_said,
    test_a_fast_clip_stays_turned,
    test_a_whole_film_can_be_a_clip,
    test_an_exact_clip_begins_and_ends_with_the_frames_of_its_window,
)
from tests.media.test_ffmpeg import (
    test_failure_becomes_one_of_our_codes,
    test_progress_grows_to_the_end,
    test_transport_stream_is_read,
)
from tests.system import missing

__all__ = [
    "test_a_fast_clip_at_a_key_frame_is_exact",
    "test_a_fast_clip_begins_where_it_was_said",
    "test_a_fast_clip_stays_turned",
    "test_a_whole_film_can_be_a_clip",
    "test_an_exact_clip_begins_and_ends_with_the_frames_of_its_window",
    "test_failure_becomes_one_of_our_codes",
    "test_fields_become_whole_frames",
    "test_hdr_film_becomes_plain_colour",
    "test_progress_grows_to_the_end",
    "test_progress_of_a_chunk_reaches_its_end",
    "test_required_rung_that_fails_is_an_error",
    "test_rotated_film_is_upright",
    "test_sound_stays_beside_its_picture",
    "test_transport_stream_is_read",
]

KINDS = {"fps23_976", "vfr", "sar", "one_frame", "ts"}


@pytest.fixture(scope="session")
def wheel() -> ffmpeg.Ffmpeg:
    """The system's, whatever the name says."""
    found = ffmpeg.system()
    if found is None:
        missing("ffmpeg")
    return found


@pytest.mark.parametrize("name, frames, chunks", [kind for kind in CLIPS if kind[0] in KINDS])
def test_stitched_chunks_equal_the_whole(name, frames, chunks, folder):
    stitched_equals_whole(name, frames, chunks, folder)


def test_it_is_the_other_one(wheel):
    assert ffmpeg.find() == wheel
    assert wheel.source == "system"
    assert wheel != ffmpeg.wheel()
