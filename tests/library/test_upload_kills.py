"""A server that dies while a film comes in: the next one goes on, and nothing is there twice."""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import random
import signal
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

import pytest

from rushes.app import STAGES, App, open_app
from rushes.domain.person import Principal, Scope
from rushes.errors import Permanent
from rushes.library import collect, uploads
from rushes.library.incoming import Wish, get
from rushes.settings import Settings, load
from rushes.store import assets, jobs
from tests.library.studio import HEAD

MB = 1_000_000
ANN = Principal(name="ann", owner="ann", scopes=frozenset({Scope.UPLOAD}))
LARGE = HEAD + random.Random(9).randbytes(24 * MB)
_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(
    [*STAGES, "rushes.store.postgres", "rushes.store.sqlite", "rushes.library.uploads"]
)


def serve(settings: dict[str, str], id: str, film: str, is_up: Any) -> None:
    """The life of a server: it takes in what is missing, in requests of all sizes, and finishes."""
    sizes = random.Random()
    os.environ.update(settings)
    with open_app(load()) as app, Path(film).open("rb") as source:
        is_up.set()
        offset = get(app.library, ANN, id).offset
        source.seek(offset)
        while data := source.read(sizes.randrange(1, 2 * MB)):
            with uploads.receive(app.library, ANN, id, offset) as into:
                for start in range(0, len(data), 65_536):
                    into.write(data[start : start + 65_536])
            offset = into.offset
        uploads.finish(app.library, ANN, id)


class Place:
    """A library that servers of their own work on, and a film to be sent to it."""

    def __init__(self, app: App, url: str, film: Path) -> None:
        self.app, self.film = app, film
        self.settings = {
            "RUSHES_DATABASE_URL": url,
            "RUSHES_DATA": str(app.settings.data),
            "RUSHES_STORAGE_RESERVE_GB": "0",
            "RUSHES_TEST": "1",
        }

    def begin(self) -> str:
        wish = Wish(size=self.film.stat().st_size, filename="film.mp4")
        return uploads.create(self.app.library, ANN, wish).id

    def start(self, id: str, failpoint: str = "") -> ForkServerProcess:
        """Start a server, and return when it is about to take bytes in."""
        settings, is_up = {**self.settings, "RUSHES_FAILPOINTS": failpoint}, _context.Event()
        process = _context.Process(target=serve, args=(settings, id, str(self.film), is_up))
        process.start()
        assert is_up.wait(60)
        return process

    def check(self, id: str) -> None:
        """The film is whole, and there is one asset and one job."""
        [asset] = self.app.db.read(assets.list_page)
        [job] = self.app.db.read(jobs.list_page)
        path = self.app.library.storage.path(asset.source_key)
        row = get(self.app.library, ANN, id)
        assert path.read_bytes() == self.film.read_bytes()
        assert asset.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
        assert (asset.id, asset.job_id) == (id, job.id) == (row.asset_id, row.job_id)
        assert list((path.parents[2] / "uploads").iterdir()) == []


@pytest.fixture
def place(database_url: str, tmp_path: Path) -> Iterator[Place]:
    film = tmp_path / "film.mp4"
    film.write_bytes(LARGE)
    settings = Settings(data=tmp_path / "data", database_url=database_url, storage_reserve_gb=0)
    with open_app(settings) as app:
        yield Place(app, database_url, film)


@pytest.mark.parametrize(
    "failpoint", ["upload.after_write", "upload.after_rename", "upload.after_db"]
)
def test_server_killed_at_each_step_is_made_up_for(place: Place, failpoint: str) -> None:
    """F-API-1, F-API-2: whoever comes next goes on; nothing twice, nothing lost."""
    id, killed = place.begin(), 0

    for moment in ("1", "3") if failpoint == "upload.after_write" else ("1",):
        server = place.start(id, f"{failpoint}=kill@{moment}")
        server.join(60)
        killed += server.exitcode == -signal.SIGKILL

    last = place.start(id)
    last.join(60)
    assert (killed, last.exitcode) == (2 if failpoint == "upload.after_write" else 1, 0)
    place.check(id)
    again = uploads.finish(place.app.library, ANN, id)
    assert (again.asset_id, again.created) == (id, False)


def test_server_killed_again_and_again_while_it_receives(place: Place) -> None:
    """F-API-1: whatever the moment, the next one goes on where the database says."""
    moments = random.Random(7)
    id, offsets = place.begin(), [0]

    for _ in range(8):
        server = place.start(id)
        server.join(moments.uniform(0, 0.2))
        server.kill()
        server.join()
        offsets.append(get(place.app.library, ANN, id).offset)
    last = place.start(id)
    last.join(60)

    assert offsets == sorted(offsets)
    assert offsets[-1] > 0
    place.check(id)


def test_film_that_nobody_finishes_is_collected(place: Place) -> None:
    """F-API-2, I9: the server died between the rename and the commit, and the client went away."""
    id = place.begin()
    server = place.start(id, "upload.after_rename=kill")
    server.join(60)
    library = replace(place.app.library, keep_abandoned=timedelta(0))
    folder = library.storage.root / "originals" / id
    assert (server.exitcode, folder.exists()) == (-signal.SIGKILL, True)

    report = collect.run_once(library)

    assert (report.originals, folder.exists()) == (1, False)
    with pytest.raises(Permanent) as refused:
        uploads.finish(library, ANN, id)
    assert refused.value.error_code == "SOURCE_MISSING"
