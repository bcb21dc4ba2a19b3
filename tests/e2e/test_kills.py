"""A whole process killed with -9, again and again, while somebody watches its film."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest

from rushes.cli.reading import open_jobs
from rushes.store import tasks
from tests.e2e.place import PATIENT, Place, Traced
from tests.e2e.viewer import Viewer
from tests.media.clips import clip

KILLS = 20
ONE_AT_A_TIME = {"RUSHES_WORKER_LANES": "media=2,encode=1,text=1", **PATIENT}


@pytest.mark.parametrize(
    "film, options, longest_s",
    [
        pytest.param("two_minutes", ["--no-text"], 2.0, marks=pytest.mark.timeout(300)),
        pytest.param("two_minutes_hd", [], 60.0, marks=pytest.mark.soak),
    ],
)
def test_film_survives_twenty_kills_and_no_viewer_notices(
    place: Place, tmp_path: Path, film: str, options: list[str], longest_s: float
):
    """000-088, 000-142, 000-161, 001-025: only the chunks in flight are encoded again."""
    place.settings |= ONE_AT_A_TIME
    moments = random.Random(7)
    path, starts = clip(film), 0
    added = [_add(place, path, options)]
    with Viewer(place.playlist(added[0])) as viewer:
        for number in range(KILLS):
            if not _is_open(place):  # faster than its killer: another one, then
                added.append(_add(place, path, options))
            worker = Traced(place, tmp_path / f"{number}.strace", "worker", "run", "--until-idle")
            time.sleep(moments.uniform(0.4, longest_s))
            worker.kill()
            starts += worker.encoder_starts()
        last = Traced(place, tmp_path / "last.strace", "worker", "run", "--until-idle")
        last.process.communicate(timeout=1800)
        starts += last.encoder_starts()
        assert last.process.returncode == 0
        viewer.look()

    assert viewer.problems == []
    assert viewer.segments > 20
    chunks = attempts = 0
    for asset_id in added:
        assert place.asset(asset_id).status == "ready"
        ends = _ends_of_chunks(place, asset_id)
        assert all(outcomes.index("done") == len(outcomes) - 1 for outcomes in ends.values())
        chunks += len(ends)
        attempts += sum(map(len, ends.values()))
    assert chunks <= starts <= attempts <= chunks + KILLS
    assert place.ask("doctor", "--strict", "--deep")["findings"] == []


def _add(place: Place, path: Path, options: list[str]) -> str:
    [added] = place.lines("add", path, *options, "--no-wait", "--duplicate", "allow")
    return str(added["asset_id"])


def _is_open(place: Place) -> bool:
    with place.app() as app:
        return bool(open_jobs(app, 1))


def _ends_of_chunks(place: Place, asset_id: str) -> dict[int, list[str]]:
    """Return how the attempts at each chunk of a film ended, in order."""
    with place.app() as app:
        job_id = place.asset(asset_id).job_id or ""
        chunks = [
            task.id
            for task in app.db.read(lambda tx: tasks.of_job(tx, job_id))
            if task.step == "transcode"
        ]
        rows = app.db.read(lambda tx: tasks.attempts(tx, job_id))
    return {task: [row["outcome"] for row in rows if row["task_id"] == task] for task in chunks}
