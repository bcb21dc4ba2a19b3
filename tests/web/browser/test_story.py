"""A day with the page in a real Chromium: from a dropped film to a clip in the hand."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.media.clips import clip
from tests.waiting import until
from tests.web.browser.playing import EXACT_S, NOW, PATIENT_MS, SHOWN, tab_to, until_so
from tests.web.browser.shelf import TURN_S, film
from tests.web.browser.site import Visit

pytestmark = pytest.mark.timeout(300)
SECONDS = 40  # three parts, of which the last can be held back
LENGTH = "document.querySelector('.player video').duration"
HEIGHT = "document.querySelector('.player video').videoHeight"


def test_dropped_film_is_watched_while_it_is_made_then_searched_and_cut(visit: Visit, folder: Path):
    """000-159, 002-037: drop, play, find a word, be at its moment, have it as a clip."""
    visit.expected = ("ERR_", "502", "503", "Failed to load resource")  # while the server is away
    page, other = visit.open("/"), visit.open("/", visit.context.new_page())
    page.bring_to_front()
    visit.drop("Council meeting.mp4", film(folder, SECONDS, "854:480").read_bytes())

    assert _plays_before_it_is_done(visit)
    _watch_in_another_quality(page)
    expect(_card(other)).to_be_visible()
    visit.site.restart()
    expect(page.locator(".transcript")).to_contain_text("Council votes", timeout=PATIENT_MS)

    _go_to_the_moment(page, "votes")
    assert page.evaluate(NOW) == pytest.approx(TURN_S, abs=EXACT_S)
    assert _clip_of(visit, "votes")[4:8] == b"ftyp"
    expect(_card(other).locator(".status")).to_have_count(0)


def test_film_waits_for_a_drained_worker_is_killed_retried_and_made(visit: Visit):
    """004-042: the page says why it waits; what was stopped goes on when asked to."""
    workers, page = visit.open("/workers", visit.context.new_page()), visit.open("/upload")
    worker = workers.locator(".worker").first
    worker.get_by_role("button", name="Drain").click()
    expect(worker).to_contain_text("Draining")
    page.bring_to_front()
    visit.drop("waits.mp4", clip("silent").read_bytes())
    row = page.locator(".files .row", has_text="waits.mp4")
    row.get_by_role("link", name="Open job").click()
    expect(page.locator(".note")).to_contain_text("drain")

    page.get_by_role("button", name="Kill").click()
    page.get_by_role("button", name="Stop the job").click()
    expect(page.get_by_role("heading", name="Stopped by Ana Koval")).to_be_visible()
    page.get_by_role("button", name="Go on with it").click()
    workers.bring_to_front()
    worker.get_by_role("button", name="Resume").click()

    expect(page.locator(".jobhead .status")).to_have_text("Completed", timeout=PATIENT_MS)


def _plays_before_it_is_done(visit: Visit) -> bool:
    """Open the film from its card while its end is still to be made."""
    page, client = visit.page, visit.site.server.client
    until(lambda: any(one.playable_at for one in client.videos.list().items), PATIENT_MS / 1000)
    client.queue.pause("transcode")
    card = _card(page)
    expect(card.get_by_text("Playable now")).to_be_visible(timeout=PATIENT_MS)
    card.get_by_role("link").first.click()
    until_so(page, SHOWN)
    begun: float = page.evaluate(LENGTH)
    page.keyboard.press("m")
    page.keyboard.press("k")
    until_so(page, f"{NOW} > 0.5")
    client.queue.resume("transcode")
    until_so(page, f"{LENGTH} > {SECONDS - 1}")
    return begun < SECONDS


def _watch_in_another_quality(page: Page) -> None:
    other = "360p" if page.evaluate(HEIGHT) != 360 else "480p"
    quality = page.locator(".ctl [aria-label^=Quality]")
    quality.click()
    page.get_by_role("menuitemradio").filter(has_text=other).last.click()
    until_so(page, f"{HEIGHT} === {other[:-1]}")
    expect(quality).to_have_text(other)


def _go_to_the_moment(page: Page, word: str) -> None:
    page.keyboard.press("/")
    page.keyboard.type(word)
    page.keyboard.press("Enter")
    expect(page.get_by_role("link", name="Play here")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Council meeting")).to_be_visible()
    until_so(page, SHOWN)


def _clip_of(visit: Visit, word: str) -> bytes:
    """Make a clip of the first hit by C, and fetch its file, all without a mouse."""
    page = visit.open(f"/search?q={word}")
    page.locator(".hit").first.wait_for()
    page.keyboard.press("c")
    link = page.locator(".madeclip").get_by_role("link", name="Download")
    expect(link).to_be_visible(timeout=PATIENT_MS)
    tab_to(page, "Download", within=".madeclip")
    with page.expect_download() as download:
        page.keyboard.press("Enter")
    return download.value.path().read_bytes()


def _card(page: Page) -> Locator:
    return page.locator(".card", has_text="Council meeting")
