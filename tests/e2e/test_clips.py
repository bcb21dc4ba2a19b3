"""Clips through whole processes: killed in the middle, and made on another machine."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from rushes.client import Client
from rushes.engine.doctor import examine
from rushes.library import doctor
from tests.e2e.place import Place
from tests.e2e.server import Server, running
from tests.media.clips import clip
from tests.media.numbered import numbers_of
from tests.waiting import until

FRAMES = list(range(22, 88))


def add(place: Place) -> str:
    lines = place.lines("add", clip("numbered"), "--no-text")
    return str(lines[0]["asset_id"])


def by_ticket(server: Server, film: str, playlist: str) -> str:
    """Return the address of a playlist that needs no key."""
    ticket = server.json(f"/api/videos/{film}/ticket", "-X", "POST")["url"]
    name = playlist.removeprefix(f"/api/videos/{film}/")
    return f"{server.address}{ticket.removesuffix('master.m3u8')}{name}"


@pytest.mark.timeout(240)
def test_worker_killed_in_the_middle_leaves_one_right_clip(place: Place):
    """F-WRK-1, 002-054: the next worker makes it, and nothing of the first is left."""
    film = add(place)
    with place.app() as app:
        asked = Client.at(app.library).clips.create(film, 710, 2_930, padding_ms=0)
    for point in ("stage.after_spawn", "complete.before_commit"):
        place.settings |= {"RUSHES_TEST": "1", "RUSHES_FAILPOINTS": f"{point}=kill"}
        worker = place.start("worker", "run", "--until-idle")
        worker.communicate(timeout=60)
        assert worker.returncode == -9
    place.settings["RUSHES_FAILPOINTS"] = ""

    place.run("worker", "run", "--until-idle")

    with place.app() as app:
        [made] = Client.at(app.library).clips.list().items
        path = Client.at(app.library).clips.download(made.clip_id, place.root)
        assert doctor.examine(app.library, strict=True, deep=True).findings == []
        assert examine(app.engine, strict=True).findings == []
    assert (made.clip_id, made.status, made.percent) == (asked.clip_id, "completed", 100)
    assert numbers_of(path) == FRAMES
    assert (made.actual_start, made.actual_end) == (asked.actual_start, asked.actual_end)
    assert made.provenance is not None
    assert made.provenance.tools[-1].startswith("rushes ")
    assert not any(str(place.root) in word for word in made.provenance.command)


@pytest.mark.timeout(240)
def test_clip_is_cut_on_a_machine_that_has_nothing_but_the_address(place: Place, tmp_path: Path):
    """002-037, 002-040: the original comes in parts, the clip goes back, and here it is checked."""
    film = add(place)
    (tmp_path / "far").mkdir()
    with (
        closing(Place(tmp_path / "far")) as far,
        running(place) as server,
        Client(server.address, key=server.key) as client,
    ):
        token = client.workers.invite(kinds=["clip"]).token
        far.run("worker", "join", server.address, "--token", token, "--name", "far")
        asked = client.clips.create(film, 710, 2_930, padding_ms=0)
        fast = client.clips.plan(film, 1_710, 2_930, padding_ms=0, mode="fast")
        instant = numbers_of(by_ticket(server, film, asked.playlist))
        worker = far.start("worker", "run")
        until(lambda: client.clips.show(asked.clip_id).url, 150)
        path = client.clips.download(asked.clip_id, tmp_path)
        again = client.clips.create(film, 710, 2_930, padding_ms=0)
        worker.terminate()
        worker.communicate(timeout=60)

    assert numbers_of(path) == FRAMES
    assert (again.clip_id, again.created) == (asked.clip_id, False)
    assert (asked.actual_start, fast.actual_start) == (733, 1_000)
    assert [number for number in instant if number in FRAMES] == FRAMES  # before any worker ran
    far.close()
