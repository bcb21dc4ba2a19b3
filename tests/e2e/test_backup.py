"""A backup that is taken while films are being made, brought back somewhere else."""

from __future__ import annotations

import pytest

from rushes.cli.reading import open_jobs
from tests.e2e.place import Place, slow
from tests.e2e.test_job_kill import chunks
from tests.e2e.viewer import Viewer
from tests.media.clips import clip
from tests.waiting import until


@pytest.mark.timeout(300)
def test_backup_under_load_is_whole_and_its_films_play(place: Place):
    """000-161: nobody stops, and what is in the copy can be watched and goes on."""
    [ready, *_] = place.lines("add", clip("small_minute"), "--no-text")
    place.settings |= slow(5_000)  # a backup takes less
    again = ("--no-text", "--json", "--duplicate", "allow")
    process = place.start("add", clip("small_minute"), *again)
    with place.app() as app:
        until(lambda: any(chunks(app, job, "done") for job in open_jobs(app, 1)), 120)

        place.run("backup", "create", place.root / "copy")

        assert process.poll() is None, "the film was ready before the backup"
    process.kill()
    process.communicate()
    other = Place(place.root / "other")
    other.root.mkdir()
    place.run("backup", "restore", place.root / "copy", "--into", other.data)

    viewer = Viewer(other.playlist(ready["asset_id"]))
    viewer.look()
    assert viewer.segments > 6
    other.run("worker", "run", "--until-idle")
    for video in other.ask("list")["items"]:
        assert video["status"] == "ready"
        film = Viewer(other.playlist(video["asset_id"]))
        film.look()
        assert film.problems == []
    assert other.ask("doctor", "--strict", "--deep")["findings"] == []
