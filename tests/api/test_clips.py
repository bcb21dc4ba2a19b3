"""Clips over HTTP: asked for, told of, played at once, downloaded, and nobody else's."""

from __future__ import annotations

import json
import re
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import urljoin

import pytest

from rushes.domain.person import Scope
from rushes.library import clips, edit
from rushes.store.ids import new_id
from tests.api.house import House, Visitor
from tests.library.studio import CLIP, Studio

URI = re.compile(r'URI="([^"]*)"|^([^#\s].*)$', re.MULTILINE)
JSON = {"Content-Type": "application/json"}
WRONG_TIMES: list[Any] = [-1, 2**63, 10**400, 1.5, "5000", "NaN", None, True, [], {}, 20_001]
WRONG: list[dict[str, Any]] = [
    *({"t_end": 5_000}, {"t_end": 4_999}, {"padding_ms": -1}, {"padding_ms": 10**9}),
    *({"mode": "copy"}, {"title": "a" * 501}, {"title": "\x00"}, {"expires_in": 59}),
    *({"expires_in": 10**12}, {"unknown": 1}, {"video_id": 7}, {"padding_ms": "2"}),
]


@pytest.fixture
def film(studio: Studio) -> str:
    """A film of the admin's that is ready, 20 s long."""
    film = studio.add().asset_id
    studio.finish()
    return film


def ask(visitor: Visitor, film: str, code: int = 202, **wish: Any) -> Any:
    body = {"video_id": film, "t_start": 5_000, "t_end": 8_000, **wish}
    return visitor.json("POST", "/api/clips", code=code, json=body)


def test_clip_is_asked_for_made_and_downloaded(admin: Visitor, studio: Studio, film: str):
    """002-037…039, 002-043, 002-044: queued at once, with its job; then a file, also in parts."""
    body = {"video_id": film, "t_start": 5_000, "t_end": 8_000, "title": "The vote / 1"}
    answer = admin.post("/api/clips", json=body)
    asked = answer.json()

    assert (answer.status_code, asked["status"], asked["created"]) == (202, "queued", True)
    assert answer.headers["location"] == f"/api/clips/{asked['clip_id']}"
    assert (asked["start_ms"], asked["end_ms"], asked["padding_ms"]) == (3_000, 10_000, 2_000)
    assert (asked["actual_start"], asked["actual_end"]) == (3_000, 10_000)
    assert asked["url"] is asked["provenance"] is None
    file = f"/api/clips/{asked['clip_id']}/file"
    assert "wait for job" in admin.problem("GET", file, 409)["hint"]
    job = admin.json("GET", f"/api/jobs/{asked['job_id']}")
    assert (job["job_type"], job["clip_id"]) == ("clip", asked["clip_id"])

    studio.finish()

    made = admin.json("GET", f"/api/clips/{asked['clip_id']}")
    assert (made["status"], made["percent"], made["url"]) == ("completed", 100, file)
    assert (made["frames"], made["made_by"]) == (175, "admin")
    assert made["provenance"]["source_sha256"] == studio.asset(film).sha256
    assert made["provenance"]["command"][0] == "ffmpeg"
    whole = admin.get(file)
    assert (whole.content, whole.headers["content-type"]) == (CLIP, "video/mp4")
    assert whole.headers["etag"] == f'"{made["sha256"]}"'
    assert 'filename="The vote _ 1 3.000-10.000.mp4"' in whole.headers["content-disposition"]
    part = admin.get(file, headers={"Range": "bytes=4-7"})
    assert (part.status_code, part.content) == (206, b"ftyp")
    assert ask(admin, film, 200)["created"] is False


def test_documents_path_is_the_same_door(admin: Visitor, film: str):
    """002-044: `POST /clips` answers with clip_id and status queued."""
    body = {"video_id": film, "t_start": 5_000, "t_end": 8_000}

    first = admin.json("POST", "/clips", code=202, json=body)

    assert first["status"] == "queued"
    assert ask(admin, film, 200)["clip_id"] == first["clip_id"]


def test_many_equal_requests_at_once_are_one_clip(house: House, film: str):
    """B-HTTP-14: with an idempotency key and without."""
    visitor = house.admin
    body = {"video_id": film, "t_start": 5_000, "t_end": 8_000}

    def send(headers: dict[str, str]) -> Any:
        return visitor.post("/api/clips", json=body, headers=headers)

    with ThreadPoolExecutor(8) as pool:
        plain = list(pool.map(send, [{}] * 40))
        keyed = list(pool.map(send, [{"Idempotency-Key": "one"}] * 20))

    assert {answer.status_code for answer in plain} == {200, 202}
    assert {answer.status_code for answer in keyed} <= {200, 202, 409}
    ids = {answer.json()["clip_id"] for answer in (*plain, *keyed) if answer.is_success}
    assert len(ids) == 1
    assert len(visitor.json("GET", "/api/jobs?kind=clip")["items"]) == 1
    other = {"json": {**body, "t_end": 9_000}, "headers": {"Idempotency-Key": "one"}}
    assert visitor.problem("POST", "/api/clips", 409, **other)["code"] == "IDEMPOTENCY_KEY_REUSED"


