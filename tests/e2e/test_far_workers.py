"""Workers on machines of their own, with nothing but a wire: cut, frozen, killed, full."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import pytest

from rushes.app import App
from rushes.domain.job import FINISHED
from rushes.engine import orchestrator
from rushes.engine.doctor import examine
from rushes.library import collect, doctor, keys
from rushes.store import jobs, tasks
from rushes.worker import far, joined
from rushes.worker.protocol import Introduction
from tests.disk import small_disk
from tests.e2e.island import Island
from tests.e2e.place import PATIENT, Place, slow
from tests.e2e.server import Server, free_port, start
from tests.media.clips import clip
from tests.waiting import until
from tests.world import sql

BRIEF = {
    "RUSHES_LEASE": "4",
    "RUSHES_WORKER_HEARTBEAT_INTERVAL": "1",
    "RUSHES_STALE_JOB_CHECK_INTERVAL": "0.5",
    "RUSHES_WORKER_LANES": "media=1,encode=2,text=1",
    "RUSHES_HOST": "0.0.0.0",
    **PATIENT,
}


@dataclass
class Far:
    """A worker on an island: a folder and a wire of its own."""

    island: Island
    place: Place
    process: subprocess.Popen[str] | None = None

    def run(self, server: Server, port: int) -> None:
        """Join, and begin. The command that joins is in tests/cli/test_far.py."""
        token = server.client.workers.invite().token
        who = Introduction(worker_name=self.island.name)
        here = far.join(f"http://127.0.0.1:{port}", token, who, self.place.data)
        joined.store(self.place.data, here._replace(server=f"http://{self.island.here}:{port}"))
        self.process = self.place.start("worker", "run", under=self.island.prefix)

    def signal(self, number: int) -> None:
        """Send a signal to the worker and to everything that it started."""
        assert self.process is not None
        worker = psutil.Process(self.process.pid)
        for one in (worker, *worker.children(recursive=True)):
            one.send_signal(number)

    def kill(self) -> None:
        assert self.process is not None
        self.signal(signal.SIGKILL)
        self.process.communicate(timeout=60)

    def is_encoding(self) -> bool:
        assert self.process is not None
        children = psutil.Process(self.process.pid).children(recursive=True)
        return any("ffmpeg" in child.name() for child in children)

    def stop(self) -> tuple[str, str]:
        assert self.process is not None
        self.process.terminate()
        return self.process.communicate(timeout=60)


@dataclass
class Fleet:
    """A server without workers of its own, and two far ones."""

    place: Place
    server: Server
    port: int
    workers: list[Far] = field(default_factory=list)

    def restart(self, failpoints: str = "") -> None:
        self.server = start(self.place, port=self.port, key=self.server.key, failpoints=failpoints)
        self.server.address = f"http://127.0.0.1:{self.port}"

    def stop(self) -> None:
        for one in self.workers:
            one.stop()


@pytest.fixture
def fleet(place: Place, two_islands: list[Island], tmp_path: Path) -> Iterator[Fleet]:
    place.settings |= BRIEF
    with place.app() as app:
        key = keys.first_admin(app.db)
    assert key is not None
    with ExitStack() as stack:
        port = free_port()
        fleet = Fleet(place, start(place, port=port, key=key), port)
        fleet.server.address = f"http://127.0.0.1:{port}"
        for here in two_islands:
            one = Far(here, Place(tmp_path / here.name, BRIEF | slow()))
            one.place.data.mkdir(parents=True)
            stack.callback(one.place.close)
            stack.callback(here.heal)
            fleet.workers.append(one)
        yield fleet
        fleet.server.stop()


def is_over(app: App, job_id: str) -> bool:
    return app.db.read(lambda tx: jobs.get(tx, job_id)).status in FINISHED


def is_over_soon(app: App, job_id: str) -> bool:
    """The same; what waits a minute for its second try need not wait here."""
    sql(app.db, "UPDATE tasks SET run_at = 1 WHERE state = 'new' AND open_parents = 0")
    orchestrator.run_once(app.engine)
    return is_over(app, job_id)


def has_ended(app: App, job_id: str, outcome: str) -> bool:
    """Whether an attempt ended so."""
    rows = app.db.read(lambda tx: tasks.attempts(tx, job_id))
    return any(row["outcome"] == outcome for row in rows)


def encodes(app: App, name: str, job_id: str) -> bool:
    """Whether a worker is at a chunk just now."""
    found = app.db.read(lambda tx: tasks.of_job(tx, job_id))
    return any(
        task.step == "transcode" and (task.lease_owner or "").startswith(f"{name}#")
        for task in found
    )


def check(fleet: Fleet, job_id: str, asset_id: str) -> list[Any]:
    """Wait for the film; nothing of a loser may be published, and nothing be left behind."""
    place = fleet.place
    with place.app() as app:
        until(lambda: is_over(app, job_id), 150)
        assert place.asset(asset_id).status == "ready"
        collect.run_once(app.library)
        assert examine(app.engine, strict=True).findings == []
        assert doctor.examine(app.library, strict=True, deep=True).findings == []
        rows = app.db.read(lambda tx: tasks.attempts(tx, job_id))
    done: dict[int, int] = {}
    for row in rows:
        done[row["task_id"]] = done.get(row["task_id"], 0) + (row["outcome"] == "done")
    assert set(done.values()) == {1}
    return rows


def run(fleet: Fleet) -> list[str]:
    """Start both workers, and return their names when they are there."""
    for one in fleet.workers:
        one.run(fleet.server, fleet.port)
    names = [one.island.name for one in fleet.workers]
    workers = fleet.server.client.workers
    until(lambda: {one.name for one in workers.list().items if one.lanes} >= {*names}, 120)
    return names


@contextmanager
def at_work(fleet: Fleet) -> Iterator[tuple[App, str, str]]:
    """A film that both workers encode."""
    names = run(fleet)
    job = fleet.server.client.videos.add(clip("small_two_minutes"), text=False)
    with fleet.place.app() as app:
        until(lambda: all(encodes(app, name, job.job_id) for name in names), 120)
        yield app, job.job_id, job.asset_id


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "direction", ["both", *(pytest.param(d, marks=pytest.mark.soak) for d in ("to", "from"))]
)
def test_worker_that_is_cut_off_loses_its_lease_and_comes_back(fleet: Fleet, direction: str):
    """000-112, 000-155, F-NET: the film ends ready, and the loser's files are never seen."""
    with at_work(fleet) as (app, job_id, asset_id):
        lost = fleet.workers[0]
        lost.island.cut(direction)  # type: ignore[arg-type]
        until(lambda: has_ended(app, job_id, "expired"), 60)
        lost.island.heal()

    rows = check(fleet, job_id, asset_id)
    owners = {row["owner"].partition("#")[0] for row in rows if row["outcome"] == "done"}
    assert owners <= {one.island.name for one in fleet.workers}
    fleet.stop()


