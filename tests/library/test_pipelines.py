"""The graphs: what follows what, what is read, and every choice of qualities."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain, combinations

import pytest

from rushes.domain.artifact import Artifact
from rushes.domain.asset import AssetStatus
from rushes.library import pipelines, playback, upload
from rushes.library.pipelines import Options
from rushes.library.upload import Upload
from rushes.media import ladder
from rushes.media.sample import Frame, Part, Sample
from rushes.stages.sample import _batches
from tests.library.studio import FILM, VIDEO, Studio

RUNGS = ("1080p", "720p", "480p", "360p")
CHOICES = list(chain.from_iterable(combinations(RUNGS, size) for size in range(1, 5)))


def test_text_is_read_beside_the_encoding_and_not_after_it():
    """002-004, 002-013 (C77: after `probe`, waiting for no quality), 002-020, 002-028."""
    steps = pipelines.film("asset", "originals/asset/source.mp4", Options())

    assert steps["sample"].after == ("probe",)
    assert steps["ocr"].after == ("sample",)
    assert "ocr" in steps["index"].after
    assert "transcode" not in set(chain(steps["sample"].after, steps["index"].after))


def test_languages_and_least_confidence_are_chosen_with_the_film():
    """002-021: what `ocr` is given beside its frames."""
    steps = pipelines.film("asset", "key", Options(languages=("de", "fr")))

    options = steps["ocr"].params["options"]
    assert options["languages"] == ("de", "fr")
    assert options["min_confidence"] == 0.6


def test_frames_are_dealt_out_in_batches_that_leave_no_gap():
    """002-064: at most sixty a task, each committed by itself."""
    frames = tuple(
        Frame(t_ms=number * 100, path="x.jpg", width=64, height=36) for number in range(130)
    )
    made = Sample(part=Part(start_ms=0, end_ms=20_000), frames=frames, cuts_ms=(), looked_at=130)

    batches = list(_batches(made, [Artifact("frames/x.jpg", "objects/a/1-1/x.jpg", 1, "0" * 64)]))

    assert [len(batch.times_ms) for batch in batches] == [60, 60, 10]
    assert [batch.until_ms for batch in batches] == [6_000, 12_000, 20_000]
    assert sum((batch.times_ms for batch in batches), ()) == tuple(one.t_ms for one in frames)


@pytest.mark.parametrize("wanted", CHOICES, ids="+".join)
def test_every_choice_of_qualities_is_published_as_it_was_made(
    studio: Studio, wanted: tuple[str, ...]
):
    """000-162: each combination of the ladder, from the upload to the master playlist."""
    hd = replace(VIDEO, width=1920, height=1080, display_width=1920, display_height=1080)
    studio.source = replace(FILM, video=hd)
    assert tuple(rung.name for rung in ladder.rungs(studio.source)) == RUNGS

    chosen = Upload(path=studio.film(), options=Options(qualities=wanted, text=False))
    film = upload.add(studio.library, chosen).asset_id
    studio.finish()

    assert studio.asset(film).status is AssetStatus.READY
    view = studio.db.read(lambda tx: playback.view(tx, film, 1))
    names = set(playback.playlists(view))
    assert names == {f"{name}/playlist.m3u8" for name in (*wanted, "audio/en")} | {"master.m3u8"}
