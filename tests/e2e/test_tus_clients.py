"""Other people's tus clients: a server that dies at 40 % costs them nothing but time."""

from __future__ import annotations

import hashlib
import os
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Page, sync_playwright
from tusclient.client import TusClient

from rushes.web import vendor
from tests.e2e.place import Place
from tests.e2e.server import Server, free_port, start
from tests.library.studio import HEAD
from tests.media.browser.test_hls import CHROMIUM, FLAGS
from tests.network import steady
from tests.system import missing
from tests.waiting import until

HERE = Path(__file__).parent / "browser"
MB, GB = 1_000_000, 1_000_000_000
PART = 4 * MB
OURS = {
    path.name: path for path in (HERE / "send.html", HERE / "send.js", vendor.FOLDER / "tus.min.js")
}
NAMED = re.compile(rf"({'|'.join(map(re.escape, OURS))})$")
SIZES = [
    pytest.param(64 * MB, marks=pytest.mark.timeout(120)),
    pytest.param(GB, marks=pytest.mark.soak),
]


@pytest.mark.parametrize("size", SIZES)
def test_tuspy_goes_on_after_the_server_died(place: Place, tmp_path: Path, size: int):
    """F-API-1: nothing is in the library before all has come, and all has come once."""
    film, port = _film(tmp_path, size), free_port()
    dying = start(place, port=port, failpoints=_dies_at_40_percent(size))
    tus = TusClient(f"{dying.address}/api/uploads", {"Authorization": f"Bearer {dying.key}"})
    sending = tus.uploader(
        file_stream=film.open("rb"),
        chunk_size=PART,
        retries=60,
        retry_delay=1,
        metadata={"filename": film.name, "text": "false"},
    )
    thread = threading.Thread(target=sending.upload)
    thread.start()
    dying.process.wait(size / MB + 60)
    dying.kill()
    assert place.ask("list")["items"] == []

    with _again(place, dying, port) as server:
        thread.join(size / MB + 60)

        sending.file_stream.close()
        assert not thread.is_alive()
        assert sending.offset == size
        _check(place, server, film, size)


@pytest.mark.parametrize("size", SIZES)
def test_browser_goes_on_after_it_and_the_server_died(place: Place, tmp_path: Path, size: int):
    """F-API-1: tus-js-client in a new page finds the upload of the old one, and its place."""
    if not CHROMIUM:
        missing("chromium")
    film, port = _film(tmp_path, size), free_port()
    dying = start(place, port=port, failpoints=_dies_at_40_percent(size))
    with _page(tmp_path, dying) as page:
        _send(page, film, dying.key)
        dying.process.wait(size / MB + 60)
        dying.kill()
        accepted = page.evaluate("seen.accepted")

    with _again(place, dying, port) as server, _page(tmp_path, server) as page:
        _send(page, film, server.key)
        page.wait_for_function("seen.ended", timeout=size / MB * 1000 + 60_000)
        seen = page.evaluate("seen")

        assert (seen["ended"], seen["found"]) == ("success", 1)
        assert 0 < accepted <= seen["began"] < size
        _check(place, server, film, size)


def _dies_at_40_percent(size: int) -> str:
    """When that many parts are on the disk, and the last of them is not counted yet."""
    return f"upload.after_write=kill@{size * 2 // 5 // PART}"


def _film(folder: Path, size: int) -> Path:
    path = folder / "holiday.mp4"
    with path.open("wb") as file:
        file.write(HEAD)
        for _ in range(size // MB):
            file.write(os.urandom(MB))
        file.truncate(size)
    return path


@contextmanager
def _again(place: Place, dead: Server, port: int) -> Iterator[Server]:
    """Another server where one has died."""
    server = start(place, port=port, key=dead.key)
    try:
        yield server
    finally:
        server.stop()


@contextmanager
def _page(folder: Path, server: Server) -> Iterator[Page]:
    """A page of the server's address, in a browser that keeps what it stores."""
    with steady(), sync_playwright() as playwright:
        browser = playwright.chromium.launch_persistent_context(
            folder / "profile", executable_path=CHROMIUM, args=FLAGS
        )
        page = browser.new_page()
        page.route(NAMED, lambda route: route.fulfill(path=OURS[Path(route.request.url).name]))
        page.goto(f"{server.address}/send.html")
        yield page
        browser.close()


def _send(page: Page, film: Path, key: str) -> None:
    page.set_input_files("input", film)
    page.evaluate("([key, part]) => { send(key, part); }", [key, PART])


def _check(place: Place, server: Server, film: Path, size: int) -> None:
    """One film, one job, every byte."""
    until(lambda: server.client.videos.list().items)
    [video] = server.client.videos.list().items
    shown = server.client.videos.show(video.asset_id)
    with film.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    assert (shown.bytes, shown.sha256) == (size, digest)
    assert len(server.client.jobs.list().items) == 1
    assert [*(place.data / "uploads").iterdir()] == []
