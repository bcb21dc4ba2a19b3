"""Watching, finding and cutting in a real Chromium, below /x: with the mouse, and without one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.network import steady
from tests.waiting import until
from tests.web.browser.playing import EXACT_S, NOW, PATIENT_MS, SHOWN, tab_to, until_so
from tests.web.browser.shelf import PAYLOADS, TURN_S, Shelf, fill
from tests.web.browser.site import NARROW, WIDE, Held, Site, Visit

pytestmark = pytest.mark.timeout(300)
SETTLE_MS = 300
CAPTIONS = """[...document.querySelector('.player video').textTracks]
  .some((one) => one.mode === 'showing' && one.activeCues?.length > 0)"""
AT_ONCE = """new MutationObserver((_, watcher) => {
  if (!document.querySelector(".clipform")) return;
  watcher.disconnect();
  dispatchEvent(new KeyboardEvent("keydown", { key: "L", shiftKey: true }));
}).observe(document, { childList: true, subtree: true })"""
PAGES = (
    "/v/{council}?t=2&q=votes",
    *(f"/v/{{council}}?tab={tab}" for tab in ("qualities", "clips", "jobs", "files")),
    "/v/{hostile}",
    "/v/nothing-here",
    "/search",
    "/search?q=votes",
    "/search?q=vot3s",
    "/clips",
)


@pytest.fixture(scope="module")
def shelf(site: Site, folder: Path) -> Shelf:
    return fill(site, folder)


@pytest.fixture
def lively(site: Site, chromium: Browser) -> Iterator[Visit]:
    """Somebody who lets things move."""
    with steady():
        visit = Visit(site, chromium)
        visit.log_in()
        visit.page.emulate_media(reduced_motion="no-preference")
        yield visit
        visit.leave()


def test_word_on_screen_is_found_and_enter_is_at_its_moment(visit: Visit, shelf: Shelf):
    """D1: type, Enter, and the film is at the frame on which it was read."""
    page = visit.open("/")
    page.keyboard.press("/")
    page.keyboard.type("votes")
    page.keyboard.press("Enter")
    hit = page.locator(".hit", has_text="Council votes today")
    expect(hit.get_by_role("link", name="Play here")).to_be_focused()
    expect(hit.locator("mark")).to_have_text("votes")
    expect(hit.locator(".boxes rect")).to_have_count(1)

    page.keyboard.press("Enter")

    expect(page.get_by_role("heading", name="Council meeting")).to_be_visible()
    until_so(page, SHOWN)
    assert page.evaluate(NOW) == pytest.approx(TURN_S, abs=EXACT_S)
    expect(page.locator(".player .boxes rect:not(.other)")).to_have_count(1)
    expect(page.locator(".transcript [aria-current]")).to_contain_text("Council votes today")
    expect(page.locator(".heat .hit").first).to_be_attached()


def test_chapters_of_the_file_stand_over_the_film_and_lead_there(visit: Visit, shelf: Shelf):
    page = visit.open(f"/v/{shelf.council}")
    until_so(page, SHOWN)
    chapters = page.get_by_role("list", name="Chapters").get_by_role("listitem")
    expect(chapters).to_have_text(["Rain", "The vote"])

    chapters.get_by_role("button", name="The vote").click()

    until_so(page, f"Math.abs({NOW} - {TURN_S}) < {EXACT_S}")


def test_clip_is_made_without_a_mouse(visit: Visit, shelf: Shelf):
    """R12: mark with I and O, move by a frame, hear where a fast one begins, make it, take it."""
    page = visit.open(f"/v/{shelf.council}")
    until_so(page, SHOWN)
    for key in ("5", "i", "6", ".", ".", ".", ".", "o"):
        page.keyboard.press(key)
        until_so(page, "!document.querySelector('.player video').seeking")
    begin, end = page.get_by_label("In I"), page.get_by_label("Out O")
    expect(begin).to_have_value("00:03.000")
    expect(end).to_have_value("00:03.800")

    tab_to(page, "Clip end")
    page.keyboard.press("ArrowLeft")
    expect(end).to_have_value("00:03.760")
    tab_to(page, "Start one frame later")
    page.keyboard.press("Enter")
    expect(begin).to_have_value("00:03.040")
    expect(page.get_by_label("Fast, starts at")).to_be_visible(timeout=PATIENT_MS)
    tab_to(page, "Make clip")
    page.keyboard.press("Enter")
    link = page.locator(".madeclip").get_by_role("link", name="Download")
    expect(link).to_be_visible(timeout=PATIENT_MS)
    tab_to(page, "Download", within=".madeclip")
    with page.expect_download() as download:
        page.keyboard.press("Enter")

    assert download.value.path().stat().st_size > 1_000


def test_grips_are_dragged_captions_shown_and_the_part_goes_round(visit: Visit, shelf: Shelf):
    """D16: by mouse; the film shows the frame under the grip, and the text that was read."""
    page = visit.open(f"/v/{shelf.council}?t=1&end=3")
    until_so(page, SHOWN)
    grip = page.get_by_role("slider", name="Clip end")
    grip.hover()
    page.mouse.down()
    box = grip.bounding_box()
    assert box is not None

    page.mouse.move(box["x"] - 60, box["y"] + 5, steps=4)
    page.mouse.up()
    expect(grip).not_to_have_attribute("aria-valuenow", "3000")
    reached = int(grip.get_attribute("aria-valuenow") or 0)
    assert 1_000 < reached < 3_000
    until_so(page, f"Math.abs({NOW} - {reached / 1000}) < {EXACT_S}")

    expect(page.get_by_role("button", name="CC, captions")).to_be_visible()
    page.keyboard.press("c")
    until_so(page, CAPTIONS)
    page.keyboard.press("Shift+L")
    page.keyboard.press("m")
    until_so(page, f"{NOW} < {(1_000 + reached) / 2000}")  # it went round


def test_film_floats_above_other_windows_and_comes_back(visit: Visit, shelf: Shelf):
    page = visit.open(f"/v/{shelf.council}")
    until_so(page, SHOWN)
    button = page.get_by_role("button", name="Picture in picture")

    button.click()
    until_so(page, "document.pictureInPictureElement !== null")
    button.click()

    until_so(page, "document.pictureInPictureElement === null")


def test_page_listens_to_keys_from_the_moment_it_is_shown(visit: Visit, shelf: Shelf):
    visit.context.add_init_script(AT_ONCE)

    page = visit.open(f"/v/{shelf.council}")

    expect(page.get_by_role("button", name="Loop the clip")).to_have_attribute(
        "aria-pressed", "true"
    )


def test_texts_that_could_not_be_read_are_said_to_be_and_read_again(visit: Visit, shelf: Shelf):
    """R1: an error is no film without texts."""
    visit.expected = ("503",)
    page = visit.page
    page.route("**/text", lambda route: route.fulfill(status=503, json={"code": "UNAVAILABLE"}))
    visit.open(f"/v/{shelf.council}")
    panel = page.get_by_role("region", name="On-screen text", exact=True)
    expect(panel.get_by_role("alert")).to_contain_text("UNAVAILABLE")

    page.unroute("**/text")
    panel.get_by_role("button", name="Try again").click()

    expect(panel).to_contain_text("Council votes today")


def test_every_page_is_whole_in_light_and_dark_and_on_a_small_phone(visit: Visit, shelf: Shelf):
    """B-HTTP-13: no error in the console, nothing of another host, no flaw that axe knows of."""
    visit.expected = ("404 (Not Found) " + visit.site.home + "/api/videos/nothing-here",)
    flaws = {}
    for path in PAGES:
        visit.page.set_viewport_size(WIDE)
        visit.open(path.format(council=shelf.council, hostile=shelf.hostile))
        visit.page.wait_for_timeout(SETTLE_MS)
        for theme in ("light", "dark"):
            visit.page.emulate_media(color_scheme=theme)
            flaws[path, theme] = visit.flaws()
        visit.page.set_viewport_size(NARROW)
        flaws[path, "narrow"] = visit.is_cut_off()

    assert not {where: what for where, what in flaws.items() if what}


def test_what_was_on_screen_stays_text(visit: Visit, shelf: Shelf):
    """B-OCR-1, B-HTTP-13: markup in titles and in frames is shown, and never run."""
    page = visit.open(f"/v/{shelf.hostile}")
    lines = page.locator(".transcript .words")
    expect(lines).to_have_count(len(PAYLOADS))
    expect(lines.nth(0)).to_have_text(PAYLOADS[0])
    expect(page.locator("h1")).to_have_text(PAYLOADS[1])
    expect(page).to_have_title(f"{PAYLOADS[1]} · Rushes")

    visit.open("/search?q=alert")
    said = page.locator(".said", has_text="<script>")
    expect(said.first).to_have_text(PAYLOADS[0])
    expect(said.first.locator("mark")).to_have_text("alert")
    visit.open("/search?q=payload")
    expect(page.locator(".said", has_text="{{7*7}}")).to_have_text(PAYLOADS[2])
    assert page.locator("img[src=x], main script").count() == 0


def test_nothing_found_says_what_may_be_meant(visit: Visit, shelf: Shelf):
    page = visit.open("/search?q=councl&conf=0.1")
    expect(page.get_by_text("No moment has this")).to_be_visible()
    expect(page.locator(".hit", has_text="Council votes today")).to_be_visible()

    page.get_by_role("button", name="Allow misread letters").click()

    expect(page.locator(".hit", has_text="Council votes today")).to_be_visible()
    assert "mode=fuzzy" in page.url


def test_words_go_on_as_they_are_typed(visit: Visit, shelf: Shelf):
    page = visit.open("/search")
    page.locator("#search").press_sequentially("counc")
    expect(page.get_by_role("option", name="council")).to_be_visible()
    expect(page.locator(".hit")).to_have_count(0)

    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")

    expect(page.locator("#search")).to_have_value("council")
    expect(page.locator(".hit", has_text="Council votes today")).to_be_visible()
    assert page.url.endswith("/x/search?q=council")


def test_word_that_was_gone_to_stays_chosen_when_more_are_found(visit: Visit, shelf: Shelf):
    page = visit.open("/search")
    asked = Held(page, "**/suggest?q=counc&*")
    page.locator("#search").press_sequentially("coun")
    expect(page.get_by_role("option", name="council")).to_be_visible()
    page.keyboard.press("c")
    answer = asked.wait()

    page.keyboard.press("ArrowDown")
    answer.fulfill(json={"items": ["councillor", "council"]})
    expect(page.get_by_role("option", name="councillor")).to_be_visible()
    page.keyboard.press("Enter")

    expect(page.locator("#search")).to_have_value("council")


def test_window_is_named_after_the_question_also_the_second_time(visit: Visit, shelf: Shelf):
    page = visit.open("/search?q=votes")
    expect(page).to_have_title("votes · Rushes")
    page.get_by_role("link", name="Library").first.click()
    expect(page).to_have_title("Library · Rushes")

    page.go_back()

    expect(page.locator("li.hit")).to_be_visible()
    expect(page).to_have_title("votes · Rushes")


def test_title_is_not_lost_when_two_people_edit_it(visit: Visit, shelf: Shelf):
    """000-126: with If-Match; deleting can be undone, and every window shows it."""
    visit.expected = ("412",)
    page = visit.open(f"/v/{shelf.hostile}")
    visit.site.server.client.videos.edit(shelf.hostile, title="Theirs")
    page.get_by_label("Title", exact=True).fill("Mine")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Somebody changed it meanwhile")).to_be_visible()
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Mine")

    other = visit.open("/", visit.context.new_page())
    card = other.locator(".card", has_text="Mine")
    expect(card).to_be_visible()
    page.bring_to_front()
    page.get_by_role("button", name="Delete", exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.get_by_text("This video is deleted")).to_be_visible()
    expect(card).to_have_count(0)
    page.get_by_role("button", name="Restore").click()

    expect(page.locator(".player")).to_be_visible()
    expect(card).to_be_visible()


def test_fast_clip_is_shown_to_its_end(visit: Visit, shelf: Shelf):
    """It begins at the key frame at 2 s, so its file lasts longer than what was asked for."""
    clips = visit.site.server.client.clips
    made = clips.create(shelf.council, 3_600, 3_800, padding_ms=0, mode="fast", title="Fast one")
    until(lambda: clips.show(made.clip_id).url, PATIENT_MS / 1000)
    page = visit.open("/clips")

    page.locator(".clipcard", has_text="Fast one").get_by_role("button", name="Play").click()

    until_so(page, "document.querySelector('.clipcard video[controls]')?.currentTime > 1.2")
    clips.delete(made.clip_id)


def test_moments_move_only_for_those_who_like_it(lively: Visit, shelf: Shelf):
    page = lively.open("/search?q=votes")
    moment = page.locator(".hit video")
    expect(moment).to_have_count(1)
    playing = "document.querySelector('.hit video')?.currentTime > 1.8"
    until_so(page, playing)
    assert page.evaluate("document.querySelector('.hit video').muted")

    page.emulate_media(reduced_motion="reduce")
    page.reload()

    expect(page.locator(".hit img")).to_be_visible()
    expect(moment).to_have_count(0)