def test_clip_that_was_there_is_answered_so_again(admin: Visitor, film: str):
    """B-HTTP-14: with its key a request gets the status and the place of the first answer."""
    body = {"video_id": film, "t_start": 5_000, "t_end": 8_000}
    made = [admin.post("/api/clips", json=body, headers={"Idempotency-Key": key}) for key in "aabb"]

    assert [answer.status_code for answer in made] == [202, 202, 200, 200]
    assert len({answer.headers["location"] for answer in made}) == 1
    assert [one.headers.get("idempotency-replayed") for one in made] == [None, "true"] * 2
    assert made[0].content == made[1].content


def test_wrong_wishes_are_refused_and_nothing_is_made(admin: Visitor, film: str):
    """B-HTTP-4, B-HTTP-5, B-HTTP-7; no part of this film can be copied: it is none."""
    right = {"video_id": film, "t_start": 5_000, "t_end": 8_000}
    wrong = [{field: time} for field in ("t_start", "t_end") for time in WRONG_TIMES]

    for more in (*wrong, *WRONG):
        answer = admin.post("/api/clips", content=json.dumps({**right, **more}), headers=JSON)
        assert answer.status_code == 422, (more, answer.text)
        assert answer.headers["content-type"] == "application/problem+json"
    for number in ("NaN", "Infinity", "1e999", "9" * 400):
        body = f'{{"video_id": "{film}", "t_start": 0, "t_end": {number}}}'
        assert admin.post("/api/clips", content=body, headers=JSON).status_code in (400, 422)
        for path in ("clip-plan", "clip.m3u8"):
            admin.problem("GET", f"/api/videos/{film}/{path}?start=0&end={number}", 422)
    assert admin.post("/api/clips", json={**right, "mode": "fast"}).status_code in range(400, 500)
    assert admin.json("GET", "/api/clips")["items"] == []


def test_plan_says_what_would_be_cut_and_cuts_nothing(admin: Visitor, film: str):
    path = f"/api/videos/{film}/clip-plan?start=1010&end=19900"

    plan = admin.json("GET", path)

    assert (plan["start_ms"], plan["end_ms"]) == (0, 20_000)
    assert (plan["actual_start"], plan["actual_end"], plan["clip_id"]) == (0, 20_000, None)
    exact = admin.json("GET", f"{path}&padding_ms=0")
    assert (exact["actual_start"], exact["actual_end"]) == (1_040, 19_920)
    assert admin.json("GET", "/api/clips")["items"] == []
    made = ask(admin, film, t_start=1_010, t_end=19_900)
    assert admin.json("GET", path)["clip_id"] == made["clip_id"]


def test_clips_are_listed_in_pages_and_by_video(admin: Visitor, studio: Studio, film: str):
    """B-HTTP-8."""
    other = studio.add(b"another").asset_id
    studio.finish()
    mine = [ask(admin, film, t_start=n, t_end=n + 500)["clip_id"] for n in range(5)]
    theirs = ask(admin, other)["clip_id"]

    first = admin.json("GET", f"/api/clips?video_id={film}&limit=3")
    admin.json("DELETE", f"/api/clips/{first['next_cursor']}")  # its last clip; the place stays
    rest = admin.json("GET", f"/api/clips?video_id={film}&limit=3&cursor={first['next_cursor']}")

    found = [one["clip_id"] for one in (*first["items"], *rest["items"])]
    assert (found, rest["next_cursor"]) == (mine[::-1], None)
    assert admin.json("GET", "/api/clips/")["items"][0]["clip_id"] == theirs
    for wrong in ("limit=0", "limit=201", "cursor=x", "cursor=ffffffff"):
        admin.problem("GET", f"/api/clips?{wrong}", 422)
    admin.problem("GET", f"/api/clips?video_id={new_id()}", 404)


def test_clip_of_somebody_else_is_not_there(house: House, studio: Studio):
    """002-061, B-HTTP-6: the same answer as for one that does not exist."""
    owner = house.user("ann")
    ann, bob = house.visitor(house.key(owner)), house.visitor(house.key(house.user("bob")))
    film = studio.add(owner=owner.id).asset_id
    studio.finish()
    clip = ask(ann, film)["clip_id"]
    studio.finish()

    for path in ("", "/file"):
        ann.get(f"/api/clips/{clip}{path}").raise_for_status()
        his = bob.problem("GET", f"/api/clips/{clip}{path}", 404)
        none = bob.problem("GET", f"/api/clips/{new_id()}{path}", 404)
        assert his["code"] == none["code"]
    body = {"video_id": film, "t_start": 5_000, "t_end": 8_000}
    bob.problem("POST", "/api/clips", 404, json=body)
    bob.problem("DELETE", f"/api/clips/{clip}", 404)
    assert bob.json("GET", "/api/clips")["items"] == []
    for id in ("..", "x", "%2e%2e", clip[:3], "a" * 5_000):
        ann.problem("GET", f"/api/clips/{id}/file", 404)
    assert house.admin.json("GET", f"/api/clips/{clip[-8:]}")["clip_id"] == clip


