"""One client for both worlds: the same answers, the same errors, jobs to wait for."""

from __future__ import annotations

import doctest
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from rushes import Client, JobFailed, JobKilled, WaitTimedOut
from rushes.client import stream, tus
from rushes.domain.failure import failure
from rushes.domain.job import Status
from rushes.domain.outcome import Failed
from rushes.domain.person import Scope
from rushes.engine import operator
from rushes.engine.complete import report
from rushes.errors import (
    ActiveJobExists,
    Conflict,
    Forbidden,
    Invalid,
    NotFound,
    Permanent,
    RushesError,
    TooMany,
    Unauthenticated,
    Unavailable,
)
from rushes.library import edit, indexing, layout
from rushes.library.indexing import Line, Source
from rushes.wire.http import check_key, check_server
from rushes.wire.problems import error_of
from tests.client.server import Served, Wire
from tests.library.studio import HEAD, Studio

NOBODY = "ffffffff-ffff-7fff-bfff-ffffffffffff"
FILM = HEAD + b"a film"
SRT = b"1\n00:00:01,000 --> 00:00:02,000\nHello\n"
Question = Callable[[Client, str, str], Any]

QUESTIONS: dict[str, Question] = {
    "jobs.list": lambda c, *_: c.jobs.list(limit=1),
    "jobs.list of a status": lambda c, *_: c.jobs.list(status="queued"),
    "jobs.counts": lambda c, *_: c.jobs.counts(),
    "jobs.show": lambda c, job, _: c.jobs.show(job),
    "jobs.get": lambda c, *_: c.jobs.get("@last"),
    "jobs.why": lambda c, *_: c.jobs.why("@last"),
    "jobs.events": lambda c, job, _: c.jobs.events(job),
    "jobs.logs": lambda c, job, _: c.jobs.logs(job),
    "jobs.failed": lambda c, *_: c.jobs.failed(),
    "videos.list": lambda c, *_: c.videos.list(tag="home"),
    "videos.list deleted": lambda c, *_: c.videos.list(deleted=True),
    "videos.show": lambda c, _, film: c.videos.show(film),
    "videos.get": lambda c, _, film: c.videos.get(film[-8:]),
    "videos.files": lambda c, _, film: c.videos.files(film),
    "search": lambda c, *_: c.search("hello", limit=5),
    "search in a film": lambda c, _, film: c.search("hello", video=film, mode="fuzzy"),
    "search for nothing": lambda c, *_: c.search("nothing"),
    "search.suggest": lambda c, *_: c.search.suggest("hel"),
    "search.heatmap": lambda c, _, film: c.search.heatmap(film, text="hello", bins=10),
    "subtitles.put": lambda c, _, film: c.subtitles.put(film, "en", SRT),
    "subtitles.list": lambda c, _, film: c.subtitles.list(film),
    "workers.list": lambda c, *_: c.workers.list(),
    "workers.show": lambda c, *_: c.workers.show("hands"),
    "queue.list": lambda c, *_: c.queue.list(),
    "users.list": lambda c, *_: c.users.list(),
}


def failed_film(studio: Studio) -> str:
    """A job whose first task failed for good."""
    job_id = studio.add(b"broken").job_id
    held = studio.take("probe")
    broken = failure("SOURCE_CORRUPT", "it is not a film", error_type="Permanent", retryable=False)
    report(studio.engine, studio.owner, [Failed(held.id, held.epoch, broken)])
    return job_id


@pytest.mark.parametrize("question", QUESTIONS)
def test_server_and_library_answer_the_same(server: Served, far: Client, studio: Studio, question):
    """Shown for a film that is made, one that waits, one that is deleted and one that failed."""
    made = studio.add(title="A day", tags=("home",), text=True)
    studio.finish()
    layout.run_once(studio.library)
    gone = studio.add(b"gone").asset_id
    edit.delete(studio.library, gone)
    failed_film(studio)
    studio.add(b"waits")

    ask = QUESTIONS[question]
    here = ask(Client.at(server.app.library), made.job_id, made.asset_id)
    there = ask(far, made.job_id, made.asset_id)

    assert there == here


@pytest.mark.parametrize("moment", ["queued", "begun", "playable", "ready", "failed"])
def test_whoever_looks_on_sees_the_same(server: Served, far: Client, studio: Studio, moment: str):
    """A server is asked for the job and for its film; the library looks only once."""
    job_id = failed_film(studio) if moment == "failed" else studio.add(text=True).job_id
    if moment in ("begun", "playable"):
        studio.do("probe")
    if moment == "playable":
        studio.do("audio")
        studio.do("transcode", 0)
    if moment == "ready":
        studio.finish()
    layout.run_once(studio.library)

    here, there = (
        one.jobs.sight(job_id).model_dump() for one in (Client.at(server.app.library), far)
    )

    playlist = f"{server.url}/api/videos/{here['asset_id']}/master.m3u8"
    is_playable = moment in ("playable", "ready")
    assert there.pop("playlist") == (playlist if is_playable else None)
    assert (here.pop("playlist") is not None) == is_playable
    assert there == here


