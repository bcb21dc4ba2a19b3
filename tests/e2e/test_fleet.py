"""The same film through one worker process and through four."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from rushes.engine.doctor import examine
from rushes.store import tasks
from tests.e2e.place import Place
from tests.e2e.viewer import named
from tests.media.clips import clip

NARROW = {"RUSHES_WORKER_LANES": "media=1,encode=1", "RUSHES_WORKER_SLOTS": "1"}


@pytest.mark.timeout(300)
def test_four_workers_make_the_playlist_that_one_makes(place: Place, postgres_url: str):
    """000-160, 001-019, 003-002: whoever does the chunks, the film is the same."""
    place.settings |= {"RUSHES_DATABASE_URL": postgres_url, **NARROW}
    alone = _made_by(place, 1)
    together = _made_by(place, 4)

    assert _published(place, alone) == _published(place, together)
    with place.app() as app:
        job_id = place.asset(together).job_id or ""
        rows = app.db.read(lambda tx: tasks.attempts(tx, job_id))
        assert len({row["owner"] for row in rows}) > 1
        assert {row["outcome"] for row in rows} == {"done"}
        assert examine(app.engine, strict=True).findings == []


def _made_by(place: Place, workers: int) -> str:
    options = ("--no-text", "--no-wait", "--duplicate", "allow")
    [added] = place.lines("add", clip("small_two_minutes"), *options)
    processes = [
        place.start("worker", "run", "--until-idle", "--name", f"{workers}-{number}")
        for number in range(workers)
    ]
    ends = [process.communicate(timeout=240) for process in processes]
    assert [process.returncode for process in processes] == [0] * workers, ends
    assert place.asset(added["asset_id"]).status == "ready"
    return str(added["asset_id"])


def _published(place: Place, asset_id: str) -> dict[str, str]:
    """Return {name: digest} of the playlists of a film and of all files that they name."""
    folder = place.playlist(asset_id).parent
    playlists = [place.playlist(asset_id)]
    playlists += [folder / name for name in named(playlists[0].read_text())]
    files = [path.parent / name for path in playlists[1:] for name in named(path.read_text())]
    return {str(path.relative_to(folder)): _digest(path) for path in {*playlists, *files}}


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
