"""Requests that nobody sends by accident: each gets one problem, and the server goes on."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from threading import Barrier

import pytest

from rushes.api import limits, run
from rushes.api.run import serving
from rushes.domain.person import LOCAL, Role
from rushes.library import people
from rushes.library.people import NewUser
from tests.api.house import House, Visitor
from tests.library.studio import Studio
from tests.waiting import until
from tests.world import sql

JSON = {"Content-Type": "application/json"}
FILM = b"\x00 a film"


@pytest.fixture
def film(studio: Studio) -> str:
    added = studio.add(title="A day", text=True)
    studio.finish()
    return added.asset_id


@pytest.fixture
def door(house: House) -> Iterator[tuple[str, int]]:
    """A real server, for those who do not speak HTTP as they should."""
    with serving(house.application, "127.0.0.1", 0) as address:
        yield "127.0.0.1", int(address.rpartition(":")[2])


@pytest.mark.parametrize(
    "body, code",
    [
        (b"[" * 100_000 + b"]" * 100_000, 400),
        (b'{"title":' * 20_000 + b"1" + b"}" * 20_000, 400),
        (json.dumps({"title": "x" * 900_000}).encode(), 422),
        (b'{"title": "one", "title": "\\u0000"}', 422),
        (b'{"title": NaN}', 422),
        (b'{"title": Infinity}', 422),
        (b'{"tags": 1e999}', 422),
        (b'{"title": ' + b"9" * 400 + b"}", 422),
        (b'{"title": "\\ud800"}', 422),
        (b'{"title": "\\u0000"}', 422),
        (b'{"tags": ["\\u0000"]}', 422),
        (b'\xef\xbb\xbf{"title": ""}', (400, 422)),
        (b'{"title": "caf\xe9"}', 400),
        (b"", 422),
        (b"null", 422),
        (b"[]", 422),
        (b'"title"', 422),
    ],
    ids=range(17),
)
def test_json_that_no_program_should_send(admin: Visitor, film: str, body: bytes, code):
    """B-HTTP-4, B-HTTP-5: refused with a reason, and nothing is changed."""
    path = f"/api/videos/{film}"
    before = admin.json("GET", path)

    answer = admin.patch(path, content=body, headers=JSON)

    assert answer.status_code in (code if isinstance(code, tuple) else (code,)), answer.text
    assert answer.json()["code"] in ("MALFORMED", "INVALID_INPUT")
    assert admin.json("GET", path) == before


@pytest.mark.parametrize(
    "method, path, body",
    [
        ("POST", "/api/jobs/@last/retry", {"step": "\0"}),
        ("POST", "/api/failed/groups/retry", {"error_code": "A", "step": "\0"}),
        ("GET", "/api/videos/@last/subtitles/%00", None),
        ("PATCH", "/api/queues/%00", {"paused": False}),
    ],
)
def test_nul_is_refused_also_where_words_are_only_looked_for(
    lasting_house: House, method: str, path: str, body: dict[str, object] | None
):
    """B-HTTP-4."""
    assert lasting_house.admin.problem(method, path, 422, json=body)["code"] == "INVALID_INPUT"


@pytest.mark.parametrize("path", ["/api/videos/{film}", "/api/jobs/x"])
def test_body_that_does_not_say_its_length_is_counted(admin: Visitor, film: str, path: str):
    """B-HTTP-2, F-API-8: an endless one is cut off after a megabyte."""
    sent = 0

    def endless() -> Iterator[bytes]:
        nonlocal sent
        while sent < 50_000_000:
            sent += 100_000
            yield b"x" * 100_000

    admin.problem("PATCH", path.format(film=film), 413, content=endless(), headers=JSON)


def test_huge_body_is_refused_before_it_is_read(door: tuple[str, int], house: House):
    """F-API-8: 500 MB of JSON are announced, and none of it is waited for."""
    with closing(socket.create_connection(door, timeout=20)) as line:
        head = (
            f"PATCH /api/videos/x HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {house.master_key}"
        )
        line.sendall(f"{head}\r\nContent-Type: application/json\r\n".encode())
        line.sendall(b"Content-Length: 500000000\r\n\r\n")
        answer = line.recv(4096)

    assert answer.startswith(b"HTTP/1.1 413 ")


def test_slow_body_is_not_waited_for(
    door: tuple[str, int], house: House, monkeypatch: pytest.MonkeyPatch
):
    """B-HTTP-2: a byte now and then."""
    monkeypatch.setattr(limits, "BODY_S", 0.3)
    with closing(socket.create_connection(door, timeout=20)) as line:
        head = f"POST /api/login HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {house.master_key}"
        line.sendall(f"{head}\r\nContent-Type: application/json\r\n".encode())
        line.sendall(b"Content-Length: 100\r\n\r\n{")
        answer = b""
        while b"TOO_SLOW" not in answer and (more := line.recv(4096)):
            answer += more

    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b"TOO_SLOW" in answer


def test_headers_that_never_end_are_not_waited_for(house: House, monkeypatch: pytest.MonkeyPatch):
    """B-HTTP-2: the connection is closed."""
    monkeypatch.setattr(run, "HEADERS_MS", 300)
    with (
        serving(house.application, "127.0.0.1", 0) as address,
        closing(
            socket.create_connection(("127.0.0.1", int(address.rpartition(":")[2])), timeout=20)
        ) as line,
    ):
        line.sendall(b"GET /livez HTTP/1.1\r\nHost: x\r\nX-A: ")

        assert b"200" not in line.recv(4096)


def test_film_that_stops_coming_keeps_what_has_come(
    door: tuple[str, int], house: House, monkeypatch: pytest.MonkeyPatch
):
    """B-HTTP-2: as if the connection had broken."""
    monkeypatch.setattr(limits, "IDLE_S", 0.3)
    tus = {"Tus-Resumable": "1.0.0", "Upload-Length": "1000"}
    place = house.admin.post("/api/uploads", headers=tus).headers["location"]
    with closing(socket.create_connection(door, timeout=20)) as line:
        line.sendall(
            f"PATCH {place} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {house.master_key}\r\n"
            "Tus-Resumable: 1.0.0\r\nUpload-Offset: 0\r\nContent-Length: 1000\r\n"
            "Content-Type: application/offset+octet-stream\r\n\r\n".encode()
            + b"\x00" * 400
        )
        line.recv(4096)

    assert house.admin.head(place, headers=tus).headers["upload-offset"] == "400"


def test_sender_who_leaves_in_the_middle_is_no_failure_of_the_server(
    door: tuple[str, int], house: House, caplog: pytest.LogCaptureFixture
):
    """A tab that is closed writes no stack trace into the log."""
    caplog.set_level("INFO", "rushes")
    with closing(socket.create_connection(door, timeout=20)) as line:
        line.sendall(
            "POST /api/videos HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n"
            f"Authorization: Bearer {house.master_key}\r\n"
            "Content-Type: multipart/form-data; boundary=b\r\n\r\n--b\r\n".encode()
        )

    until(lambda: "left before its end" in caplog.text)
    assert [one for one in caplog.records if one.levelname == "ERROR"] == []


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "gzip, gzip"])
@pytest.mark.parametrize("path", ["/api/videos", "/api/uploads", "/api/login"])
def test_packed_body_is_not_unpacked(admin: Visitor, path: str, encoding: str):
    """B-HTTP-3."""
    admin.problem("POST", path, 415, headers={"Content-Encoding": encoding}, content=b"\x1f\x8b")


@pytest.mark.parametrize(
    "method, path, code",
    [
        ("TRACE", "/api/jobs", 405),
        ("PUT", "/api/videos", 405),
        ("FILM", "/api/videos", 405),
        ("GET", "/api/login", 405),
        ("GET", "/api/nothing", 404),
        ("GET", "/api//jobs", 404),
        ("GET", "/../etc/passwd", 404),
    ],
)
def test_method_or_path_that_is_not_there(admin: Visitor, method: str, path: str, code: int):
    """B-HTTP-12."""
    admin.problem(method, path, code)


@pytest.mark.parametrize(
    "options, code",
    [
        ({"content": b"x", "headers": {"Content-Type": "text/plain"}}, 415),
        ({"content": b"x", "headers": {"Content-Type": "application/x-www-form-urlencoded"}}, 415),
        ({"content": b"x"}, 415),
        ({"content": b"x", "headers": {"Content-Type": "multipart/form-data"}}, 400),
        (
            {
                "content": b"x",
                "headers": {"Content-Type": f"multipart/form-data; boundary={'b' * 5000}"},
            },
            400,
        ),
        ({"data": {"file": "no file"}, "files": {"other": ("a.mp4", FILM)}}, 422),
        ({"files": [("file", ("a.mp4", FILM)), ("file", ("b.mp4", FILM))]}, 400),
        ({"files": [("file", ("a.mp4", FILM)), *((f"f{n}", (None, "x")) for n in range(9))]}, 400),
        ({"files": [("file", (None, FILM))]}, 422),
        ({"files": {"file": ("a.mp4", FILM)}, "data": {"title": "x" * 20_000}}, 400),
        ({"files": {"file": ("a.mp4", FILM)}, "data": {"title": "\x00"}}, 422),
        ({"files": {"file": ("a.mp4", FILM)}, "data": {"color": "red"}}, 422),
        ({"files": {"file": ("a.mp4", b"")}}, 422),
    ],
    ids=range(13),
)
def test_form_that_is_none(admin: Visitor, studio: Studio, options, code: int):
    """B-HTTP-12: nothing is added, and nothing is left behind."""
    admin.problem("POST", "/api/videos", code, **options)

    assert admin.json("GET", "/api/videos")["items"] == []
    assert not [*(studio.storage.root / "uploads").glob("*")]


def test_form_of_ten_thousand_parts_is_refused(admin: Visitor):
    """B-HTTP-12."""
    part = b'--b\r\nContent-Disposition: form-data; name="title"\r\n\r\nx\r\n'
    headers = {"Content-Type": "multipart/form-data; boundary=b"}

    admin.problem("POST", "/api/videos", 400, content=part * 10_000 + b"--b--", headers=headers)


def test_film_of_nobody_is_not_read(house: House):
    """Who sends it is asked first."""
    read = []

    def content() -> Iterator[bytes]:
        for _ in range(100):
            read.append(1)
            yield b"x" * 100_000

    headers = {"Content-Type": "multipart/form-data; boundary=b"}
    answer = house.visitor().post("/api/videos", content=content(), headers=headers)

    assert answer.status_code == 401


def test_same_key_from_many_at_once_makes_one_job(house: House, film: str):
    """B-HTTP-14: all others are told that it is at work, or get the first answer."""
    at_once = Barrier(16)

    def ask(_: int) -> tuple[int, str]:
        visitor = house.admin
        at_once.wait()
        answer = visitor.post(
            f"/api/videos/{film}/retranscode", headers={"Idempotency-Key": "one"}, json={}
        )
        return answer.status_code, answer.json().get("job_id") or answer.json()["code"]

    with ThreadPoolExecutor(16) as pool:
        told = list(pool.map(ask, range(16)))

    assert {code for code, _ in told} <= {202, 409}
    assert len({job for code, job in told if code == 202}) == 1
    assert {what for code, what in told if code == 409} <= {"IDEMPOTENCY_IN_PROGRESS"}
    assert len(sql(house.studio.db, "SELECT id FROM jobs")) == 2


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"X-Forwarded-Host": "evil.example"},
        {"X-Forwarded-For": "6.6.6.6"},
        {"X-Forwarded-Proto": "https"},
        {"Forwarded": "for=6.6.6.6;host=evil.example;proto=https"},
    ],
    ids=lambda headers: next(iter(headers)),
)
def test_what_a_stranger_says_about_the_way_here_is_not_believed(
    house: House, admin: Visitor, film: str, headers: dict[str, str]
):
    """B-HTTP-15: no address of theirs in an answer, in a cookie or in the audit log."""
    eve = NewUser(name="eve", role=Role.USER, password="correct horse battery")
    people.add_user(house.studio.db, LOCAL, eve)
    login = house.visitor().post(
        "/api/login", json={"name": "eve", "password": "correct horse battery"}, headers=headers
    )
    again = admin.post(f"/api/videos/{film}/retranscode", headers=headers)
    master = admin.get(f"/api/videos/{film}/master.m3u8", headers=headers)

    told = f"{login.headers} {again.headers} {master.text}"
    assert "evil" not in told
    assert again.headers["location"].startswith("/api/jobs/")
    assert "secure" not in login.headers["set-cookie"].lower()
    addresses = {entry["address"] for entry in admin.json("GET", "/api/audit")["items"]}
    assert addresses <= {"testclient", ""}


def test_words_of_strangers_stay_words(admin: Visitor, film: str):
    """B-HTTP-9, B-HTTP-13: quotes, wildcards, templates and line ends are stored as they are."""
    for title in ("%' OR 1=1 --", "a_b%", "{{7*7}} ${jndi:x}", "one\ttwo"):
        assert admin.json("PATCH", f"/api/videos/{film}", json={"title": title})["title"] == title
    assert admin.json("GET", "/api/videos?tag=%25")["items"] == []
    admin.problem("GET", "/api/videos/%25", 404)
    admin.problem("GET", "/api/jobs/____", 404)


def test_request_id_is_ours_unless_it_is_plain(admin: Visitor):
    """B-HTTP-9: what would forge a line of the log is not taken over."""
    plain = admin.get("/api/me", headers={"X-Request-Id": "abc-1"})
    odd = admin.get("/api/me", headers={"X-Request-Id": "x" * 65})

    assert plain.headers["x-request-id"] == "abc-1"
    assert len(odd.headers["x-request-id"]) == 36