@pytest.mark.timeout(300)
def test_worker_frozen_with_its_encoder_wakes_up_and_changes_nothing(fleet: Fleet):
    """000-117, 000-153: what it says afterwards is refused, and it goes on with other work."""
    with at_work(fleet) as (app, job_id, asset_id):
        frozen = fleet.workers[0]
        until(frozen.is_encoding)
        frozen.signal(signal.SIGSTOP)
        until(lambda: has_ended(app, job_id, "expired"), 60)
        frozen.signal(signal.SIGCONT)

    check(fleet, job_id, asset_id)
    fleet.stop()


@pytest.mark.timeout(300)
def test_worker_whose_disk_is_full_leaves_the_rest_to_others(fleet: Fleet):
    """F-RW, 002-051: its attempt fails with a code that says why; it is given no more to write."""
    full = fleet.workers[0]
    full.place.settings["RUSHES_STORAGE_RESERVE_GB"] = "0.01"
    with (
        small_disk(full.place.data, "size=64m"),
        at_work(fleet) as (app, job_id, asset_id),
        (full.place.data / "filler").open("wb", buffering=0) as filler,
    ):
        with suppress(OSError):
            while True:
                filler.write(bytes(65_536))
        until(lambda: has_ended(app, job_id, "retried"), 60)
        until(lambda: is_over_soon(app, job_id), 150)
        rows = check(fleet, job_id, asset_id)
        fleet.stop()

    failed = [row for row in rows if row["outcome"] == "retried"]
    assert {row["owner"].partition("#")[0] for row in failed} == {full.island.name}
    assert {row["failure"]["error_code"] for row in failed} == {"DISK_FULL"}


