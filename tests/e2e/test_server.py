"""`rushes up` and nothing but curl: send, follow, watch, read, stop, try again."""

from __future__ import annotations

import base64
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.place import Place
from tests.e2e.server import Server, running
from tests.e2e.viewer import named
from tests.media.clips import clip
from tests.system import missing
from tests.waiting import until

TUS = ("-H", "Tus-Resumable: 1.0.0")
OFFSETS = (*TUS, "-H", "Content-Type: application/offset+octet-stream")


@pytest.fixture
def server(place: Place) -> Iterator[Server]:
    if shutil.which("curl") is None:
        missing("curl")
    # long enough for a look at every part, however fast the machine is
    with running(place, "up", failpoints="encode.360p=delay:1000") as server:
        yield server


@pytest.mark.timeout(300)
def test_film_goes_in_by_curl_and_comes_out_as_a_stream(server: Server, tmp_path: Path):
    """000-071, 000-126, 004-027, R5: cut off, followed, watched while it grows."""
    job_id, video_id = _send_in_parts(server, clip("two_minutes"), tmp_path)
    told = tmp_path / "events"
    with told.open("wb") as stream:
        events = subprocess.Popen(
            server.command(f"/api/events?job={job_id}&since=0-0", "-N"), stdout=stream
        )
        try:
            sizes = _watch_it_grow(server, job_id, video_id)
            until(lambda: b"event: job.completed" in told.read_bytes(), 30)
        finally:
            events.kill()
            events.wait()

    assert sizes == sorted(sizes)
    assert len(set(sizes)) > 1, "it was only seen when it was whole"
    assert "event: task.done" in told.read_text()
    assert server.json(f"/api/jobs/{job_id}")["status"] == "completed"


@pytest.mark.timeout(300)
def test_job_is_stopped_and_tried_again_as_the_documents_have_it(server: Server):
    """004-028, 004-042, 002-059: the lines of the documents, with an id and a key put in."""
    added = _send(server, clip("two_minutes"))
    job = f"/api/jobs/{added['job_id']}"
    until(lambda: server.json(job)["status"] == "running", 60)

    killed = server.json(job, "-X", "DELETE")
    shown = server.json(job)
    retried = server.json(f"{job}/retry", "-X", "POST")

    assert killed["status"] == "killed"
    assert (shown["status"], shown["killed_by"], shown["killed_by_name"]) == (
        *("killed", "user"),
        "admin",
    )
    assert retried["job_id"] == added["job_id"]
    until(lambda: server.json(job)["status"] in ("running", "completed"), 60)


@pytest.mark.timeout(300)
def test_text_of_a_film_is_read_over_http(server: Server):
    """002-035: as JSON and as subtitles, once it is there."""
    video = f"/api/videos/{_send(server, clip('one_frame'), 'text=true')['asset_id']}"

    until(lambda: server.json(video)["searchable_at"], 120)

    assert isinstance(server.json(f"{video}/text")["items"], list)
    assert server.curl(f"{video}/text.vtt").startswith("WEBVTT")


def _send_in_parts(server: Server, film: Path, folder: Path) -> tuple[str, str]:
    """Send a film by tus, cut the connection off in the middle, and go on where it ended."""
    told = {"filename": b"film.mp4", "text": b"false"}
    pairs = ",".join(f"{name} {base64.b64encode(text).decode()}" for name, text in told.items())
    length = f"Upload-Length: {film.stat().st_size}"
    about = ("-H", length, "-H", f"Upload-Metadata: {pairs}")
    place = server.headers("/api/uploads", "-X", "POST", *TUS, *about)["location"]
    first = ("-X", "PATCH", *OFFSETS, "-H", "Upload-Offset: 0", "--data-binary", f"@{film}")
    cut = subprocess.Popen(server.command(place, *first, "--limit-rate", "300k"))
    until(lambda: int(server.headers(place, "-I", *TUS)["upload-offset"]) > 0, 30)
    cut.kill()
    cut.wait()

    arrived: dict[str, int] = {}

    def is_free() -> bool:
        offset = int(server.headers(place, "-I", *TUS)["upload-offset"])
        rest = folder / "rest"
        rest.write_bytes(film.read_bytes()[offset:])
        sent = ("-X", "PATCH", *OFFSETS, "-H", f"Upload-Offset: {offset}")
        answer = server.headers(place, *sent, "--data-binary", f"@{rest}")
        arrived.setdefault("first", offset)
        return "rushes-job" in answer

    until(is_free, 30)
    assert 0 < arrived["first"] < film.stat().st_size
    done = server.json(place)
    return done["job_id"], done["asset_id"]


def _send(server: Server, film: Path, *fields: str) -> Any:
    forms = [f"file=@{film}", *(fields or ("text=false",))]
    return server.json("/api/videos", *(word for form in forms for word in ("-F", form)))


def _watch_it_grow(server: Server, job_id: str, video_id: str) -> list[int]:
    """Play the film as a player does. Returns how many segments there were at each look."""
    sizes: list[int] = []

    def is_whole() -> bool:
        master = server.curl(f"/api/videos/{video_id}/master.m3u8")
        if not master.startswith("#EXTM3U"):
            return False
        playlist = next(name for name in named(master) if re.search(r"\dp/", name))
        text = server.curl(f"/api/videos/{video_id}/{playlist}")
        folder = playlist.rpartition("/")[0]
        sizes.append(len(named(text)))
        last = server.headers(f"/api/videos/{video_id}/{folder}/{named(text)[-1]}")
        assert last["content-type"].startswith("video/"), last
        return "#EXT-X-ENDLIST" in text

    until(is_whole, 200)
    return sizes
