"""The page in a real Chromium, below /x: without errors, for everybody, live, and hard to fool."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.library.studio import HEAD
from tests.media.clips import clip
from tests.waiting import until
from tests.web.browser.playing import PATIENT_MS
from tests.web.browser.site import NAME, NARROW, PASSWORD, WIDE, Visit

pytestmark = pytest.mark.timeout(300)
PAGES = ("/", "/upload", "/system", "/docs")
PAYLOAD = '<img src=x onerror="document.title=1">.mp4'
MB = 1_000_000
SLOW = {"offline": False, "latency": 0, "downloadThroughput": -1, "uploadThroughput": 3 * MB}
TENTH_OR_MORE = re.compile("^[1-9][0-9]$")
FAST = {**SLOW, "uploadThroughput": -1}
A_VIDEO = {
    "asset_id": "a1",
    "status": "processing",
    "title": "A film",
    "tags": [],
    "playable_at": "2026-01-01T12:00:00Z",
    "created_at": "2026-01-01T12:00:00Z",
    "work": {"percent": 0, "steps": {"thumbnail": {"done": 1}, "transcode": {"running": 1}}},
}
STORM = """async () => {
  const channel = new BroadcastChannel("rushes-live/x");
  const poster = document.querySelector(".develop");
  const seen = { changes: 0, frames: 0 };
  new MutationObserver(() => seen.changes++).observe(poster, { attributes: true });
  const count = () => { seen.frames++; requestAnimationFrame(count); };
  requestAnimationFrame(count);
  const send = (number) => {
    const data = { percent: number / 2, step: "transcode" };
    const event = { type: "task.progress", job_id: "j1", asset_id: "a1", data };
    channel.postMessage({ from: 1, number, state: "open", event });
  };
  for (let number = 0; number < 190; number++) {
    send(number);
    if (number % 4 === 3) await new Promise((done) => setTimeout(done, 20));
  }
  const shown = () => poster.style.getPropertyValue("--p");
  const rest = () => new Promise((done) => setTimeout(done, 20));
  for (let wait = 0; wait < 500 && shown() !== "94.5"; wait++) await rest();
  return { ...seen, shown: shown() };
}"""

DIGESTS = """async (main) => {
  const { sha256 } = await import(main.replace("main.js", "uploads/sha256.js"));
  const wrong = [];
  for (const size of [0, 1, 55, 56, 63, 64, 65, 119, 120, 1 << 20, (1 << 20) + 1, 3_000_057]) {
    const bytes = Uint8Array.from({ length: size }, (_, at) => 31 * at);
    const right = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
    const hex = [...right].map((byte) => byte.toString(16).padStart(2, "0")).join("");
    if ((await sha256(new Blob([bytes]))) !== hex) wrong.push(size);
  }
  return wrong;
}"""

KEY = """([key, timeStamp]) => {
  const event = new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true });
  Object.defineProperty(event, "timeStamp", { value: timeStamp });
  document.body.dispatchEvent(event);
}"""


@pytest.mark.parametrize("path", PAGES)
def test_page_is_whole_in_light_and_dark_and_on_a_small_phone(visit: Visit, path: str):
    """B-HTTP-13: no error in the console, nothing of another host, no flaw that axe knows of."""
    visit.open(path)
    flaws = {"light": visit.flaws()}
    visit.page.emulate_media(color_scheme="dark")
    flaws["dark"] = visit.flaws()
    visit.page.set_viewport_size(NARROW)

    assert flaws == {"light": [], "dark": []}
    assert not visit.is_cut_off()


def test_stranger_logs_in_and_goes_on_where_they_wanted_to(stranger: Visit):
    stranger.expected = ("401",)
    page = stranger.open("/system?a=1")
    assert page.url.endswith("/x/login?next=%2Fsystem%3Fa%3D1")
    assert stranger.flaws() == []
    page.emulate_media(color_scheme="dark")
    assert stranger.flaws() == []
    page.set_viewport_size(NARROW)
    assert not stranger.is_cut_off()

    _enter(page, "wrong wrong wrong")
    expect(page.get_by_role("alert")).to_contain_text("UNAUTHENTICATED")
    _enter(page, PASSWORD)

    expect(page.get_by_role("heading", name="System")).to_be_visible()
    assert page.url.endswith("/x/system?a=1")


@pytest.mark.parametrize("next", ["//evil.example", "https:evil", "javascript:alert(1)", "/\\evil"])
def test_login_leads_nowhere_else(stranger: Visit, next: str):
    """B-HTTP-17."""
    page = stranger.page
    page.goto(f"{stranger.site.home}/login?next={next}")

    _enter(page, PASSWORD)

    expect(page.get_by_role("heading", name="Library")).to_be_visible()
    assert page.url == f"{stranger.site.home}/"


def test_login_link_works_once_and_leaves_the_address_bar(stranger: Visit):
    stranger.expected = ("401",)
    link, page = stranger.site.login_link(), stranger.page

    page.goto(link)
    expect(page.get_by_role("heading", name="Library")).to_be_visible()
    assert page.url == f"{stranger.site.home}/"
    stranger.context.clear_cookies()
    page.goto(link)

    expect(page.get_by_role("alert")).to_be_visible()
    assert "#" not in page.url


def test_letter_leads_to_a_page_only_behind_a_g_also_when_the_page_is_new(visit: Visit):
    page = visit.open("/docs")
    page.evaluate(KEY, ["j", 500])
    page.evaluate(KEY, ["s", 5_000])
    assert page.url.endswith("/x/docs")

    page.evaluate(KEY, ["g", 6_000])
    page.evaluate(KEY, ["s", 6_500])

    expect(page.get_by_role("heading", name="System")).to_be_visible()


def test_dropped_film_is_a_card_in_every_window_and_its_name_is_text(visit: Visit):
    """000-126, B-HTTP-13: drop, row, card, playable; two windows, one stream, no reload."""
    other = visit.context.new_page()
    visit.open("/")
    visit.open("/", other)
    visit.page.evaluate("localStorage.setItem('rushes.upload', JSON.stringify({text: 'false'}))")
    visit.open("/upload")

    visit.drop(PAYLOAD, clip("silent").read_bytes())

    row = visit.page.locator(".files .row", has_text="<img src=x")
    expect(row.get_by_role("link", name="Open job")).to_be_visible()
    card = other.locator(".card", has_text="<img src=x")
    expect(card).to_be_visible()
    expect(card.locator(".poster img").first).to_be_visible(timeout=PATIENT_MS)
    expect(card.locator(".status")).to_have_count(0, timeout=PATIENT_MS)
    expect(row.get_by_text("Ready.")).to_be_visible()
    assert other.title() == "Library · Rushes"
    assert len(visit.streams) == 2  # the other window took over when the first was loaded anew


def test_same_film_is_noticed_before_it_is_sent(visit: Visit):
    visit.open("/upload")
    visit.drop(PAYLOAD, clip("portrait").read_bytes())
    expect(visit.page.get_by_role("link", name="Open job")).to_be_visible()
    sent: list[str] = []
    visit.context.on("request", lambda request: sent.append(f"{request.method} {request.url}"))

    visit.drop("again.mp4", clip("portrait").read_bytes())

    row = visit.page.locator(".files .row", has_text="again.mp4")
    expect(row.get_by_text("Already in the library")).to_be_visible()
    expect(row.get_by_role("link")).to_contain_text("<img src=x")
    expect(row.locator(".poster video")).not_to_have_js_property("videoWidth", 0)
    assert not [one for one in sent if "/api/uploads" in one]


def test_large_film_that_is_there_already_stops_on_its_way(visit: Visit, folder: Path):
    visit.expected = ("409",)  # to whoever deletes it before the server has missed the rest
    film = folder / "large.mp4"
    film.write_bytes(HEAD + os.urandom(70 * MB))
    page = visit.open("/upload")
    page.locator("#files").set_input_files(film)
    expect(page.get_by_role("link", name="Open job")).to_be_visible()
    page.get_by_role("button", name="Take large.mp4 off the list").click()
    network = visit.context.new_cdp_session(page)
    network.send("Network.emulateNetworkConditions", SLOW)

    page.locator("#files").set_input_files(film)

    row = page.locator(".files .row", has_text="large.mp4")
    expect(row.get_by_role("progressbar")).to_be_visible()
    expect(row.get_by_text("Already in the library")).to_be_visible(timeout=PATIENT_MS)
    expect(row.get_by_role("link")).to_have_text("large")
    expect(row.get_by_role("button", name="Upload anyway")).to_be_visible()


def test_digest_of_pieces_is_that_of_the_whole(visit: Visit):
    page = visit.open("/docs")

    wrong = page.evaluate(DIGESTS, page.locator("script[type=module]").get_attribute("src"))

    assert wrong == []


def test_upload_goes_on_after_a_reload(visit: Visit, folder: Path):
    """F-API-1: what has come is not sent again."""
    film = folder / "long.mp4"
    film.write_bytes(HEAD + os.urandom(45 * MB))  # fifteen seconds, of which few are needed
    visit.open("/upload")
    network = visit.context.new_cdp_session(visit.page)
    network.send("Network.emulateNetworkConditions", SLOW)
    visit.page.locator("#files").set_input_files(film)
    row = visit.page.locator(".files .row", has_text="long.mp4")
    expect(row.get_by_role("progressbar")).to_have_attribute("aria-valuenow", TENTH_OR_MORE)

    visit.page.on("dialog", lambda dialog: dialog.accept())
    visit.page.reload()
    expect(row.get_by_text("Choose the file again")).to_be_visible()
    network.send("Network.emulateNetworkConditions", FAST)
    with visit.page.expect_request(lambda request: request.method == "PATCH") as resumed:
        row.locator("input").set_input_files(film)

    assert int(resumed.value.headers["upload-offset"]) > MB
    expect(row.get_by_role("link", name="Open job")).to_be_visible()


def test_two_hundred_events_a_second_are_at_most_one_render_per_frame(visit: Visit):
    visit.expected = ("404",)  # the poster of a film that is not there
    visit.open("/docs")  # this window has the stream, the next one listens to it
    page = visit.context.new_page()
    page.route(
        "**/api/videos?*",
        lambda route: route.fulfill(json={"items": [A_VIDEO], "next_cursor": None}),
    )
    visit.open("/", page)
    page.bring_to_front()
    page.locator(".develop").wait_for()

    seen = page.evaluate(STORM)

    assert seen["shown"] == "94.5"
    assert 1 < seen["changes"] <= seen["frames"] + 1
    assert len(visit.streams) == 1


def test_keys_open_search_pages_and_the_list_of_keys(visit: Visit):
    page = visit.open("/")
    page.keyboard.press("/")
    expect(page.get_by_role("combobox")).to_be_focused()
    page.keyboard.press("Escape")
    page.locator("main").focus()

    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("Keyboard shortcuts")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    until(lambda: page.keyboard.press("g") or page.keyboard.press("s") or "system" in page.url)

    expect(page.get_by_role("heading", name="System", exact=True)).to_be_visible()
    page.go_back()
    expect(page.get_by_role("heading", name="Library", exact=True)).to_be_visible()


def test_stray_percent_in_an_address_is_no_end(visit: Visit):
    visit.expected = ("Failed to load resource",)
    page = visit.open("/v/100%")

    expect(page.get_by_role("link", name="Library").first).to_be_visible()


def test_theme_is_kept(visit: Visit):
    page = visit.open("/")
    page.get_by_role("button", name="Theme").click()
    page.get_by_role("menuitemradio", name="Dark").click()
    page.reload()

    assert page.evaluate("document.documentElement.dataset.theme") == "dark"


def test_small_screen_has_its_own_bar(visit: Visit):
    page = visit.open("/")
    page.set_viewport_size(NARROW)
    page.get_by_role("button", name="More").click()
    page.get_by_role("link", name="System").click()

    expect(page.get_by_role("heading", name="System", exact=True)).to_be_visible()
    assert not visit.is_cut_off()
    page.set_viewport_size(WIDE)


def _enter(page: Page, password: str) -> None:
    page.get_by_label("Name").fill(NAME)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Sign in").click()