def test_long_list_is_asked_for_in_pages(far: Client, studio: Studio, monkeypatch):
    monkeypatch.setattr("rushes.client.remote.LARGEST_PAGE", 2)
    made = [studio.add(f"film {n}".encode()).asset_id for n in range(5)]

    some, rest = far.videos.list(limit=3), far.videos.list(limit=50)

    assert [video.asset_id for video in some.items] == made[:1:-1]
    assert some.next_cursor == made[2]
    assert [video.asset_id for video in rest.items] == made[::-1]
    assert rest.next_cursor is None


def test_deeds_have_the_same_effect_through_both_doors(client: Client, studio: Studio):
    film = studio.add()
    client.queue.pause("transcode", reason="too hot")
    client.jobs.set_priority(film.job_id, 8)
    client.videos.edit(film.asset_id, title="A night", tags=["b", "a"])
    killed = client.jobs.kill(film.job_id, reason="wrong file")
    tasks = client.jobs.retry(film.job_id)

    [kind] = [one for one in client.queue.list().items if one.kind == "transcode"]
    video = client.videos.get(film.asset_id)
    assert (kind.paused, kind.paused_reason) == (True, "too hot")
    assert client.queue.resume("transcode").paused is False
    assert (killed.status, killed.killed_reason, killed.priority) == (
        *(Status.KILLED, "wrong file"),
        8,
    )
    assert tasks == len(client.jobs.show(film.job_id).tasks)
    assert (video.title, video.tags) == ("A night", ["b", "a"])
    assert client.videos.delete(film.asset_id).stopped_job == film.job_id
    assert client.videos.restore("@last").asset_id == film.asset_id


def test_change_of_what_somebody_else_changed_is_refused(client: Client, studio: Studio):
    film = studio.add().asset_id
    seen = client.videos.get(film)
    client.videos.edit(film, title="theirs")

    with pytest.raises(Conflict):
        client.videos.edit(film, title="ours", revision=seen.revision)

    assert client.videos.get(film).title == "theirs"


@pytest.mark.parametrize(
    "deed, expected",
    [
        (lambda c, film: c.jobs.show(NOBODY), NotFound),
        (lambda c, film: c.jobs.show("counts"), NotFound),
        (lambda c, film: c.jobs.show(""), NotFound),
        (lambda c, film: c.videos.show("../jobs"), NotFound),
        (lambda c, film: c.workers.show("no/body"), NotFound),
        (lambda c, film: c.workers.show(""), NotFound),
        (lambda c, film: c.workers.show(".."), NotFound),
        (lambda c, film: c.jobs.why(film.job_id, task=999), NotFound),
        (lambda c, film: c.queue.resume("nothing"), NotFound),
        (lambda c, film: c.queue.pause("nothing"), Invalid),
        (lambda c, film: c.jobs.list(status="done"), Invalid),
        (lambda c, film: c.jobs.kill(film.job_id, reason="x" * 501), Invalid),
        (lambda c, film: c.jobs.set_priority(film.job_id, 11), Invalid),
        (lambda c, film: c.jobs.retry(film.job_id), Conflict),
        (lambda c, film: c.videos.restore(film.asset_id), Conflict),
        (lambda c, film: c.videos.restore("@last"), NotFound),
        (lambda c, film: c.videos.text(film.asset_id), Conflict),
        (lambda c, film: c.videos.retranscode(film.asset_id), ActiveJobExists),
    ],
)
def test_what_is_refused_is_the_same_error(client: Client, studio: Studio, deed, expected):
    film = studio.add()
    before = client.jobs.show(film.job_id)

    with pytest.raises(expected) as refused:
        deed(client, film)

    assert type(refused.value) is expected
    assert refused.value.code == expected.code
    assert client.jobs.show(film.job_id) == before


def test_key_opens_only_what_it_may(server: Served, studio: Studio):
    film = studio.add()

    with Client(server.url, key=server.key_for(Scope.READ)) as reader:
        assert reader.jobs.get(film.job_id).status is Status.QUEUED
        assert reader.me().scopes == [Scope.READ]
        with pytest.raises(Forbidden):
            reader.jobs.kill(film.job_id)
    for key in ("rsh_user_nobodynobo_secret", None):
        with Client(server.url, key=key) as nobody, pytest.raises(Unauthenticated):
            nobody.jobs.list()


def test_server_that_is_not_there_is_unavailable():
    with (
        Client("http://127.0.0.1:9") as client,
        pytest.raises(Unavailable, match="nobody answers at http"),
    ):
        client.jobs.list()


@pytest.mark.parametrize("status, body", [(200, b"<html>"), (404, b"no"), (504, b""), (302, b"")])
def test_answer_of_another_program_is_no_answer(status: int, body: bytes):
    with stranger(status, body) as url, Client(url) as client, pytest.raises(Unavailable) as told:
        client.jobs.list()

    assert url in told.value.message


