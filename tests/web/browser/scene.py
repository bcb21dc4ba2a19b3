"""A newsroom for the pictures of the page: films that are ready, films in work, jobs that wait or
failed, and machines of every kind.

All of it went through the product. The films in work stay as they are: the worker of the server is
drained when they are far enough, and what is left of them is held by workers whose hands are ours.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Unpack

from rushes.api.desk.wishes import Wishes
from rushes.client import Client
from rushes.domain.graph import Step
from rushes.domain.person import Scope
from rushes.domain.worker import Usage
from rushes.engine.operator import drain, pause, resume
from rushes.engine.presence import leave, present
from tests.e2e.place import Place
from tests.waiting import until
from tests.web.browser import crew as crews
from tests.web.browser.crew import Crew, crew_at
from tests.web.browser.films import AMBER, BLUE, TEAL, Shot, again, film
from tests.web.browser.site import NAME, Site, open_site

HERE = "edit-1"
PATIENCE_S = 600
FAR_ENOUGH = 45.0
FIRST = 10  # of all priorities
COUNCIL = (
    Shot(
        "council",
        "CITY HALL, ROOM 2",
        "Session of 14 November",
        corner="LIVE 13:48",
        chapter="Arrival",
    ),
    Shot("harbour", "HARBOUR TRAM", "11 stops · 7.4 km · opens 2029", "LINE T4", TEAL),
    Shot(
        "council",
        "THE VOTE IS NEAR",
        "Line T4 to the harbour",
        "BREAKING",
        corner="LIVE 13:52",
        chapter="The vote",
    ),
    Shot("parliament", "38 MEMBERS PRESENT", "Room 2 · example.org/live", "CITY HALL", BLUE),
    Shot("council", "MAYOR LENA OSEI", "“It is time to decide”", "BREAKING", corner="LIVE 13:58"),
    Shot("harbour", "LINE T4", "Harbour, Old Town, University", "THE ROUTE", TEAL),
    Shot(
        "council",
        "COUNCIL VOTES 7:2",
        "Harbour tram approved · @reuters #vote2026",
        "BREAKING",
        corner="LIVE 14:02",
    ),
    Shot("council", "MAYOR LENA OSEI", "“Work begins in spring”", "BREAKING", corner="LIVE 14:03"),
    Shot(
        "parliament",
        "BUDGET: 41 MILLION",
        "Finance director · example.org/live",
        "BUDGET",
        BLUE,
        chapter="Budget",
    ),
    Shot("election"),
    Shot(
        "council", "CIVIC UNION", "“A bad day for the coast road”", "REACTION", corner="LIVE 14:06"
    ),
    Shot("street", "OLD TOWN RESIDENTS", "Call 0800 555 010 · example.org/tram", "LIVE", AMBER),
    Shot(
        "council",
        "QUESTIONS FROM THE PRESS",
        "@citydesk: Who pays?",
        "LIVE",
        corner="LIVE 14:09",
        chapter="Questions",
    ),
    Shot(
        "council",
        "FINANCE DIRECTOR",
        "“Two thirds come from the state”",
        "LIVE",
        corner="LIVE 14:10",
    ),
    Shot("harbour", "THE OLD BRIDGE", "Built 1931 · 9 m wide", "ARCHIVE", BLUE),
    Shot(
        "council",
        "AMENDMENTS REJECTED",
        "Council votes 7:2 again · @reuters",
        "BREAKING",
        corner="LIVE 14:16",
    ),
    Shot("parliament", "NEXT: THE TIMETABLE", "Every 6 minutes by day", "CITY HALL", BLUE),
    Shot("election"),
    Shot(
        "council",
        "STATEMENTS OUTSIDE",
        "Harbour List: “A good day”",
        "LIVE",
        corner="LIVE 14:21",
        chapter="Statements outside",
    ),
    Shot("street", "SHOPS STAY OPEN", "#vote2026 · example.org/live", "OLD TOWN", AMBER),
    Shot("council", "WORK BEGINS IN SPRING", "First rails in April", "LIVE", corner="LIVE 14:26"),
    Shot("harbour", "THE HARBOUR TODAY", "Camera: J. Lindqvist", "ARCHIVE", BLUE),
    Shot(
        "council", "THE SESSION IS CLOSED", "Back at 18:00 · @citydesk", "LIVE", corner="LIVE 14:30"
    ),
)
BULLETIN = (
    Shot("studio", "STRIKE ENDS AFTER NINE DAYS", "Rail services resume Monday", "BULLETIN", TEAL),
    Shot("council", "HARBOUR TRAM: 7 TO 2", "Council votes after a long day", "CITY HALL", BLUE),
    Shot("weather", "STORM WARNING", "Gusts to 118 km/h", "SEVERE WEATHER", AMBER),
    Shot("studio", "GOOD NIGHT", "example.org/bulletin · @citydesk", "BULLETIN", TEAL),
)
WEATHER = (
    Shot("weather", "STORM WARNING FROM 22:00", "Gusts to 118 km/h", "SEVERE WEATHER", AMBER),
    Shot("weather", "COAST ROAD CLOSED", "example.org/storm · #storm", "SEVERE WEATHER", AMBER),
)
CYCLING = (Shot("cycling"), Shot("cycling", "LAST 20 KM", "Four riders, 38 seconds", "", TEAL))
TRACK = (Shot("track", "400 M HURDLES · WOMEN", "Lane 5 S. Haddad 54.07", "HEAT 2", TEAL),)
PORT = (Shot("harbour", "B-ROLL 17:42", "Harbour at dusk", "", TEAL),)
COMMITTEE = (Shot("parliament", "COMMITTEE ON TRANSPORT", "Session 41", "LIVE", AMBER),)
SWIM = (Shot("swim", "4 N. OKAFOR 47.82", "2. Meyer +0.31", "100 M FREESTYLE · FINAL", BLUE),)
TALK = (
    Shot("interview", "DR. ILSE BRANDT", "Hydrologist, Coastal Institute", "INTERVIEW", TEAL),
    Shot("interview", "“THE SEA DOES NOT VOTE”", "On the flood defences", "INTERVIEW", TEAL),
)
STREET = (
    Shot("street", "EVACUATION OF OLD TOWN", "@citydesk · example.org/storm", "LIVE", AMBER),
    Shot("street", "SHELTERS ARE OPEN", "Call 0800 555 010", "LIVE", AMBER),
)
MATCH = (
    Shot("match", "21 M. ADEYEMI", "on for 9 J. Lindqvist", "SUBSTITUTION", BLUE, "RIV 2 : 1 NOR"),
    Shot("match", "RIVERSIDE 2 : 1 NORTHGATE", "Second half", "", BLUE, "RIV 2 : 1 NOR"),
)
SAID = {
    "council": "The council votes seven to two for the harbour tram.",
    "interview": "We have to speak of the flood defences before anybody votes again.",
}
CLIPS_MS = {
    "Seven to two": ("council", 97_000, 111_000),
    "Who pays for the bridge?": ("council", 193_000, 207_000),
    "Work begins in spring": ("council", 113_000, 126_000),
    "The storm in twelve seconds": ("weather", 2_000, 14_000),
}


@dataclass
class Newsroom:
    """The page's server, its other workers, and what is on it by name."""

    site: Site
    crew: Crew
    folder: Path

    def __post_init__(self) -> None:
        self.assets: dict[str, str] = {}
        self.jobs: dict[str, str] = {}

    @cached_property
    def ana(self) -> Client:
        """The client of the person whose page it is."""
        keys = self.site.server.client.keys
        made = keys.create("pictures", scopes=frozenset(Scope), user=NAME).key
        assert made is not None
        return Client(self.site.server.address, key=made)

    def fill(self) -> None:
        """Bring everything to where the pictures show it."""
        self._fail()
        self._add("track", "400 m hurdles, heats 1 to 4", TRACK, 104, tags=("sport",))
        self._add("harbour", "Harbour at dusk, b-roll", PORT, 37)
        self._add("committee", "Transport committee, session 41", COMMITTEE, 214)
        self._add("cycling", "Mountain stage, last 20 km, helicopter", CYCLING, 45)
        self._add("swim", "100 m freestyle final and ceremony", SWIM, 72)
        self._add("studio", "Evening bulletin, rehearsal", BULLETIN, 20, text=True)
        self._add_broken()
        self._add("weather", "Storm warning, 13:00 map package", WEATHER, 34, text=True)
        tags = ("vote2026",)
        title = "Harbour tram: council vote and statements"
        self._add("council", title, COUNCIL, 16, text=True, tags=tags)
        self._wait_for_films()
        self._cut()
        pause(self.crew.app.engine, "sample", by=NAME)
        self._add_long("street", "Old town evacuation, phone footage", STREET, 3)
        self._add("interview", "Ilse Brandt on the flood defences, full interview", TALK, 88)
        self._add_long("match", "Riverside v Northgate, second half", MATCH, 16)
        self._wait_for_films()
        for name, text in SAID.items():
            self.ana.subtitles.put(self.assets[name], "en", _cue(text))
        until(self._is_far_enough, PATIENCE_S)
        self._take_over()

    def known(self) -> dict[str, str]:
        """Return the ids that the addresses of pages may have in them."""
        queued = self.ana.jobs.list(status="queued").items
        return {
            **self.assets,
            **{f"{name}_job": job for name, job in self.jobs.items()},
            "queued_job": queued[0].job_id if queued else "",
        }

    def beat(self, number: int) -> None:
        """Let time pass: every worker says how busy it is, and a chunk is done."""
        for place, owner in enumerate(self.crew.owners):
            busy = 34 + 17 * place + 9 * (number % 4) - 5 * (number % 3)
            present(self.crew.app.engine, owner, Usage(busy, 41 + 8 * place + number % 5))
        self.crew.finish(self.crew.take(self.gpu))

    def close(self) -> None:
        self.ana.close()
        for status in ("running", "queued"):
            for job in self.site.server.client.jobs.list(status=status).items:
                self.site.server.client.jobs.kill(job.job_id)

    def _add(
        self,
        name: str,
        title: str,
        shots: tuple[Shot, ...],
        seconds: int,
        *,
        text: bool = False,
        tags: tuple[str, ...] = (),
    ) -> None:
        made = film(self.folder / f"{name}.mp4", shots, seconds)
        self._send(name, made, title=title, text=text, tags=tags, priority=FIRST)

    def _add_long(self, name: str, title: str, shots: tuple[Shot, ...], times: int) -> None:
        short = film(self.folder / f"{name}-once.mp4", shots, 45)
        self._send(name, again(short, self.folder / f"{name}.mp4", times), title=title)

    def _send(self, name: str, made: Path, **wishes: Unpack[Wishes]) -> None:
        added = self.ana.videos.add(made, **wishes)
        self.assets[name], self.jobs[name] = added.asset_id, added.job_id

    def _is_far_enough(self) -> bool:
        return self.ana.jobs.get(self.jobs["match"]).progress.percent > FAR_ENOUGH

    def _add_broken(self) -> None:
        broken = self.folder / "pool-camera-3.mp4"
        broken.write_bytes((self.folder / "swim.mp4").read_bytes()[:40_000])
        self._send("pool", broken, title="Pool camera 3, card B")

    def _wait_for_films(self) -> None:
        wanted = {job for name, job in self.jobs.items() if name not in ("street", "match")}
        until(lambda: all(self.ana.jobs.get(job).finished_at for job in wanted), PATIENCE_S)

    def _cut(self) -> None:
        client = self.ana
        for title, (name, start, end) in CLIPS_MS.items():
            client.clips.create(self.assets[name], start, end, padding_ms=500, title=title)
        until(lambda: all(one.url for one in client.clips.list().items), PATIENCE_S)

    def _fail(self) -> None:
        """Let a disk be full while three cards are copied."""
        crew = self.crew
        self.nas = crew.worker("nas", 1, has=["x264"], version="0.0.9")
        for number in range(3):
            crew.job(f"Pool camera {number + 1}, card A", {"transcode": crews.step()})
            [task] = crew.take(self.nas)
            crew.fail(task, "DISK_FULL", "no space left on /srv/media of nas")
        crew.job("Stadium tunnel, locked shot", {"work": crews.step(), "text": _optional()})
        crew.finish(crew.take(self.nas))
        [task] = crew.take(self.nas)
        crew.fail(task, "OCR_UNAVAILABLE", "nas has no text model")

    def _take_over(self) -> None:
        """Drain the server's own worker, and let others hold what is left."""
        crew, engine = self.crew, self.crew.app.engine
        drain(engine, crew.id_of(HERE))
        until(lambda: not self.ana.workers.show(HERE).holds, PATIENCE_S)
        self.gpu = crew.worker("gpu-1", 2, has=["h264_nvenc", "hevc_nvenc"], also={"encode": 3})
        cpu = crew.worker("cpu-1", 1, has=["x264", "x265", "ocr"], also={"text": 3})
        gone = crew.worker("pi4", 1, has=["x264"])
        leave(engine, gone)
        crew.owners.remove(gone)
        resume(engine, "sample", by=NAME)
        for number, task in enumerate(crew.take(self.gpu, 3, "encode") + crew.take(cpu, 3, "text")):
            crew.move(task, 18 + 17 * number, "frame=1371 fps=133 speed=5.4x")
        self._queue(cpu)

    def _queue(self, cpu: str) -> None:
        crew = self.crew
        crew.job("Harbour, drone, 4K", crews.film(96), priority=8)
        crew.finish(crew.take(self.gpu))
        crew.finish(crew.take(self.gpu, 40))
        held = crew.take(self.gpu, 2) + crew.take(cpu) + crew.take(self.nas)
        for task, progress in zip(held, (37, 81, 64, 97), strict=True):
            crew.move(task, progress)
        drain(crew.app.engine, crew.id_of("nas"))
        wrong = crew.job("Training ground, wrong card")
        self.ana.jobs.kill(wrong, reason="wrong card")
        crew.jobs(["b-roll, IMG_4410", "Ilse Brandt, camera B"])
        crew.job("Flood defences, aerials", crews.film(24))


@contextmanager
def newsroom(folder: Path) -> Iterator[Newsroom]:
    place = Place(folder, {"RUSHES_WORKER_NAME": HERE})
    try:
        with open_site(place) as site, crew_at(place) as crew:
            room = Newsroom(site, crew, folder)
            yield room
            room.close()
    finally:
        place.close()


def _optional() -> Step:
    return Step(kind=crews.KIND, after=("work",), items=[{"number": 0}], optional=True)


def _cue(text: str) -> bytes:
    return f"1\n00:00:58,000 --> 00:01:03,500\n{text}\n".encode()
