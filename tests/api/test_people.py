"""Who comes in: keys, logins, sessions of a page; and what each may do."""

from __future__ import annotations

import hashlib
from contextlib import closing
from pathlib import Path

import pytest

from rushes.api.throttle import WINDOW_S, Throttle
from rushes.domain.person import LOCAL, Role, Scope
from rushes.errors import TooMany
from rushes.library import audit, people, sessions
from rushes.library.people import NewUser
from rushes.settings import Settings
from tests.api.house import House, Visitor, open_house
from tests.library.studio import Studio
from tests.world import sql

PASSWORD = "correct horse battery"
SITE = {"Origin": "http://testserver", "Sec-Fetch-Site": "same-origin"}


@pytest.fixture
def page(house: House) -> Visitor:
    """A browser in which ann is logged in."""
    return log_in(house, "ann", Role.USER)


def log_in(house: House, name: str, role: Role) -> Visitor:
    people.add_user(house.studio.db, LOCAL, NewUser(name=name, role=role, password=PASSWORD))
    visitor = house.visitor()
    me = visitor.json("POST", "/api/login", json={"name": name.title(), "password": PASSWORD})
    visitor.headers["X-CSRF-Token"] = me["csrf"]
    return visitor


def test_nobody_is_told_how_to_come_in(house: House):
    problem = house.visitor().problem("GET", "/api/jobs", 401)

    assert problem["code"] == "UNAUTHENTICATED"
    assert "Authorization" in problem["hint"]


@pytest.mark.parametrize("key", ["", "rsh_user_aaaaaaaaaa_" + "a" * 43, "x" * 5000, "Bearer"])
def test_wrong_key_is_refused(house: House, key: str):
    house.visitor(headers={"Authorization": f"Bearer {key}"}).problem("GET", "/api/jobs", 401)


def test_page_logs_in_and_out(page: Visitor):
    me = page.json("GET", "/api/me")
    assert (me["name"], me["csrf"]) == ("ann", page.headers["X-CSRF-Token"])
    [session] = page.json("GET", "/api/sessions")["items"]
    assert session["is_this"]

    left = page.post("/api/logout")
    gone = {one.partition("=")[0]: "Secure" in one for one in left.headers.get_list("set-cookie")}
    assert (left.status_code, gone) == (204, {"rushes": False, "__Host-rushes": True})
    page.problem("GET", "/api/me", 401)


def test_cookie_is_out_of_reach_for_scripts(page: Visitor):
    cookie = (
        page.post("/api/login", json={"name": "ann", "password": PASSWORD})
        .headers["set-cookie"]
        .lower()
    )

    assert "httponly" in cookie
    assert "samesite=lax" in cookie


@pytest.mark.parametrize(
    "peer, address, name",
    [
        ("10.0.0.1", "1.2.3.4", "__Host-rushes"),
        ("10.0.1.1", "10.0.1.1", "rushes"),
        ("testclient", "testclient", "rushes"),
    ],
)
def test_trusted_proxy_alone_says_whose_request_it_is_and_that_it_came_by_tls(
    studio: Studio, tmp_path: Path, peer: str, address: str, name: str
):
    """B-HTTP-15: what a client added itself comes before what the proxies added."""
    people.add_user(studio.db, LOCAL, NewUser(name="ann", role=Role.USER, password=PASSWORD))
    told = {"X-Forwarded-For": "6.6.6.6, 1.2.3.4, fd00::7", "X-Forwarded-Proto": "https"}
    settings = Settings(data=tmp_path, trusted_proxies=("10.0.0.1", "fd00::/64"))
    house, notifier = open_house(studio, settings)

    with closing(notifier):
        browser = Visitor(house.application, client=(peer, 4000), headers=told)
        login = browser.post("/api/login", json={"name": "ann", "password": PASSWORD})

    cookie = login.headers["set-cookie"]
    assert (cookie.partition("=")[0], "Secure" in cookie) == (name, name != "rushes")
    assert audit.page(studio.db)[0].address == address


