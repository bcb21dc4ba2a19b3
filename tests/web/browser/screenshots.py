"""Pictures of every page for docs/images/: `make screenshots`.

Fills a library of its own with short films made of the pictures of the login page, leaves two of
them in work, and opens each page: light and dark, on a desktop and on a phone. A page is added by
a line in PAGES; `{video}` is one that is ready, `{council}` the one with the most to read, `{job}`
one that runs, `{queued}` one that waits.
"""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from PIL import Image

from rushes.engine.operator import drain
from rushes.web.static import FOLDER
from tests.e2e.place import Place
from tests.media.browser.test_hls import CHROMIUM, FLAGS
from tests.waiting import until
from tests.web.browser.crew import Crew, crew_at, film
from tests.web.browser.site import NAME, PASSWORD, Site, open_site

if TYPE_CHECKING:
    from playwright.sync_api import Page, ViewportSize

IMAGES = Path(__file__).parents[3] / "docs" / "images"
PAGES = {
    "login": "/login",  # the first: the others are for people who are in
    "library": "/",
    "video": "/v/{council}?t=7&end=11&q=council",
    "search": "/search?q=council+votes",
    "clips": "/clips",
    "jobs": "/jobs",
    "job": "/jobs/{job}",
    "waiting": "/jobs/{queued}",
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
PATIENCE_S = 600
SETTLE_MS = 1_500  # pictures come, and bars move to where they belong
FILMS = {
    "weather": "Storm warning, 13:00 map package",
    "studio": "Evening bulletin, rehearsal",
    "swim": "100 m freestyle final and ceremony",
    "council": "Harbour tram: council vote and statements",
    "cycling": "Mountain stage, last 20 km, helicopter",
    "interview": "Ilse Brandt on the flood defences",
}
IN_WORK = {
    "match": "Riverside v Northgate, second half",
    "track": "400 m hurdles, heats 1 to 4",
    "parliament": "Transport committee, session 41",
}
OPEN = "pending", "processing"
READ = {"council", "weather"}  # the others are done sooner
STORY = ("studio", "council", "election", "weather")  # what the film of the council shows in turn
SAID = {
    "council": "The council votes seven to two for the harbour tram.",
    "interview": "Before the council votes we have to speak of the flood defences.",
}
TO_SEND = {
    "match-second-half.mp4": 9_000_000,
    "old-archive.mov": 5_000_000,
    "b-roll.mp4": 3_000_000,
}
SLOW_LINE = {
    "offline": False,
    "latency": 0,
    "downloadThroughput": -1,
    "uploadThroughput": 900_000,
}
CLIPS_MS = ((6_500, 9_500), (12_500, 16_000), (1_000, 4_000))
SECONDS, SECONDS_IN_WORK = 6, 60
QUALITY = 80


def main() -> None:
    """Fill a library, then take all pictures while some films are in work."""
    from playwright.sync_api import sync_playwright

    IMAGES.mkdir(exist_ok=True)
    with _site() as (site, crew), sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        for size, theme in product(SIZES, THEMES):
            crew.beat()
            with closing(browser.new_context(viewport=SIZES[size], color_scheme=theme)) as context:
                page = context.new_page()
                for name, path in PAGES.items():
                    _open(page, site, path)
                    if name == "upload":
                        _send(page, site.place.root)
                    _keep(page.screenshot(), IMAGES / f"{name}-{size}-{theme}.webp")
                    if name == "login":
                        _log_in(page)
        browser.close()


@contextmanager
def _site() -> Iterator[tuple[Site, Crew]]:
    with tempfile.TemporaryDirectory() as folder:
        place = Place(Path(folder))
        try:
            with open_site(place) as site, crew_at(place) as crew:
                _crowd(crew)
                _fill(site, Path(folder))
                yield site, crew
                for job in site.server.client.jobs.list(status="running").items:
                    site.server.client.jobs.kill(job.job_id)
        finally:
            place.close()


def _fill(site: Site, folder: Path) -> None:
    videos = site.server.client.videos
    for name, title in FILMS.items():
        film = _story(folder) if name == "council" else _film(name, folder, SECONDS)
        videos.add(film, title=title, text=name in READ)
    broken = folder / "pool-camera-3.mp4"
    broken.write_bytes((folder / "swim.mp4").read_bytes()[:40_000])
    videos.add(broken, title="Pool camera 3, card B")
    until(lambda: not any(one.work for one in videos.list().items), PATIENCE_S)
    for name, text in SAID.items():
        cue = f"1\n00:00:01,000 --> 00:00:05,500\n{text}\n"
        site.server.client.subtitles.put(_id_of(site, name), "en", cue.encode())
    for start, end in CLIPS_MS:
        site.server.client.clips.create(_id_of(site, "council"), start, end, padding_ms=500)
    clips = site.server.client.clips
    until(lambda: all(one.url for one in clips.list().items), PATIENCE_S)
    for name, title in IN_WORK.items():
        videos.add(_film(name, folder, SECONDS_IN_WORK), title=title)
    until(
        lambda: any(one.playable_at and one.status in OPEN for one in videos.list().items),
        PATIENCE_S,
    )


def _crowd(crew: Crew) -> None:
    """Let other workers have something of everything: what runs, waits, failed, is drained."""
    gpu = crew.worker("gpu-1", 4, has=["h264_nvenc", "hevc_nvenc", "ocr-gpu"])
    nas = crew.worker("nas", 1, has=["x264"], version="0.0.9")
    for number in range(3):
        crew.job(f"Pool camera {number + 1}, card A")
        [task] = crew.take(nas)
        crew.fail(task, "DISK_FULL", "no space left on /srv/media of nas")
    crew.job("Harbour, drone, 4K", film(96), priority=8)
    crew.finish(crew.take(gpu))
    crew.finish(crew.take(gpu, 58))
    for number, task in enumerate(crew.take(gpu, 4)):
        crew.move(task, 15 + 22 * number, "frame=1371 fps=133 speed=5.4x")
    [task] = crew.take(nas)
    crew.move(task, 97)
    drain(crew.app.engine, crew.id_of("nas"))
    crew.jobs(["b-roll, IMG_4410", "Old town evacuation, phone footage", "Ilse Brandt, camera B"])


def _film(name: str, folder: Path, seconds: int) -> Path:
    """Move slowly over a picture."""
    target, ffmpeg = folder / f"{name}.mp4", shutil.which("ffmpeg")
    assert ffmpeg is not None
    if target.exists():
        return target
    picture = FOLDER / "img" / "wall" / f"{name}.webp"
    zoom = "scale=2560:1440,zoompan=z='1+0.00008*on':d=1:s=1280x720:fps=25"
    command = [ffmpeg, "-v", "error", "-loop", "1", "-i", picture, "-vf", zoom, "-t", str(seconds)]
    subprocess.run(
        [*command, "-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p", target],
        check=True,
    )
    return target


def _story(folder: Path) -> Path:
    """Put some films one after the other."""
    target, ffmpeg = folder / "story.mp4", shutil.which("ffmpeg")
    assert ffmpeg is not None
    parts = [word for name in STORY for word in ("-i", _film(name, folder, SECONDS))]
    joined = ("-filter_complex", f"concat=n={len(STORY)}", "-c:v", "libx264", "-preset", "veryfast")
    subprocess.run([ffmpeg, "-v", "error", *parts, *joined, target], check=True)
    return target


def _id_of(site: Site, name: str) -> str:
    found = site.server.client.videos.list().items
    return next(one.asset_id for one in found if one.title == FILMS[name])


def _open(page: Page, site: Site, path: str) -> None:
    client = site.server.client
    if "{video}" in path:
        path = path.format(video=client.videos.list(status="ready").items[0].asset_id)
    if "{council}" in path:
        path = path.format(council=_id_of(site, "council"))
    if "{job}" in path:
        path = path.format(job=client.jobs.list(status="running").items[-1].job_id)  # the oldest
    if "{queued}" in path:
        path = path.format(queued=client.jobs.list(status="queued").items[-1].job_id)
    page.goto(f"{site.home}{path}")
    page.locator("h1").first.wait_for()
    page.wait_for_timeout(SETTLE_MS)


def _send(page: Page, folder: Path) -> None:
    """Send some films over a slow line; one of them is in the library already."""
    films = []
    for name, size in TO_SEND.items():
        films.append(folder / name)
        films[-1].write_bytes((folder / "match.mp4").read_bytes() + os.urandom(size))
    page.context.new_cdp_session(page).send("Network.emulateNetworkConditions", SLOW_LINE)
    page.locator("#files").set_input_files([films[0], folder / "swim.mp4", *films[1:]])
    page.wait_for_timeout(4 * SETTLE_MS)


def _log_in(page: Page) -> None:
    page.get_by_label("Name").fill(NAME)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.locator(".shell").wait_for()


def _keep(picture: bytes, target: Path) -> None:
    Image.open(io.BytesIO(picture)).convert("RGB").save(target, quality=QUALITY, method=6)


if __name__ == "__main__":
    main()