@pytest.mark.parametrize(
    "server",
    [
        "",
        "films",
        "ftp://films",
        "http://",
        "http://ann:geheim@films",
        "http://films?x",
        "http://[:",
    ],
)
def test_address_that_is_none_is_refused(server: str):
    with pytest.raises(Invalid):
        check_server(server)


@pytest.mark.parametrize("key", ["", "a b", "schlüssel", "a\nb", "\x00"])
def test_key_that_cannot_be_sent_is_refused_and_not_shown(key: str):
    with pytest.raises(Invalid) as refused:
        check_key(key)

    assert refused.value.message == "this is not a key"


@pytest.mark.parametrize(
    "status, code, expected, shown",
    [
        (404, "NOT_FOUND", NotFound, 404),
        (409, "TOO_MANY_UPLOADS", Conflict, 409),
        (422, "SOURCE_EMPTY", Permanent, 500),
        (507, "DISK_FULL", Permanent, 500),
        (429, "RATE_LIMITED", TooMany, 429),
        (503, "UNAVAILABLE", Unavailable, 503),
        (418, "TEAPOT", RushesError, 418),
        (400, "MALFORMED", RushesError, 400),
    ],
)
def test_problem_becomes_the_error_that_it_was(status, code, expected, shown):
    body = b'{"code": "%s", "detail": "it broke", "hint": "mend it", "offset": 7}' % code.encode()

    error = error_of(status, body, "http://films")

    assert type(error) is expected
    assert (error.message, error.hint, error.status) == ("it broke", "mend it", shown)
    assert getattr(error, "error_code", error.code) == code
    assert error.detail == {"offset": 7}


def test_deed_whose_answer_is_lost_is_done_once(server: Served, studio: Studio):
    """003-063: it is sent again with its idempotency key."""
    studio.add()
    studio.finish()
    with Wire(server.url, [-1]) as wire, Client(wire.url, key=server.key) as client:
        added = client.videos.retranscode("@last")

        assert wire.connections == 2
    [first, second] = Client.at(server.app.library).videos.show(added.asset_id).versions
    assert (first.version, second.version, second.job_id) == (1, 2, added.job_id)


def test_library_of_this_machine_is_the_default(settings, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("RUSHES_DATABASE_URL", settings.url)
    path = Path("film.mp4")
    path.write_bytes(FILM)

    with Client(data=settings.folder) as client:
        job = client.videos.add(path, title="A day", tags=["home"], text=False)

        video = client.videos.get(job.asset_id)
        assert (video.title, video.tags, video.job_id) == ("A day", ["home"], job.job_id)
        assert client.me().name == "local"


def test_film_that_is_ready_has_a_result(client: Client, studio: Studio, tmp_path: Path):
    (tmp_path / "film.mp4").write_bytes(FILM)
    job = client.videos.add(tmp_path / "film.mp4", text=False)
    with pytest.raises(WaitTimedOut):
        job.wait(timeout=0)

    studio.finish()

    assert job.wait(timeout=20).status is Status.COMPLETED
    assert job.result() == client.jobs.get(job.job_id).result
    assert [event.type for event in job.watch()][-1] == "job.completed"


def test_job_that_failed_raises_its_code_phase_and_hint(client: Client, studio: Studio):
    """004-016: why, where, and what to do."""
    job = client.job(failed_film(studio))

    with pytest.raises(JobFailed, match="it is not a film") as failed:
        job.result()

    told = failed.value
    assert (told.code, told.phase, told.job.status) == (
        "SOURCE_CORRUPT",
        "init",
        Status.FAILED,
    )
    assert told.hint == told.job.hint


def test_job_that_was_killed_raises_by_whom(client: Client, studio: Studio):
    film = studio.add()
    operator.kill(studio.engine, film.job_id, name="ann", reason="wrong file")

    with pytest.raises(JobKilled, match="killed by ann: wrong file"):
        client.job(film.job_id).result()


@pytest.mark.parametrize("module", [stream, tus], ids=lambda module: module.__name__)
def test_examples_hold(module):
    assert doctest.testmod(module).failed == 0


class stranger:  # noqa: N801  (used like a function)
    """A program that is not Rushes."""

    def __init__(self, status: int, body: bytes) -> None:
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_response(status)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self._server = HTTPServer(("127.0.0.1", 0), Handler)

    def __enter__(self) -> str:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{self._server.server_port}"

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


def test_hits_are_gone_through_like_a_list(server: Served, far: Client, studio: Studio):
    """Over HTTP in as many pages as it takes, and in the same order."""
    film = studio.add(text=True).asset_id
    lines = [Line(Source.SCREEN, n, n + 1, f"common {n}") for n in range(450)]
    studio.db.transact(lambda tx: indexing.put(tx, film, lines))

    for limit in (200, 430):  # a page that is full, and some with a rest
        here = [hit.text for hit in Client.at(server.app.library).search("common", limit=limit)]
        there = far.search("common", limit=limit)

        assert here == [hit.text for hit in there] == [f"common {n}" for n in range(limit)]
        assert there.next_cursor is not None
    far.subtitles.put(film, "en", SRT)
    far.subtitles.remove(film, "en")
    assert far.subtitles.list(film).items == []