def test_wrong_password_and_unknown_name_are_one_answer(page: Visitor):
    """B-HTTP-18."""
    wrong = page.problem("POST", "/api/login", 401, json={"name": "ann", "password": "x" * 12})
    unknown = page.problem("POST", "/api/login", 401, json={"name": "eve", "password": "x" * 12})

    assert (wrong["detail"], wrong["code"]) == (unknown["detail"], unknown["code"])


def test_guessing_is_slowed_down(page: Visitor):
    """B-HTTP-18: ten tries in a minute for one name from one address."""
    answers = [
        page.post("/api/login", json={"name": "ann", "password": "wrong password"})
        for _ in range(12)
    ]

    assert answers[-1].status_code == 429
    assert int(answers[-1].headers["retry-after"]) > 0


def test_guessing_keys_is_slowed_down(house: House):
    """B-HTTP-18: ten wrong ones in a minute for one key and address; no others."""
    right, other = house.key(house.user("ann")), house.key(house.user("bob"))
    wrong = house.visitor(right[:-4] + "AAAA")

    told = [wrong.get("/api/me").status_code for _ in range(12)]
    refused = house.visitor(right).get("/api/me")

    assert told == [401] * 10 + [429] * 2
    assert (refused.status_code, house.visitor(other).get("/api/me").status_code) == (429, 200)
    assert 0 < int(refused.headers["retry-after"]) <= 60


def test_nonsense_keys_keep_no_page_out(house: House, page: Visitor):
    """B-HTTP-18: what somebody else tries at the same address is not the fault of a session."""
    nonsense = house.visitor("nonsense")

    told = [nonsense.get("/api/me").status_code for _ in range(12)]

    assert told == [401] * 10 + [429] * 2
    assert page.get("/api/me").status_code == 200


def test_guesses_are_forgotten_after_a_minute():
    now = [0.0]
    guesses = Throttle(10, "too many", lambda: now[0])
    for _ in range(10):
        guesses.count(("here", "key"))
    with pytest.raises(TooMany):
        guesses.check(("here", "key"))

    now[0] = WINDOW_S
    guesses.check(("here", "key"))
    guesses.count(("here", "key"))
    guesses.check(("here", "key"))


@pytest.mark.parametrize(
    "headers",
    [
        {"X-CSRF-Token": ""},
        {"X-CSRF-Token": "forged"},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://["},
        {"Sec-Fetch-Site": "cross-site"},
    ],
)
def test_other_sites_cannot_use_the_session_of_a_page(page: Visitor, headers):
    """B-HTTP-16: reading is fine, changing is not."""
    page.problem("POST", "/api/keys", 403, headers=headers, json={"name": "x", "scopes": ["read"]})
    assert page.json("GET", "/api/keys")["items"] == []


def test_key_is_made_once_and_shown_once(page: Visitor, house: House):
    """003-063: sent again with its Idempotency-Key, the request finds the key, and no secret."""
    body, headers = {"name": "script", "scopes": ["read"]}, {"Idempotency-Key": "k"}

    first = page.json("POST", "/api/keys", code=201, json=body, headers=headers)
    again = page.json("POST", "/api/keys", code=201, json=body, headers=headers)

    assert first["key"].startswith("rsh_")
    assert again == {**first, "key": None}
    assert len(page.json("GET", "/api/keys")["items"]) == 1
    secret = first["key"][-43:]
    assert secret not in repr(sql(house.studio.db, "SELECT * FROM replies"))


def test_password_of_a_new_user_leaves_no_trace_in_what_is_kept(house: House):
    chief = log_in(house, "chief", Role.ADMIN)
    body, headers = {"name": "eve", "password": PASSWORD}, {"Idempotency-Key": "k"}

    first, again = (
        chief.json("POST", "/api/users", code=201, json=body, headers=headers) for _ in "ab"
    )
    chief.problem("POST", "/api/users", 409, json={"name": "bob"}, headers=headers)

    assert first == again
    [kept] = sql(house.studio.db, "SELECT fingerprint FROM replies")
    assert kept["fingerprint"] == hashlib.sha256(b"user eve").hexdigest()


