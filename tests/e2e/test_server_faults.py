"""A server that dies, is stopped, frozen or doubled: nobody loses anything, nothing comes twice."""

from __future__ import annotations

import signal
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import psycopg
import pytest

from rushes.app import App
from rushes.client import Job
from rushes.engine.doctor import examine
from rushes.library import doctor
from rushes.store import jobs, workers
from tests.e2e.place import PATIENT, Place
from tests.e2e.server import Server, free_port, running, start
from tests.freezing import freeze
from tests.library.studio import HEAD
from tests.media.clips import clip
from tests.waiting import until

POOL = 5
BRIEF = {"RUSHES_LEASE": "3", "RUSHES_WORKER_HEARTBEAT_INTERVAL": "1", **PATIENT}


@pytest.mark.parametrize(
    "failpoint",
    [
        pytest.param("upload.after_write", marks=pytest.mark.soak),
        "upload.after_rename",
        pytest.param("job.before_commit", marks=pytest.mark.soak),
        "upload.after_db",
    ],
)
@pytest.mark.timeout(120)
def test_server_that_dies_while_a_film_comes_in_takes_it_once(
    place: Place, tmp_path: Path, failpoint: str
):
    """F-API-1, F-API-2, 003-063: the client finds its upload again, and there is one job."""
    film, port = tmp_path / "film.mp4", free_port()
    film.write_bytes(HEAD + b"x" * 100_000)
    dying = start(place, port=port, failpoints=f"{failpoint}=kill")
    with ThreadPoolExecutor(1) as pool:
        sending = pool.submit(lambda: dying.client.videos.add(film, text=False))
        dying.process.wait(30)
        server = start(place, port=port, key=dying.key)
        job = sending.result(60)
        dying.kill()

        assert [one.job_id for one in server.client.jobs.list().items] == [job.job_id]
        assert [one.asset_id for one in server.client.videos.list().items] == [job.asset_id]
        server.client.jobs.kill(job.job_id)  # nobody works here
        server.stop()
    assert dying.process.returncode == -signal.SIGKILL
    _check(place)


@pytest.mark.parametrize(
    "failpoint",
    [
        pytest.param("claim.after_commit", marks=pytest.mark.soak),
        pytest.param("stage.after_spawn", marks=pytest.mark.soak),
        pytest.param("stage.after_exit", marks=pytest.mark.soak),
        pytest.param("complete.before_commit", marks=pytest.mark.soak),
        "complete.after_commit",
    ],
)
@pytest.mark.timeout(180)
def test_server_that_dies_while_it_works_goes_on_when_it_is_back(place: Place, failpoint: str):
    """F-API-3, 000-088: every task has one accepted end."""
    place.settings |= PATIENT
    port = free_port()
    dying = start(place, "up", port=port, failpoints=f"{failpoint}=kill@2")
    job = dying.client.videos.add(clip("one_frame"), text=False)
    dying.process.wait(60)
    dying.kill()

    server = start(place, "up", port=port, key=dying.key)
    done = server.client.jobs.show(job.job_id)
    until(lambda: server.client.jobs.show(job.job_id).status in ("completed", "failed"), 90)

    assert done.job_id == job.job_id
    assert server.client.jobs.show(job.job_id).status == "completed"
    assert server.client.videos.show(job.asset_id).status == "ready"
    server.stop()
    _check(place)


@pytest.mark.timeout(120)
def test_server_that_is_stopped_lets_nobody_hang(place: Place):
    """F-API-4: 50 requests at work and 20 streams; it is gone in seconds, with exit code 0."""
    server = start(place)
    address = urlsplit(server.address)
    door = (address.hostname or "", address.port or 0)
    with _visitor(server) as http:
        tus = {"Tus-Resumable": "1.0.0", "Upload-Length": "1000"}
        places = [http.post("/api/uploads", headers=tus).headers["location"] for _ in range(50)]
    head = f"Host: x\r\nAuthorization: Bearer {server.key}\r\n"
    with ExitStack() as stack:
        lines = [
            stack.enter_context(closing(socket.create_connection(door, timeout=30)))
            for _ in range(70)
        ]
        for line, upload in zip(lines[:50], places, strict=True):
            line.sendall(
                f"PATCH {upload} HTTP/1.1\r\n{head}Tus-Resumable: 1.0.0\r\nUpload-Offset: 0\r\n"
                "Content-Type: application/offset+octet-stream\r\nContent-Length: 1000\r\n\r\n"
                "half".encode()
            )
        for line in lines[50:]:
            line.sendall(f"GET /api/events HTTP/1.1\r\n{head}\r\n".encode())
            assert b"retry:" in _received(line, b"\nid: ")

        began = time.monotonic()
        server.stop()
        took = time.monotonic() - began
        told = [_received(line, None) for line in lines[50:]]

    assert took < 12
    assert all(b"retry: 3000" in one for one in told)
    again = start(place, key=server.key)
    assert again.client.jobs.list().items == []
    again.stop()