def test_ticket_of_a_video_opens_its_clips_and_no_others(house: House, studio: Studio, film: str):
    admin, nobody = house.admin, house.visitor()
    other = studio.add(b"another").asset_id
    studio.finish()
    clip, foreign = (ask(admin, video)["clip_id"] for video in (film, other))
    studio.finish()
    ticket = admin.json("POST", f"/api/videos/{film}/ticket")["url"].removesuffix("/master.m3u8")

    assert nobody.get(f"{ticket}/clips/{clip}.mp4").content == CLIP
    nobody.problem("GET", f"{ticket}/clips/{foreign}.mp4", 404)
    nobody.problem("GET", f"/api/clips/{clip}/file", 401)
    master = nobody.get(f"{ticket}/clip.m3u8?start=7000&end=8000")
    assert nobody.get(urljoin(master.url.path, names(master.text)[-1])).is_success


def test_deleted_video_and_deleted_clip_are_gone(admin: Visitor, studio: Studio, film: str):
    clip = ask(admin, film)["clip_id"]
    studio.finish()
    doors = [
        f"/api/clips/{clip}",
        f"/api/clips/{clip}/file",
        f"/api/videos/{film}/clips/{clip}.mp4",
    ]

    edit.delete(studio.library, film)

    for door in doors:
        admin.problem("GET", door, 404)
    admin.problem("POST", "/api/clips", 404, json={"video_id": film, "t_start": 0, "t_end": 1_000})
    edit.restore(studio.library, film)
    assert {admin.get(door).status_code for door in doors} == {200}
    assert admin.json("DELETE", f"/api/clips/{clip}")["clip_id"] == clip
    for door in doors:
        admin.problem("GET", door, 404)
    admin.problem("DELETE", f"/api/clips/{clip}", 404)


def test_clip_whose_time_is_over_is_410(admin: Visitor, studio: Studio, film: str):
    """002-042."""
    clip = ask(admin, film)["clip_id"]
    studio.finish()
    [clock] = studio.db.read(lambda tx: list(tx.rows("clock")))
    assert clips.expire(studio.library, now=clock["now"] + 30 * 86_400_000) == 1

    for door in (f"/api/clips/{clip}", f"/api/clips/{clip}/file"):
        assert admin.problem("GET", door, 410)["code"] == "EXPIRED"
    admin.problem("GET", f"/api/videos/{film}/clips/{clip}.mp4", 410)
    assert admin.json("GET", "/api/clips")["items"] == []


def test_key_that_may_only_read_cuts_nothing(house: House, film: str):
    reader = house.visitor(house.key(house.user("ann"), frozenset({Scope.READ})))
    body = {"video_id": film, "t_start": 5_000, "t_end": 8_000}

    reader.problem("POST", "/api/clips", 403, json=body)


def test_instant_clip_names_the_segments_that_cover_it(admin: Visitor, film: str):
    """D2: segments of 6 s; from 7 s to 13 s it takes the second and the third, and skips 1 s."""
    master = admin.get(f"/api/videos/{film}/clip.m3u8?start=7000&end=13000")

    assert master.headers["content-type"] == "application/vnd.apple.mpegurl"
    media = {name: admin.get(urljoin(str(master.url.path), name)) for name in names(master.text)}
    assert len(media) == 3  # two qualities and the sound
    for name, answer in media.items():
        assert "#EXT-X-START:TIME-OFFSET=1,PRECISE=YES" in answer.text
        assert "#EXT-X-PLAYLIST-TYPE:VOD" in answer.text
        assert answer.text.endswith("#EXT-X-ENDLIST\n")
        segments = [one for one in names(answer.text) if one.endswith(".m4s")]
        assert segments == ["00001.m4s", "00002.m4s"]
        for one in names(answer.text):
            assert admin.get(urljoin(f"/api/videos/{film}/{name}", one)).is_success


def test_instant_clip_of_a_film_that_grows_waits_for_its_segments(admin: Visitor, studio: Studio):
    film = studio.add().asset_id
    path = f"/api/videos/{film}/clip.m3u8"
    studio.do("probe")
    studio.do("audio")
    admin.problem("GET", f"{path}?start=0&end=1000", 404)
    studio.do("transcode", 0)

    assert admin.get(f"{path}?start=0&end=1000").is_success
    assert admin.problem("GET", f"{path}?start=0&end=7000", 409)["hint"]
    for wrong in ("", "?start=0", "?start=5&end=5", "?start=-1&end=5", "?start=30000&end=31000"):
        admin.problem("GET", f"{path}{wrong}", 422)


def test_live_events_of_a_clip_carry_its_video(admin: Visitor, studio: Studio, film: str):
    clip = ask(admin, film)
    rows = studio.db.read(lambda tx: list(tx.rows("live_feed", xid="0", id=0, n=1_000)))

    found = {row["type"]: row["asset_id"] for row in rows if row["job_id"] == clip["job_id"]}
    assert found["job.submitted"] == film


def names(playlist: str) -> list[str]:
    return [quoted or line for quoted, line in URI.findall(playlist)]