def test_page_makes_a_key_that_can_do_no_more_than_it_says(page: Visitor, house: House):
    made = page.json("POST", "/api/keys", code=201, json={"name": "script", "scopes": ["read"]})

    script = house.visitor(made["key"])
    assert script.json("GET", "/api/me")["scopes"] == ["read"]
    script.problem("POST", "/api/keys", 403, json={"name": "more", "scopes": ["read"]})
    script.problem("DELETE", "/api/videos/00000000-0000-7000-8000-000000000000", 403)
    assert page.json("DELETE", f"/api/keys/{made['key_id']}")["revoked_at"]
    script.problem("GET", "/api/me", 401)


def test_user_is_no_admin(page: Visitor):
    for path in ("/api/users", "/api/workers", "/api/queues", "/api/audit"):
        page.problem("GET", path, 403)
    page.problem("POST", "/api/users", 403, json={"name": "eve"})
    page.problem("POST", "/api/keys", 403, json={"name": "x", "scopes": ["admin"]})


def test_admin_lets_people_in_and_keeps_them_out(house: House, admin: Visitor, page: Visitor):
    local = house.visitor()
    link = sessions.make_link(house.studio.db, LOCAL)
    me = local.json("POST", "/api/login/link", json={"token": link})
    local.headers["X-CSRF-Token"] = me["csrf"]

    bob = local.json("POST", "/api/users", code=201, json={"name": "bob", "password": PASSWORD})
    local.json("POST", "/api/users/ann/disable")

    assert bob["role"] == "user"
    assert {user["name"] for user in local.json("GET", "/api/users")["items"]} == {"ann", "bob"}
    page.problem("GET", "/api/me", 401)
    local.problem("POST", "/api/login/link", 401, json={"token": link})
    actions = [entry["action"] for entry in admin.json("GET", "/api/audit")["items"]]
    assert "user.disable" in actions


def test_deeds_are_written_down_with_who_and_whence(admin: Visitor, studio: Studio):
    """Kills, retries, deletes, restores, pauses and drains; what changes nothing is no deed."""
    film = studio.add()
    clip = {"video_id": film.asset_id, "t_start": 0, "t_end": 500}
    studio.finish()
    made = admin.json("POST", "/api/clips", code=202, json=clip)
    for _ in "ab":
        admin.json("POST", f"/api/jobs/{made['job_id']}/kill")
    admin.json("POST", f"/api/jobs/{made['job_id']}/retry", code=202)
    admin.json("DELETE", f"/api/clips/{made['clip_id']}")
    admin.json("DELETE", f"/api/videos/{film.asset_id}")
    admin.json("POST", f"/api/videos/{film.asset_id}/restore")
    for paused in (True, False, False):
        admin.json("PATCH", "/api/queues/ocr", json={"paused": paused})
    for state in ("drain", "resume", "disable"):
        admin.json("PATCH", "/api/workers/hands", json={"state": state})

    told = admin.json("GET", "/api/audit")["items"]

    deeds = [(one["action"], one["object"]) for one in told if one["address"] == "testclient"]
    assert deeds[::-1] == [
        ("job.kill", f"job {made['job_id']}"),
        ("job.retry", f"job {made['job_id']}"),
        ("clip.delete", f"clip {made['clip_id']}"),
        ("video.delete", f"video {film.asset_id}"),
        ("video.restore", f"video {film.asset_id}"),
        *(("kind.pause", "kind ocr"), ("kind.resume", "kind ocr")),
        *(("worker.drain", "worker hands"), ("worker.resume", "worker hands")),
        ("worker.disable", "worker hands"),
    ]
    assert {(one["actor"], bool(one["credential"])) for one in told[: len(deeds)]} == {
        ("admin", True)
    }


def test_every_answer_has_its_number_and_its_headers(admin: Visitor):
    answer = admin.get("/api/me", headers={"X-Request-Id": "mine-1"})
    forged = admin.get("/api/me", headers={"X-Request-Id": "x" * 100})

    assert answer.headers["x-request-id"] == "mine-1"
    assert len(forged.headers["x-request-id"]) == 36
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["cache-control"] == "no-store"


def test_scopes_are_words_of_a_closed_list():
    assert {str(scope) for scope in Scope} == {"read", "upload", "write", "admin"}