@pytest.mark.timeout(120)
def test_frozen_server_does_not_stop_the_work(place: Place):
    """F-API-7: its workers go on; when it wakes it answers what is true then."""
    place.settings |= BRIEF
    with running(place) as server:
        worker = place.start("worker", "run")
        job = server.client.videos.add(clip("one_frame"), text=False)
        freeze(server.process.pid, f"sqlite:///{place.data / 'rushes.db'}")
        with ThreadPoolExecutor(1) as pool:
            asked = pool.submit(lambda: server.client.jobs.show(job.job_id))
            with place.app() as app:
                until(lambda: _status(app, job) == "completed", 60)
            assert not asked.done()
            server.process.send_signal(signal.SIGCONT)
            assert asked.result(30).status == "completed"
        worker.terminate()
        worker.communicate(timeout=30)
    _check(place)


@pytest.mark.timeout(120)
def test_crowd_before_a_busy_database_is_sent_away_and_no_lease_is_lost(
    place: Place, postgres_url: str
):
    """F-API-9, 002-066: 200 readers behind a lock get 503, Retry-After; a worker's lease holds."""
    pool = {"RUSHES_DATABASE_URL": postgres_url, "RUSHES_DATABASE_POOL_SIZE": str(POOL)}
    place.settings |= {**BRIEF, **pool}
    with running(place, "up") as server, psycopg.connect(postgres_url) as rival:
        rival.execute("LOCK TABLE uploads IN ACCESS EXCLUSIVE MODE")
        with ThreadPoolExecutor(200) as pool, place.app() as app, _visitor(server) as http:
            asked = [pool.submit(_ask, http) for _ in range(200)]
            until(lambda: sum(one.done() for one in asked) >= len(asked) - POOL)
            seen = _last_heartbeat(app)
            until(lambda: _last_heartbeat(app) > seen)
            refused = [one.result() for one in asked if one.done()]
            rival.rollback()
            told = [one.result(30) for one in asked]

        assert len(refused) == len(asked) - POOL
        assert {code for code, _ in refused} == {503}
        assert all(int(after) >= 1 for _, after in refused)
        assert sorted(code for code, _ in told)[:POOL] == [404] * POOL


@pytest.mark.timeout(120)
def test_two_servers_on_one_database_do_everything_once(place: Place, postgres_url: str):
    """F-API-10: both look after the jobs, both answer, and a film that one took the other makes."""
    place.settings |= {"RUSHES_DATABASE_URL": postgres_url}
    first = start(place, "up")
    second = start(place, "up", key=first.key)
    added = [
        server.client.videos.add(clip("one_frame"), text=False, duplicate="allow")
        for server in (first, second)
    ]
    for job, other in zip(added, (second, first), strict=True):
        until(lambda job=job, other=other: _is_over(other, job), 90)
        assert other.client.jobs.show(job.job_id).status == "completed"
    for server in (first, second):
        server.stop()

    _check(place)


def _is_over(server: Server, job: Job) -> bool:
    return server.client.jobs.show(job.job_id).status in ("completed", "failed", "killed")


def _status(app: App, job: Job) -> str:
    return app.db.read(lambda tx: jobs.get(tx, job.job_id)).status


def _check(place: Place) -> None:
    """Fail for whatever the doctor finds."""
    with place.app() as app:
        assert examine(app.engine, strict=True).findings == []
        assert doctor.examine(app.library, strict=True, deep=True).findings == []


def _visitor(server: Server) -> httpx.Client:
    """Return one client for all threads: each of its own would cost more than its request."""
    return httpx.Client(
        base_url=server.address,
        headers={"Authorization": f"Bearer {server.key}"},
        timeout=60,
        limits=httpx.Limits(max_connections=None),
    )


def _ask(http: httpx.Client) -> tuple[int, str]:
    nobody = "ffffffff-ffff-7fff-bfff-ffffffffffff"
    answer = http.get(f"/api/uploads/{nobody}")
    return answer.status_code, answer.headers.get("retry-after", "0")


def _last_heartbeat(app: App) -> int:
    [worker], _ = app.db.read(workers.list_all)
    return worker.last_heartbeat


def _received(line: socket.socket, enough: bytes | None) -> bytes:
    """Return what comes, until there is enough or the other side has left."""
    told = b""
    while enough is None or enough not in told:
        more = line.recv(65_536)
        if not more:
            break
        told += more
    return told