@pytest.mark.timeout(300)
def test_killed_worker_and_killed_server_cost_only_what_was_at_work(fleet: Fleet):
    """000-112, F-RW: kill -9 of one worker; then of the server, which comes back."""
    with at_work(fleet) as (_app, job_id, asset_id):
        fleet.workers[0].kill()
        fleet.server.kill()
        time.sleep(1)
        fleet.restart()

    check(fleet, job_id, asset_id)
    fleet.workers[1].stop()


@pytest.mark.timeout(300)
def test_answer_to_a_completion_that_was_lost_costs_no_second_encode(fleet: Fleet):
    """000-066: the server dies right after the commit; the repetition is accepted."""
    fleet.server.stop()
    fleet.place.settings["RUSHES_LEASE"] = "30"  # no other task is to be lost meanwhile
    fleet.restart(failpoints="complete.after_commit=kill@3")
    run(fleet)
    job = fleet.server.client.videos.add(clip("small_two_minutes"), text=False)
    fleet.server.process.wait(90)
    fleet.server.kill()
    fleet.restart()

    rows = check(fleet, job.job_id, job.asset_id)
    assert not [row for row in rows if row["outcome"] not in ("done", "handed_back")]
    fleet.stop()


@pytest.mark.timeout(300)
def test_drained_worker_gives_its_chunk_back_and_a_local_one_goes_on(fleet: Fleet):
    """000-002, 003-051: SIGTERM in a chunk; local and far workers make one film together."""
    first, _ = fleet.workers
    first.place.settings["RUSHES_WORKER_DRAIN_TIMEOUT"] = "0"
    with at_work(fleet) as (app, job_id, asset_id):
        local = fleet.place.start("worker", "run", "--name", "local", "--no-maintenance")
        until(lambda: encodes(app, "local", job_id), 60)
        began = time.monotonic()
        _, err = first.stop()
        assert time.monotonic() - began < 30, err

    rows = check(fleet, job_id, asset_id)
    owners = {row["owner"].partition("#")[0] for row in rows if row["outcome"] == "done"}
    assert owners >= {"local", fleet.workers[1].island.name}
    assert "handed_back" in {row["outcome"] for row in rows}
    fleet.workers[1].stop()
    local.terminate()
    local.communicate(timeout=60)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("seconds", [10, pytest.param(300, marks=pytest.mark.soak)])
def test_server_that_is_away_for_longer_than_the_leases_costs_no_finished_chunk(
    fleet: Fleet, seconds: int
):
    """F-API-5: both workers go on, come back, and are believed; nothing is encoded twice."""
    with at_work(fleet) as (_app, job_id, asset_id):
        fleet.server.kill()
        time.sleep(seconds)
        fleet.restart()

    rows = check(fleet, job_id, asset_id)
    ends: dict[int, list[str]] = {}
    for row in rows:
        ends.setdefault(row["task_id"], []).append(row["outcome"])
    assert all(outcomes[-1] == "done" for outcomes in ends.values()), ends
    assert "expired" not in {row["outcome"] for row in rows}
    fleet.stop()
