"""A new version beside the one that is watched: made, killed in the middle, mended."""

from __future__ import annotations

from typing import Any

import pytest

from rushes.store import tasks
from tests.e2e.place import Place
from tests.e2e.viewer import Viewer
from tests.media.clips import clip
from tests.waiting import until


@pytest.fixture
def asset_id(place: Place) -> str:
    """A film of 36 seconds in two qualities."""
    return _add(place)


@pytest.mark.timeout(300)
def test_retranscode_never_fails_a_reader_even_when_it_is_killed(place: Place, asset_id: str):
    """000-074, 000-076, 000-079: the old version plays until the new one is whole, and after."""
    master = place.playlist(asset_id)
    before = master.read_text()
    first_job = place.asset(asset_id).job_id

    with Viewer(master) as viewer, place.app() as app:

        def chunks_done() -> int:
            job_id = place.asset(asset_id).job_id or ""
            found = [] if job_id == first_job else app.db.read(lambda tx: tasks.of_job(tx, job_id))
            return sum(task.state == "done" for task in found if task.step == "transcode")

        process = place.start("retranscode", asset_id)
        until(chunks_done, 120)
        process.kill()
        process.communicate()
        _several_looks(viewer)
        assert master.read_text() == before
        assert place.asset(asset_id).status == "ready"

        place.run("worker", "run", "--until-idle")
        assert "v2/" in master.read_text()
        _several_looks(viewer)

    assert viewer.problems == []
    assert place.asset(asset_id).version == 2
    assert place.ask("doctor", "--strict", "--deep")["findings"] == []


@pytest.mark.timeout(300)
def test_quality_that_fails_leaves_the_others_and_can_be_mended(place: Place):
    """000-031, 000-032, 000-075, 000-120: its error is shown, and only what is missing is made."""
    place.settings |= {
        "RUSHES_TEST": "1",
        "RUSHES_FAILPOINTS": "encode.480p=error",
        "RUSHES_MAX_RETRY_ATTEMPTS": "1",
    }
    asset_id = _add(place)

    failed = _qualities(place, asset_id)
    assert (failed["480p"]["status"], failed["360p"]["status"]) == ("failed", "completed")
    assert failed["480p"]["error_message"] == "TOOL_FAILED: failpoint encode.480p"
    assert place.asset(asset_id).status == "ready"
    assert "480p" not in place.playlist(asset_id).read_text()

    place.settings.clear()
    place.run("retranscode", asset_id, "--missing-only")

    assert {one["status"] for one in _qualities(place, asset_id).values()} == {"completed"}
    assert "480p" in place.playlist(asset_id).read_text()
    assert place.ask("doctor", "--strict", "--deep")["findings"] == []


def _add(place: Place) -> str:
    [added, *_] = place.lines("add", clip("half_minute"), "--no-text")
    return str(added["asset_id"])


def _qualities(place: Place, asset_id: str) -> dict[str, Any]:
    newest = place.ask("show", asset_id)["versions"][-1]
    return {one["quality"]: one for one in newest["qualities"]}


def _several_looks(viewer: Viewer) -> None:
    looks = viewer.looks
    until(lambda: viewer.looks > looks + 3)
