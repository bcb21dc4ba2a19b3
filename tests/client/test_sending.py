"""Films on their way to a server: in parts, through cuts, once."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from rushes.api.desk.wishes import Wishes
from rushes.client import Client, tus
from rushes.domain.person import LOCAL
from rushes.errors import DuplicateOf, Invalid, KeyReused, Permanent, Unavailable
from rushes.library import uploads
from rushes.library.incoming import Wish
from rushes.library.pipelines import Options
from rushes.settings import Settings
from tests.client.server import Served, Wire, served
from tests.library.studio import HEAD

SIZE = 300_000
PART = 64_000


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small parts, and no long waits between two tries."""
    monkeypatch.setattr(tus, "PART", PART)
    monkeypatch.setattr(tus, "CHUNK", 8_192)
    monkeypatch.setattr(tus, "FIRST_PAUSE_S", 0.01)


@pytest.fixture
def film(tmp_path: Path) -> Path:
    path = tmp_path / "holiday.mp4"
    path.write_bytes(HEAD + os.urandom(SIZE - 1))
    return path


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_film_arrives_whole_with_all_that_was_said_of_it(far: Client, film: Path):
    """As it would by being added here."""
    seen: list[tuple[int, int]] = []

    job = far.videos.add(
        film,
        title="A day, at home",
        tags=["home", "2026"],
        qualities=["480p"],
        languages=["de", "en"],
        text=False,
        priority=8,
        progress=lambda sent, total: seen.append((sent, total)),
    )

    video, told = far.videos.show(job.asset_id), far.jobs.show(job.job_id)
    assert (video.sha256, video.bytes, video.filename) == (sha256(film), SIZE, "holiday.mp4")
    assert (video.title, video.tags) == ("A day, at home", ["home", "2026"])
    assert (told.priority, "index" in told.steps, job.created) == (8, False, True)
    assert seen == sorted(seen)
    assert seen[-1] == (SIZE, SIZE)


@pytest.mark.parametrize(
    "cuts",
    [
        [-1],
        [20_000, 100_000, 5_000],
        [100, 200, 300, 400],
        [-1, 70_000, -1],
        [SIZE + 3_000],
        [-700, -900, -1_100, -1_300],
    ],
    ids=str,
)
def test_cut_wire_costs_nothing_but_time(server: Served, film: Path, cuts: list[int]):
    """F-API-1, F-API-2: whatever is lost, a request or its answer, it is one film, and whole."""
    with Wire(server.url, list(cuts)) as wire, Client(wire.url, key=server.key) as client:
        job = client.videos.add(film, text=False)

        assert wire.cuts == []
    [video] = Client.at(server.app.library).videos.list().items
    assert (video.asset_id, video.sha256) == (job.asset_id, sha256(film))
    assert video.job_id == job.job_id


def test_film_survives_a_server_that_starts_again(settings: Settings, film: Path):
    """F-API-1: what had arrived need not be sent again."""
    wishes: Wishes = {"text": False, "idempotency_key": "k"}
    with (
        served(settings) as first,
        Client(first.url, key=first.key) as client,
        pytest.raises(Interrupted),
    ):
        client.videos.add(film, **wishes, progress=interrupt_at(150_000))
    sent: list[int] = []

    port = int(first.url.rpartition(":")[2])
    with served(settings, port=port), Client(first.url, key=first.key) as client:
        job = client.videos.add(film, **wishes, progress=lambda now, _: sent.append(now))

    assert sent[0] >= PART
    with served(settings) as last:
        [video] = Client.at(last.app.library).videos.list().items
        assert (video.asset_id, video.sha256) == (job.asset_id, sha256(film))


class Interrupted(Exception):
    """Somebody pressed Ctrl-C."""


def interrupt_at(limit: int):
    def progress(sent: int, _total: int) -> None:
        if sent >= limit:
            raise Interrupted

    return progress


def test_server_that_stays_away_is_told_after_a_while(
    server: Served, film: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(tus, "TRIES", 3)

    with (
        Wire(server.url, [100] * 50) as wire,
        Client(wire.url, key=server.key) as client,
        pytest.raises(Unavailable, match="was cut"),
    ):
        client.videos.add(film)

    assert wire.connections == 3


def test_same_key_sends_a_film_once(far: Client, film: Path):
    """003-063: also from another process, which knows nothing of the first one."""
    first = far.videos.add(film, idempotency_key="k")
    again = far.videos.add(film, idempotency_key="k")

    assert (first.created, again.created) == (True, False)
    assert (again.job_id, again.asset_id) == (first.job_id, first.asset_id)
    with pytest.raises(KeyReused):
        far.videos.add(film, idempotency_key="k", title="another")


def test_film_that_is_there_is_refused_as_here(client: Client, film: Path):
    first = client.videos.add(film)

    with pytest.raises(DuplicateOf) as refused:
        client.videos.add(film)

    assert refused.value.detail["asset_id"] == first.asset_id
    assert client.videos.add(film, duplicate="allow").asset_id != first.asset_id


@pytest.mark.parametrize(
    "content, code", [(b"", "SOURCE_EMPTY"), (b"once upon a time", "SOURCE_UNSUPPORTED")]
)
def test_file_that_is_no_film_is_refused_as_here(client: Client, film: Path, content, code):
    film.write_bytes(content)

    with pytest.raises(Permanent) as refused:
        client.videos.add(film)

    assert refused.value.error_code == code
    assert client.videos.list().items == []


def test_file_that_is_no_film_is_not_even_announced(server: Served, film: Path):
    film.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(1_000))

    with (
        Wire(server.url, []) as wire,
        Client(wire.url, key=server.key) as client,
        pytest.raises(Permanent, match="a picture"),
    ):
        client.videos.add(film)

    assert wire.connections == 0


def test_upload_that_is_whole_becomes_a_film(server: Served, far: Client, film: Path):
    """F-API-2: its server died between the last byte and the film."""
    wish = Wish(size=SIZE, filename=film.name, options=Options(text=False), idempotency_key="k")
    library = server.app.library
    arrived = uploads.create(library, LOCAL, wish)
    with uploads.receive(library, LOCAL, arrived.id, 0) as sink:
        sink.write(film.read_bytes())

    job = far.videos.add(film, text=False, idempotency_key="k")

    assert (job.asset_id, job.created) == (arrived.id, True)
    assert far.videos.get(job.asset_id).sha256 == sha256(film)


def test_file_that_is_missing_is_refused(far: Client, tmp_path: Path):
    with pytest.raises(Permanent):
        far.videos.add(tmp_path / "missing.mp4")


def test_file_that_becomes_shorter_is_not_taken(far: Client, film: Path):
    """B-UP: what arrived of it is no film."""

    def shorten(sent: int, _total: int) -> None:
        if sent >= PART:
            os.truncate(film, PART)

    with pytest.raises(Permanent) as refused:
        far.videos.add(film, progress=shorten)

    assert refused.value.error_code == "SOURCE_TRUNCATED"
    assert far.videos.list().items == []


def test_tag_that_a_server_would_take_for_two_is_refused(far: Client, film: Path):
    with pytest.raises(Invalid):
        far.videos.add(film, tags=["home, sweet home"])

    assert far.videos.list().items == []
