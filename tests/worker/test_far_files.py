"""Files of a worker that has none of them: fetched once, sent once, through any cut."""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from rushes.api.run import serving
from rushes.domain.person import LOCAL
from rushes.domain.task import Claim
from rushes.errors import LeaseLost, Permanent, StageError
from rushes.library import fleet
from rushes.settings import Settings
from rushes.store.database import open_database
from rushes.wire.http import Http
from rushes.worker.cache import Cache
from rushes.worker.far_files import FarFiles
from rushes.worker.patience import Patience
from rushes.worker.protocol import Introduction, Welcome
from rushes.worker.remote import RemoteSession
from tests.api.house import open_house
from tests.client.server import Wire
from tests.disk import small_disk
from tests.library.studio import LANES, Studio

SIZE = 400_000


@dataclass
class Desk:
    """A far worker that holds the first task of a film."""

    studio: Studio
    url: str
    key: str
    owner: str
    claim: Claim
    cache: Cache

    def files(self, url: str | None = None) -> tuple[Http, FarFiles]:
        http = Http(url or self.url, self.key)
        return http, FarFiles(http, self.claim, self.cache, patience=Patience(20))

    @property
    def source_key(self) -> str:
        key: str = json.loads(self.claim.params)["source_key"]
        return key


@pytest.fixture
def desk(tmp_path: Path, sqlite_url: str) -> Iterator[Desk]:
    with ExitStack() as stack:
        db = stack.enter_context(closing(open_database(sqlite_url)))
        db.migrate()
        studio = Studio(db, tmp_path / "data")
        house, notifier = open_house(studio, Settings(data=tmp_path / "data"))
        stack.enter_context(closing(notifier))
        url = stack.enter_context(serving(house.application, "127.0.0.1", 0))
        stack.callback(house.application.state.context.hall.close)
        key = fleet.join(db, fleet.invite(db, LOCAL), fleet.Applicant(name="far")).text
        studio.add(content=os.urandom(SIZE))
        http = stack.enter_context(closing(Http(url, key)))
        hello = Introduction(lanes=LANES, kinds=["probe"])
        owner = http.ask("/worker/register", hello, Welcome).owner or ""
        cache = Cache(tmp_path / "far", most_bytes=1_000_000)
        [claim] = RemoteSession(http, owner, cache).exchange([], {"media": 1}).claims
        yield Desk(studio, url, key, owner, claim, cache)


def test_file_is_fetched_once_for_all_who_read_it(desk: Desk):
    """One copy on the disk, however many tasks read it at once."""
    http, files = desk.files()
    with closing(http):
        paths: list[Path] = []
        threads = [
            threading.Thread(target=lambda: paths.append(files.fetch(desk.source_key)))
            for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        files.close()

    assert len(set(paths)) == 1
    assert paths[0].read_bytes() == desk.studio.storage.path(desk.source_key).read_bytes()
    assert len([*paths[0].parent.iterdir()]) == 1


@pytest.mark.parametrize("cuts", [[-1], [-50_000, -150_000], [-500, -700, -900, -100_000]], ids=str)
def test_download_goes_on_where_it_was_cut(desk: Desk, cuts: list[int]):
    with Wire(desk.url, list(cuts), only=b"GET ") as wire:
        http, files = desk.files(wire.url)
        with closing(http):
            path = files.fetch(desk.source_key)

    assert path.read_bytes() == desk.studio.storage.path(desk.source_key).read_bytes()
    assert wire.cuts == []


@pytest.mark.parametrize("cuts", [[20_000], [-1, 200_000], [SIZE + 500], [-300, -300]], ids=str)
def test_upload_goes_on_where_it_was_cut(desk: Desk, cuts: list[int]):
    """Also if the answer to the last byte was lost."""
    content = b"\xff\xd8\xff" + os.urandom(SIZE)
    with Wire(desk.url, list(cuts), only=b"PUT ") as wire:
        http, files = desk.files(wire.url)
        with closing(http):
            path = files.folder("x") / "poster.jpg"
            path.write_bytes(content)
            [kept] = files.keep({"poster.jpg": path})
            files.close()

    assert desk.studio.storage.path(kept.key).read_bytes() == content
    assert kept.sha256 == hashlib.sha256(content).hexdigest()
    assert not path.parent.exists()
    assert wire.cuts == []


def test_full_disk_of_the_server_is_no_fault_of_the_work(desk: Desk):
    """F-DK-1: the attempt ends with the code that says why, and another one may do."""
    http, files = desk.files()
    with closing(http), small_disk(desk.studio.storage.root / "objects", "size=64k"):
        path = files.folder("x") / "poster.jpg"
        path.write_bytes(bytes(SIZE))

        with pytest.raises(StageError) as refused:
            files.keep({"poster.jpg": path})

    assert (refused.value.error_code, refused.value.retryable) == ("DISK_FULL", True)


def test_file_that_is_gone_fails_the_task_for_good(desk: Desk):
    desk.studio.storage.path(desk.source_key).unlink()
    http, files = desk.files()

    with closing(http), pytest.raises(Permanent) as refused:
        files.fetch(desk.source_key)

    assert refused.value.error_code == "SOURCE_MISSING"


@pytest.mark.parametrize("cuts", [[], [-1], [-1, -1]], ids=str)
def test_task_that_is_somebody_elses_is_given_up(desk: Desk, cuts: list[int]):
    """000-117: nothing is uploaded for it, also if the answers that said so were lost."""
    desk.claim = replace(desk.claim, epoch=desk.claim.epoch + 1)
    with Wire(desk.url, list(cuts), only=b"/artifacts/") as wire:
        http, files = desk.files(wire.url)
        path = files.folder("x") / "poster.jpg"
        path.write_bytes(b"x")
        with pytest.raises(LeaseLost):
            files.fetch(desk.source_key)
        with pytest.raises(LeaseLost):
            files.keep({"poster.jpg": path})
        http.close()


def test_sizes_are_told_without_a_download(desk: Desk):
    http, files = desk.files()
    with closing(http):
        sizes = files.sizes([desk.source_key])

    assert sizes == {desk.source_key: desk.studio.storage.path(desk.source_key).stat().st_size}
    assert [*desk.cache.scratch.parent.rglob("*.part")] == []


def test_cache_keeps_what_is_read_and_drops_the_rest(tmp_path: Path):
    cache = Cache(tmp_path, most_bytes=1_000)

    def get(key: str) -> Path:
        return cache.get(key, 400, lambda part: part.write_bytes(b"x" * 400) and None)

    busy, idle = get("busy"), get("idle")
    cache.release(idle)
    third = get("third")

    assert (busy.exists(), idle.exists(), third.exists()) == (True, False, True)
    assert cache.get("busy", 400, _must_not) == busy


def test_cache_goes_on_with_what_another_process_left(tmp_path: Path):
    first = Cache(tmp_path, most_bytes=1_000)
    (first.scratch / "task-1").mkdir()
    with pytest.raises(OSError, match="cut"):
        first.get("key", 4, _cut)

    again = Cache(tmp_path, most_bytes=1_000)
    path = again.get("key", 4, lambda part: part.write_bytes(part.read_bytes() + b"cd") and None)

    assert path.read_bytes() == b"abcd"
    assert [*again.scratch.iterdir()] == []


def _must_not(_part: Path) -> None:
    raise AssertionError("it was here already")


def _cut(part: Path) -> None:
    part.write_bytes(b"ab")
    raise OSError("cut")
