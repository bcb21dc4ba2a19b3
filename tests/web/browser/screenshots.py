"""Pictures of every page for docs/images/: `make screenshots`.

Opens each page of a newsroom (`scene.py`) light and dark, on a desktop and on a phone. A page is
added by a line in PAGES; `{council}` is the film with the most to read, `{match_job}` a job that
runs, `{queued_job}` one that waits.
"""

from __future__ import annotations

import io
import os
import tempfile
from collections.abc import Iterable
from contextlib import closing
from itertools import count, product
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from PIL import Image

from tests.media.browser.test_hls import CHROMIUM, FLAGS
from tests.web.browser.scene import Newsroom, newsroom
from tests.web.browser.site import NAME, PASSWORD

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page, ViewportSize

IMAGES = Path(__file__).parents[3] / "docs" / "images"
EMPTY = {"first": "/"}  # what somebody sees who comes for the first time
PAGES = {
    "login": "/login",  # the first: the others are for people who are in
    "library": "/",
    "video": "/v/{council}?t=98&end=118&q=council+votes",
    "search": "/search?q=council+votes",
    "clips": "/clips",
    "jobs": "/jobs",
    "job": "/jobs/{match_job}",
    "waiting": "/jobs/{queued_job}",
    "failed": "/failed",
    "workers": "/workers",
    "system": "/system",
    "docs": "/docs",
    "upload": "/upload",  # the last: what is sent is lost when somebody goes elsewhere by address
}
SIZES: dict[str, ViewportSize] = {
    "desktop": {"width": 1440, "height": 900},
    "phone": {"width": 390, "height": 844},
}
THEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
SETTLE_MS = 1_500  # pictures come, and bars move to where they belong
BEATS, BEAT_MS = 8, 1_200  # the curves of the workers grow while somebody looks
TO_SEND = {
    "match-second-half.mp4": ("match-once", 9_000_000),
    "phone-footage.mov": ("street-once", 5_000_000),
    "b-roll.mp4": ("harbour", 3_000_000),
}
SLOW_LINE = {
    "offline": False,
    "latency": 0,
    "downloadThroughput": -1,
    "uploadThroughput": 900_000,
}
QUALITY = 80


def main() -> None:
    """Fill a library, then take all pictures while some films are in work."""
    from playwright.sync_api import sync_playwright

    IMAGES.mkdir(exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as folder,
        newsroom(Path(folder)) as room,
        sync_playwright() as playwright,
        closing(playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)) as browser,
    ):
        take(browser, room, EMPTY, IMAGES)
        room.fill()
        take(browser, room, PAGES, IMAGES)


def take(browser: Browser, room: Newsroom, names: Iterable[str], target: Path) -> None:
    """Take the pictures of some pages in all sizes and looks."""
    for size, theme in product(SIZES, THEMES):
        with closing(_window(browser, size, theme)) as context:
            camera = Camera(room, context.new_page())
            camera.log_in(target / f"login-{size}-{theme}.webp")
            for name in names:
                if name != "login":
                    camera.show(name)
                    camera.keep(target / f"{name}-{size}-{theme}.webp")
            context.set_offline(True)  # what is being sent must not arrive


def _window(browser: Browser, size: str, theme: Literal["light", "dark"]) -> BrowserContext:
    """Open a window in which nothing turns: what moves stands upright in a picture."""
    return browser.new_context(
        viewport=SIZES[size], color_scheme=theme, locale="en-GB", reduced_motion="reduce"
    )


class Camera:
    def __init__(self, room: Newsroom, page: Page) -> None:
        self.room, self.page = room, page
        self.beats = count()

    def show(self, name: str) -> None:
        self.room.crew.beat()
        self._open((EMPTY | PAGES)[name].format(**self.room.known()))
        if name == "workers":
            for _ in range(BEATS):
                self.room.beat(next(self.beats))
                self.page.wait_for_timeout(BEAT_MS)
        if name == "upload":
            self._send()

    def log_in(self, target: Path) -> None:
        self._open(PAGES["login"])
        self.keep(target)
        self.page.get_by_label("Name").fill(NAME)
        self.page.get_by_label("Password").fill(PASSWORD)
        self.page.get_by_role("button", name="Sign in").click()
        self.page.locator(".shell").wait_for()

    def keep(self, target: Path) -> None:
        image = Image.open(io.BytesIO(self.page.screenshot()))
        image.convert("RGB").save(target, quality=QUALITY, method=6)

    def _open(self, path: str) -> None:
        self.page.goto(f"{self.room.site.home}{path}")
        self.page.locator("h1").first.wait_for()
        self.page.wait_for_timeout(SETTLE_MS)

    def _send(self) -> None:
        """Send some films over a slow line; one of them is in the library already."""
        films, folder = [], self.room.folder
        for name, (made, size) in TO_SEND.items():
            films.append(folder / name)
            films[-1].write_bytes((folder / f"{made}.mp4").read_bytes() + os.urandom(size))
        known = folder / "final-from-the-pool.mp4"
        known.write_bytes((folder / "swim.mp4").read_bytes())
        line = self.page.context.new_cdp_session(self.page)
        line.send("Network.emulateNetworkConditions", SLOW_LINE)
        self.page.locator("#files").set_input_files([films[0], known, *films[1:]])
        self.page.wait_for_timeout(4 * SETTLE_MS)


if __name__ == "__main__":
    main()
