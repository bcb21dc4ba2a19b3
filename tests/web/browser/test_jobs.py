"""The pages of operators in a real Chromium: jobs, one job, what failed, workers; live and true."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from rushes.domain.graph import Step
from rushes.domain.task import Claim
from tests.web.browser.crew import KIND, Crew, crew_at, film, step
from tests.web.browser.site import NARROW, Held, Site, Visit

pytestmark = pytest.mark.timeout(300)
PAYLOAD = '<img src=x onerror="document.title=1">'
CHUNKS, MANY, MOST_ROWS = 24, 10_000, 120
STORM = """async ([job, task]) => {
  const channel = new BroadcastChannel("rushes-live/x");
  const seen = { moves: 0, cells: 0, frames: 0 };
  const watch = (name, element) => new MutationObserver(() => seen[name]++)
    .observe(element, { attributes: true, subtree: true, childList: true, characterData: true });
  watch("moves", document.querySelector(".node.is-running .bar"));
  watch("cells", document.querySelector(".chunks"));
  const count = () => { seen.frames++; requestAnimationFrame(count); };
  requestAnimationFrame(count);
  for (let number = 0; number < 200; number++) {
    const data = { task_id: task, step: "transcode", progress: number / 2, percent: 50 };
    const event = { type: "task.progress", job_id: job, data };
    channel.postMessage({ from: 1, number, state: "open", event });
    if (number % 4 === 3) await new Promise((done) => setTimeout(done, 20));
  }
  const rest = () => new Promise((done) => setTimeout(done, 20));
  for (let wait = 0; wait < 500 && seen.moves < 2; wait++) await rest();
  return seen;
}"""


TO_THE_END = """async () => {
  const foot = document.querySelector(".tablefoot");
  let rows = 0;
  while (/more/.test(foot.textContent)) {
    scrollTo(0, document.body.scrollHeight);
    await new Promise(requestAnimationFrame);
    rows = Math.max(rows, document.querySelectorAll(".windowed .row").length);
  }
  return { rows, foot: foot.textContent };
}"""

QUICK = """() => {
  const rows = [...document.querySelectorAll(".windowed .row")];
  const following = rows[rows.findIndex((row) => row.ariaCurrent) + 1].dataset.id;
  const event = new KeyboardEvent("keydown", { key: "j", bubbles: true });
  document.activeElement.dispatchEvent(event);
  document.activeElement.click(); // what Enter does to a link
  return following;
}"""


@dataclass
class Scene:
    """Something of everything: a job that runs, others that wait, failed and were stopped."""

    crew: Crew
    gpu: str
    held: list[Claim]
    running: str
    failed: str
    waiting: str


@pytest.fixture(scope="module")
def scene(site: Site) -> Iterator[Scene]:
    with crew_at(site.place) as crew:
        crew.worker(PAYLOAD)
        gpu = crew.worker("gpu-1", 4, has=[PAYLOAD])
        crew.beat()
        broken = crew.job(PAYLOAD)
        [task] = crew.take(gpu)
        crew.fail(task, "DISK_FULL", f"no space left {PAYLOAD}")
        running = crew.job("The match", film(CHUNKS), priority=8)
        crew.finish(crew.take(gpu))
        crew.finish(crew.take(gpu, 5))
        waiting = crew.job("The speech")
        yield Scene(crew, gpu, crew.take(gpu, 4), running, broken, waiting)


@pytest.mark.parametrize(
    "path",
    [
        "/jobs",
        "/jobs?status=failed&error_code=DISK_FULL",
        "/jobs/{running}?step=transcode",
        "/jobs/{waiting}",
        "/jobs/{failed}?task={task}",
        "/failed",
        "/workers",
    ],
)
def test_page_is_whole_for_everybody_and_takes_no_text_for_markup(
    visit: Visit, scene: Scene, path: str
):
    """B-HTTP-13: axe finds nothing, light or dark; nothing is cut off; nothing moves, nothing runs.

    Labels, errors, names and capabilities of workers have a script in them.
    """
    task = visit.site.server.client.jobs.show(scene.failed).tasks[0].task_id
    page = visit.open(path.format(**vars(scene), task=task))
    page.locator(".row .say, .node, .errcard, .worker").first.wait_for()
    flaws = {"light": visit.flaws()}
    page.emulate_media(color_scheme="dark")
    flaws["dark"] = visit.flaws()
    page.set_viewport_size(NARROW)

    assert flaws == {"light": [], "dark": []}
    assert not visit.is_cut_off()
    assert page.evaluate("document.getAnimations().length") == 0
    assert page.title() != "1"
    assert page.locator("img").count() == 0


def test_dialogs_and_menus_are_whole_for_everybody(visit: Visit, scene: Scene):
    """R12: what lies over a page is looked at like the page."""
    scene.crew.beat()
    flaws = {}
    page = visit.open(f"/jobs/{scene.running}")
    for name in ("Kill", "As commands"):
        page.get_by_role("button", name=name).click()
        flaws[name] = _flaws_of_dialog(visit)
    page.keyboard.press("?")
    flaws["keys"] = _flaws_of_dialog(visit)
    visit.open("/workers")
    page.get_by_role("button", name="Add worker").click()
    flaws["Add worker"] = _flaws_of_dialog(visit)
    _worker(page).get_by_role("button", name="More for gpu-1").click()
    expect(page.get_by_role("menuitem", name="Keys")).to_be_focused()
    flaws["menu"] = visit.flaws()

    assert not {where: what for where, what in flaws.items() if what}


def test_killed_with_a_reason_in_one_window_is_told_in_the_other(visit: Visit, scene: Scene):
    """004-042: who, why, and how far; without a reload."""
    job = scene.crew.job("The rehearsal")
    other = visit.open("/jobs", visit.context.new_page())
    row = _row(other, "The rehearsal")
    page = visit.open(f"/jobs/{job}")

    page.get_by_role("button", name="Kill").click()
    page.get_by_label("Reason").fill("wrong card")
    expect(page.get_by_role("dialog")).to_contain_text(f"rushes jobs kill {job[-8:]}")
    page.get_by_role("button", name="Stop the job").click()

    expect(page.get_by_role("heading", name="Stopped by Ana Koval: wrong card")).to_be_visible()
    expect(row).to_contain_text("By Ana Koval: wrong card")
    page.get_by_role("button", name="Go on with it").click()
    expect(row.get_by_text("Queued")).to_be_visible()


def test_cause_is_retried_as_a_whole_and_leaves_the_page_in_every_window(
    visit: Visit, scene: Scene
):
    """002-059: one cause, all its jobs, one button."""
    crew = scene.crew
    labels = ["Reel 1", "Reel 2"]
    for label in labels:
        crew.job(label, priority=10)
        [task] = crew.take(scene.gpu)
        crew.fail(task, "SOURCE_CORRUPT", "the film ends at 00:41")
    other = visit.open("/failed", visit.context.new_page())
    page = visit.open("/failed")
    card = page.locator(".errcard", has_text="SOURCE_CORRUPT")
    expect(card).to_contain_text("The film ends at 00:41")
    expect(card.get_by_role("link", name="Show all 2")).to_be_visible()

    card.get_by_role("button", name="Retry all 2").click()

    expect(card).to_have_count(0)
    expect(other.locator(".errcard", has_text="SOURCE_CORRUPT")).to_have_count(0)
    crew.finish(crew.take(scene.gpu, 2))


def test_part_that_failed_is_looked_at_and_tried_again_alone(visit: Visit, scene: Scene):
    """R4: the cell, its error, its attempts; then what was done by then is shown as kept."""
    crew = scene.crew
    job = crew.job("The parade", film(3), priority=10)
    crew.finish(crew.take(scene.gpu))
    [first, second, *_] = parts = crew.take(scene.gpu, 3)
    crew.finish([first])
    crew.fail(second, "FFMPEG_FAILED", "exit 228")
    crew.finish(parts[2:])
    page = visit.open(f"/jobs/{job}")

    page.get_by_role("button", name=f"{second.step} {second.item + 1}: failed").click()
    panel = page.locator(".taskpanel")
    expect(panel).to_contain_text("FFMPEG_FAILED")
    expect(panel).to_contain_text("attempt 1 on gpu-1")
    expect(panel).to_contain_text(f"--task {second.id}")
    page.get_by_role("button", name="As commands").click()
    expect(page.get_by_role("dialog")).to_contain_text(f"rushes jobs show {job[-8:]}")
    page.keyboard.press("Escape")
    panel.get_by_role("button", name="Retry this part").click()

    expect(page.get_by_text("kept from an earlier try")).to_be_visible()
    expect(
        page.get_by_role("button", name=f"{second.step} {second.item + 1}: to do")
    ).to_be_visible()
    visit.site.server.client.jobs.kill(job)


def test_parts_that_are_found_later_appear_by_themselves(visit: Visit, scene: Scene):
    """D11: a step that fans out has its cells as soon as its number is known."""
    crew = scene.crew
    steps = {"probe": step(), "parts": Step(kind=KIND, after=("probe",), each="pieces")}
    job = crew.job("The concert", steps, priority=10)
    page = visit.open(f"/jobs/{job}")
    expect(page.locator(".node")).to_have_count(2)

    crew.finish(crew.take(scene.gpu), pieces=[{"number": number} for number in range(5)])

    expect(page.locator(".chunks button")).to_have_count(5)
    expect(page.locator(".events")).to_contain_text("planned")
    visit.site.server.client.jobs.kill(job)


def test_drained_worker_says_so_in_every_window(visit: Visit, scene: Scene):
    """000-126: drain and resume, by one click each."""
    scene.crew.beat()
    other = visit.open("/workers", visit.context.new_page())
    page = visit.open("/workers")
    worker, beside = _worker(page), _worker(other)
    expect(worker).to_contain_text("The match")
    expect(worker).to_contain_text("CPU38 %RAM41 %")

    worker.get_by_role("button", name="Drain").click()
    expect(worker).to_contain_text("Draining")
    expect(beside).to_contain_text("Draining")
    worker.get_by_role("button", name="Resume").click()

    expect(beside.get_by_role("button", name="Drain")).to_be_visible()


def test_machine_is_invited_by_one_line_and_keys_are_shown_once(visit: Visit, scene: Scene):
    """The token, until when it is good, and the command to paste."""
    scene.crew.beat()
    page = visit.open("/workers")
    page.get_by_role("button", name="Add worker").click()
    page.get_by_role("button", name="Make the token").click()

    line = page.get_by_label("The line to paste")
    expect(line).to_contain_text(f"rushes worker join {visit.site.home} --token ")
    expect(page.get_by_role("dialog")).to_contain_text("good for one machine, until")
    page.get_by_role("button", name="Done").click()
    _worker(page).get_by_role("button", name="More for gpu-1").click()
    page.get_by_role("menuitem", name="Keys").click()
    page.get_by_role("button", name="Add a key").click()
    expect(page.get_by_label("The new key")).to_contain_text("rsh_worker_")
    page.get_by_role("button", name="Revoke").click()
    expect(page.get_by_role("button", name="Revoke")).to_have_count(0)


def test_keys_move_select_and_open(visit: Visit, scene: Scene):
    page = visit.open("/jobs")
    current = _current(page)
    first = current.get_attribute("data-id")
    page.keyboard.press("j")
    expect(current).not_to_have_attribute("data-id", first or "")
    page.keyboard.press("x")

    expect(page.get_by_role("toolbar")).to_contain_text("1 selected")
    expect(current.get_by_role("checkbox")).to_be_checked()
    page.keyboard.press("Enter")
    expect(page.locator(".jobhead h1")).to_be_visible()


def test_enter_opens_the_current_job_though_its_row_lost_the_focus(visit: Visit, scene: Scene):
    """A browser takes the focus from an element that is moved, as rows are when jobs change."""
    page = visit.open("/jobs")
    job = _current(page).get_attribute("data-id")

    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("Enter")

    expect(page.locator(".jobhead h1")).to_be_visible()
    assert page.url.endswith(f"/jobs/{job}")


def test_key_opens_no_job_that_a_filter_took_away(visit: Visit, scene: Scene):
    page = visit.open("/jobs?status=running")
    _current(page)
    page.get_by_role("navigation", name="Jobs by status").get_by_text("Failed").click()
    expect(page.locator(f"[data-id='{scene.failed}']")).to_be_visible()
    page.evaluate("document.activeElement.blur()")

    page.keyboard.press("o")
    page.keyboard.press("j")
    current = page.locator(".windowed .row[aria-current=true]").get_attribute("data-id")
    page.keyboard.press("o")

    expect(page.locator(".jobhead h1")).to_be_visible()
    assert page.url.endswith(f"/jobs/{current}")


def test_enter_straight_after_a_move_opens_the_job_that_was_moved_to(visit: Visit, scene: Scene):
    page = visit.open("/jobs")
    _current(page)

    following = page.evaluate(QUICK)

    expect(page.locator(".jobhead h1")).to_be_visible()
    assert page.url.endswith(f"/jobs/{following}")


def test_job_that_came_before_the_stream_began_is_shown(visit: Visit, scene: Scene):
    """000-126: between the first reading and the first event nothing is missed."""
    page = visit.page
    stream = Held(page, "**/api/events*")
    visit.open("/jobs")
    expect(_row(page, "The match")).to_be_visible()
    begins = stream.wait()

    scene.crew.job("The gap")
    begins.continue_()

    expect(_row(page, "The gap")).to_be_visible()


def test_two_hundred_events_a_second_move_one_bar_per_frame_and_no_cell(visit: Visit, scene: Scene):
    job = scene.crew.job("The storm", film(CHUNKS), priority=10)
    scene.crew.finish(scene.crew.take(scene.gpu))
    [task] = scene.crew.take(scene.gpu)
    visit.open("/docs")  # this window has the stream, the next one listens to it
    page = visit.open(f"/jobs/{job}", visit.context.new_page())
    page.bring_to_front()
    page.locator(".node.is-running .bar").wait_for()

    seen = page.evaluate(STORM, [job, task.id])

    assert 1 < seen["moves"] <= seen["frames"] + 1
    assert seen["cells"] == 0
    visit.site.server.client.jobs.kill(job)


def test_rows_are_true_again_after_the_server_was_away(visit: Visit, scene: Scene):
    """R13: what happened meanwhile is there when it is back, without a reload."""
    visit.expected = ("ERR_", "502", "503", "Failed to load resource")
    job = scene.crew.job("The weather")
    page = visit.open("/jobs")
    other = visit.open(f"/jobs/{job}", visit.context.new_page())
    expect(_row(page, "The weather")).to_contain_text("Queued")

    visit.site.restart()
    visit.site.server.client.jobs.kill(job, reason="no rain")

    expect(_row(page, "The weather")).to_contain_text("no rain")
    expect(other.get_by_role("heading", name="no rain")).to_be_visible()


def test_ten_thousand_jobs_are_a_short_document(visit: Visit, scene: Scene):
    scene.crew.jobs([f"Reel {number}" for number in range(MANY)])
    page = visit.open("/jobs?status=queued")
    page.locator(".windowed .row").first.wait_for()
    seen = page.evaluate(TO_THE_END)

    assert seen["rows"] < MOST_ROWS
    assert seen["foot"].startswith("10,0")
    page.evaluate("scrollTo(0, document.body.scrollHeight / 2)")
    expect(page.locator(".windowed .row", has_text="Reel 5").first).to_be_visible()
    assert page.locator(".windowed .row").count() < MOST_ROWS


def _current(page: Page) -> Locator:
    """Go to the first row: a list that is shown listens."""
    page.locator(".windowed .row").first.wait_for()
    page.keyboard.press("j")
    current = page.locator(".windowed .row[aria-current=true]")
    expect(current).to_have_count(1)
    return current


def _flaws_of_dialog(visit: Visit) -> list[Any]:
    dialog = visit.page.get_by_role("dialog")
    expect(dialog).to_be_visible()
    found = visit.flaws()
    visit.page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    return found


def _row(page: Page, label: str) -> Locator:
    return page.locator(".windowed .row", has_text=label)


def _worker(page: Page) -> Locator:
    return page.locator("[data-worker='gpu-1']")
