"""A clip that plays at once: hls.js begins at its first frame, and has it to its last."""

from __future__ import annotations

import io
from dataclasses import replace
from itertools import repeat

import av
import pytest

from rushes.library import instant
from rushes.library.playback import View
from rushes.media.clip import Window
from rushes.media.rendition import MASTER
from tests.media.browser.test_hls import HALF_SECONDS, play
from tests.media.clips import clip
from tests.media.numbered import FPS, read_number
from tests.media.sets import Made, look_at, make

# of segments that last half a second; a third of a second has no end as a decimal
WANTED = Window(start_ms=1_333, end_ms=2_700)
FIRST, LAST, OFFSET_S = 40, 80, 1 / 3


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    folder = tmp_path_factory.mktemp("instant")
    path, source = look_at(clip("numbered"), folder)
    return make(path, source, folder / "set", HALF_SECONDS)


def view(made: Made) -> View:
    every = (*made.pictures, *made.sounds)
    return View(grid=made.grid, renditions=every, planned={}, segments=8, closed=True)


def test_instant_clip_holds_the_frames_of_its_window(made):
    """D2: by what is in the pictures, in every quality."""
    cut = instant.excerpt(view(made), WANTED)

    assert cut.start == pytest.approx(OFFSET_S)
    for rendition in cut.renditions[: len(made.pictures)]:
        with av.open(io.BytesIO(made.stitched(rendition))) as film:
            frames = film.decode(video=0)
            shown = [read_number(frame.to_ndarray(format="gray")) for frame in frames]
        skipped = round(cut.start * FPS)
        assert shown[skipped] == FIRST
        assert shown[skipped:][LAST - FIRST] == LAST
        assert len(shown) == 4 * FPS // 2  # four segments, not the film
    assert len({len(one.segments) for one in cut.renditions}) == 1


def test_instant_clip_plays_from_its_first_frame(made):
    """D2: a real player begins where the clip does, and reaches its end without an error."""
    seen = view(made)
    query = f"?start={WANTED.start_ms}&end={WANTED.end_ms}"
    playlists = {
        f"{one.name}/{instant.NAME}{query}": repeat(instant.media(seen, one.name, WANTED))
        for one in seen.renditions
    }
    (made.folder / MASTER).write_text(instant.master(seen, WANTED))

    watched = play(made.folder, playlists)

    assert watched["errors"] == []
    assert watched["ended"]
    # a busy browser may show the still at 0 for a moment before it has sought
    begun = next(time for time in watched["times"] if time > 0)
    assert begun == pytest.approx(OFFSET_S, abs=0.5 / FPS)
    assert watched["times"][-1] >= OFFSET_S + (LAST - FIRST) / FPS - 0.5 / FPS
    assert watched["duration"] == pytest.approx(2.0, abs=0.05)


def test_excerpt_of_the_end_is_what_is_there(made):
    """A film whose sound is longer has no pictures there: the clip ends with the last of them."""
    cut = instant.excerpt(view(made), replace(WANTED, end_ms=10**9))

    assert [one.segments[-1].number for one in cut.renditions] == [7] * len(cut.renditions)
