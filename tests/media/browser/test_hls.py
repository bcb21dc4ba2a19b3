"""The hls.js of the page, in a real Chromium: every frame is shown, across every switch."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

from rushes.media import playlist
from rushes.media.rendition import MASTER, playlist_name
from rushes.web import vendor
from tests.media.clips import clip
from tests.media.sets import SHORT, Made, look_at, make
from tests.network import steady
from tests.system import missing

HERE = Path(__file__).parent
CHROMIUM = shutil.which("chromium") or ""
FLAGS = [
    *("--no-sandbox", "--disable-quic", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync"),
]
PATIENCE_MS = 40_000
HALF_SECONDS = replace(SHORT, segment_s=Fraction(1, 2), chunk_segments=4)


class Files(SimpleHTTPRequestHandler):
    """Serves the player and the set. `playlists` are texts that change from request to request."""

    def __init__(self, *args: object, made: Path, playlists: dict[str, Iterator[str]]) -> None:
        self._made = made
        self._playlists = playlists
        super().__init__(*args)

    def translate_path(self, path: str) -> str:
        name = path.partition("?")[0].lstrip("/")
        if name.startswith("set/"):
            return str(self._made / name.removeprefix("set/"))
        return str((vendor.FOLDER if name == "hls.mjs" else HERE) / name)

    def do_GET(self) -> None:
        changing = self._playlists.get(self.path.removeprefix("/set/"))
        if changing is None:
            return super().do_GET()
        text = next(changing).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)
        return None

    def log_message(self, *args: object) -> None:
        pass


@contextmanager
def serving(made: Path, playlists: dict[str, Iterator[str]]) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Files, made=made, playlists=playlists))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def play(made: Path, playlists: dict[str, Iterator[str]]) -> dict[str, object]:
    """Play a set from beginning to end and return what the page saw."""
    with steady(), serving(made, playlists) as address, sync_playwright() as playwright:
        if not CHROMIUM:
            missing("chromium")
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = browser.new_page()
        page.goto(f"{address}/player.html")
        page.wait_for_function("seen.ended || seen.errors.length", timeout=PATIENCE_MS)
        seen: dict[str, object] = page.evaluate("seen")
        browser.close()
    return seen


@pytest.fixture
def made(folder: Path) -> Made:
    path, source = look_at(clip("fps30"), folder)
    made = make(path, source, folder / "set", HALF_SECONDS)
    made.write_playlists()
    return made


def test_every_frame_is_shown_across_forced_switches(made):
    """002-009: no error, a switch at most segments, every frame counted, no jump in time."""
    seen = play(made.folder, {})

    assert seen["errors"] == []
    assert seen["ended"]
    assert len(seen["levels"]) == made.grid.segments == 8
    assert sum(one != other for one, other in pairwise(seen["levels"])) >= 3
    assert seen["frames"] == made.grid.frames
    assert seen["times"][0] < HALF_SECONDS.segment_s
    assert seen["times"] == sorted(seen["times"])
    assert abs(seen["duration"] - made.grid.duration) < 0.05


def test_film_that_is_still_encoded_plays_to_its_end(made):
    """A player that comes early sees the playlists grow, and starts at the beginning."""

    def growing(rendition):
        yield from (playlist.media(rendition, made.grid, end=end) for end in (3, 5))
        while True:
            yield playlist.media(rendition, made.grid)

    every = (*made.pictures, *made.sounds)
    playlists = {playlist_name(one.name): growing(one) for one in every}
    planned = {one.name: 1_000_000 for one in every}
    (made.folder / MASTER).write_text(playlist.master(every, made.grid, planned=planned))

    seen = play(made.folder, playlists)

    assert seen["errors"] == []
    assert seen["frames"] == made.grid.frames
    assert seen["times"][0] < HALF_SECONDS.segment_s
