"""One server with workers below /x, and one browser, for all tests of a module."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect, sync_playwright

from tests.e2e.place import Place
from tests.media.browser.test_hls import CHROMIUM, FLAGS
from tests.network import steady
from tests.system import missing
from tests.web.browser.site import Site, Visit, open_site

LANES = "default,media,encode=1,text"  # a film is encoded one part after the other
expect.set_options(timeout=20_000)  # a busy machine is no failure


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    settings = {"RUSHES_ROOT_PATH": "/x", "RUSHES_WORKER_LANES": LANES}
    place = Place(tmp_path_factory.mktemp("site"), settings)
    try:
        with open_site(place) as site:
            yield site
    finally:
        place.close()


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    if not CHROMIUM:
        missing("chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def visit(site: Site, chromium: Browser) -> Iterator[Visit]:
    """Somebody who is logged in; their browser must not have complained at the end."""
    with steady():
        visit = Visit(site, chromium)
        visit.log_in()
        yield visit
        visit.leave()


@pytest.fixture
def stranger(site: Site, chromium: Browser) -> Iterator[Visit]:
    """Somebody who is not logged in."""
    with steady():
        visit = Visit(site, chromium)
        yield visit
        visit.leave()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("films")
