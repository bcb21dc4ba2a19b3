"""A server as a browser meets it, and somebody who visits its pages."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import Browser, ConsoleMessage, Page, Request, Route

from rushes.domain.person import FIRST_ADMIN
from rushes.library import sessions
from tests.e2e.place import Place
from tests.e2e.server import Server, start
from tests.waiting import until

NAME, PASSWORD = "Ana Koval", "correct horse battery"
AXE = Path(__file__).parent / "vendor" / "axe.min.js"
NARROW = {"width": 320, "height": 700}
WIDE = {"width": 1280, "height": 800}
PROBLEMS = """async () => {
  const { violations } = await axe.run(document, { resultTypes: ["violations"] });
  return violations.map((one) => [one.id, one.nodes.map((node) => node.html.slice(0, 160))]);
}"""
PAINTED = """() => new Promise((done) => {
  setTimeout(done, 200); // a window behind others is not painted
  requestAnimationFrame(() => setTimeout(() => requestAnimationFrame(() => setTimeout(done))));
})"""
DROP = """([name, text]) => {
  const bytes = Uint8Array.from(atob(text), (one) => one.charCodeAt(0));
  const dataTransfer = new DataTransfer();
  dataTransfer.items.add(new File([bytes], name, { type: "video/mp4", lastModified: 1 }));
  for (const type of ["dragenter", "dragover", "drop"]) {
    const told = { bubbles: true, cancelable: true, dataTransfer };
    document.body.dispatchEvent(new DragEvent(type, told));
  }
}"""


@dataclass
class Site:
    server: Server
    place: Place
    root: str

    @property
    def home(self) -> str:
        return f"{self.server.address}{self.root}"

    def restart(self) -> None:
        """End the server and start it again where it was."""
        port = urlsplit(self.server.address).port
        self.server.stop()
        self.server = start(self.place, "up", port=port or 0, key=self.server.key)

    def login_link(self) -> str:
        with self.place.app() as app:
            return f"{self.home}/login#{sessions.make_link(app.db, FIRST_ADMIN)}"


@contextmanager
def open_site(place: Place) -> Iterator[Site]:
    """Start everything, and let one person in."""
    server, site = start(place, "up"), None
    try:
        person = {"name": NAME, "role": "admin", "password": PASSWORD}
        assert "user_id" in server.json("/api/users", "--json", json.dumps(person))
        site = Site(server, place, place.settings.get("RUSHES_ROOT_PATH", ""))
        yield site
        site.server.stop()
    finally:
        (site.server if site else server).kill()


class Held:
    """Requests of a page that do not reach the server until the test lets them go."""

    def __init__(self, page: Page, pattern: str) -> None:
        self.page = page
        self.routes: list[Route] = []
        page.route(pattern, self._keep)

    def wait(self, n: int = 1) -> Route:
        """Wait until there are that many; returns the first."""
        until(lambda: self.page.evaluate("1") and len(self.routes) >= n)
        return self.routes[0]

    def _keep(self, route: Route) -> None:
        self.routes.append(route)


class Visit:
    """A window of one person. What the browser complains of is kept until they leave."""

    def __init__(self, site: Site, browser: Browser) -> None:
        self.site = site
        self.context = browser.new_context(viewport=WIDE, reduced_motion="reduce")
        self.complaints: list[str] = []
        self.streams: list[str] = []
        self.expected: tuple[str, ...] = ()
        self.context.on("console", self._heard)
        self.context.on("weberror", lambda error: self.complaints.append(str(error.error)))
        self.context.on("request", self._asked)
        self.page = self.context.new_page()

    def log_in(self) -> None:
        """Begin a session without the form, which has tests of its own."""
        told = {"name": NAME, "password": PASSWORD}
        answer = self.context.request.post(f"{self.site.home}/api/login", data=told)
        assert answer.ok, answer.text()
        known = "if (origin !== 'null') localStorage.setItem('rushes.known', '1')"
        self.context.add_init_script(known)

    def open(self, path: str, page: Page | None = None) -> Page:
        """Go to a page and wait until it has its heading, and was painted."""
        shown = page or self.page
        shown.goto(f"{self.site.home}{path}")
        shown.locator("h1").first.wait_for()
        shown.evaluate(PAINTED)
        return shown

    def drop(self, name: str, film: bytes) -> None:
        """Drop a film on the page that is open."""
        self.page.evaluate(DROP, [name, base64.b64encode(film).decode()])

    def flaws(self) -> list[Any]:
        """Return what axe-core finds on the page as it is now."""
        if not self.page.evaluate("'axe' in window"):
            self.page.evaluate(AXE.read_text())
        found: list[Any] = self.page.evaluate(PROBLEMS)
        return found

    def is_cut_off(self) -> bool:
        """Whether anything reaches beyond the edge of the window, as it is drawn now."""
        self.page.evaluate(PAINTED)
        return bool(self.page.evaluate("document.documentElement.scrollWidth > innerWidth"))

    def leave(self) -> None:
        self.context.close()
        unexpected = [
            one for one in self.complaints if not any(text in one for text in self.expected)
        ]
        assert not unexpected, unexpected

    def _heard(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(f"{message.text} {message.location.get('url', '')}")

    def _asked(self, request: Request) -> None:
        asked = urlsplit(request.url)
        if asked.scheme in ("http", "https") and not request.url.startswith(self.site.home):
            self.complaints.append(f"asked {request.url}")
        if asked.path.endswith("/api/events"):
            self.streams.append(request.url)
