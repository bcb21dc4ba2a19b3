"""Two people: whatever belongs to the other is not there, on any route."""

from __future__ import annotations

import re

import pytest
from fastapi.routing import APIRoute

from rushes.api.server import API, ROUTERS
from rushes.domain.failure import failure
from rushes.domain.outcome import Failed
from rushes.domain.person import LOCAL
from rushes.engine.complete import report
from rushes.library import people
from tests.api.house import House, Visitor
from tests.library.studio import Studio

IDS = re.compile(r"{(\w+)(:path)?}")
# what each parameter of a path stands for, and a body where a route needs one
BODIES: dict[str, object] = {
    "PATCH /api/videos/{video_id}": {"title": "mine now"},
    "PATCH /api/jobs/{job_id}": {"priority": 1},
}
RANGE = {"start": 0, "end": 1_000}
# routes that name nothing of anybody's, or things that only admins have
OTHERS = re.compile(
    r"/api/(login|login/link|logout|me|sessions|keys|users|audit|workers|queues|failed/groups)\b.*"
    r"|/api/worker/.*|/api/(videos|videos/import|jobs|uploads|clips|events|health)/?"
    r"|/api/(videos|jobs)/counts|/api/search(/suggest|/export)?"
    r"|/media/.*|/(clips|health|livez|readyz|metrics|version)|/openapi.json"
)


def test_every_route_with_an_id_hides_what_is_not_yours(house: House, studio: Studio):
    """002-061: every route and every id of the other; a new route is tried by itself."""
    ann, bob = (_person(house, name) for name in ("ann", "bob"))
    owner = people.list_users(studio.db, LOCAL)[0].id
    theirs = studio.add(owner=owner, title="secret", text=True)
    studio.finish()
    upload = _begun_upload(ann)
    body = {"video_id": theirs.asset_id, "t_start": 0, "t_end": 1_000}
    clip = ann.json("POST", "/api/clips", code=202, json=body)["clip_id"]
    studio.finish()
    ids = {
        "video_id": theirs.asset_id,
        "job_id": theirs.job_id,
        "upload_id": upload,
        "clip_id": clip,
    }
    tried = 0

    for method, path in _routes():
        if OTHERS.fullmatch(path):
            continue
        names = [name for name, _ in IDS.findall(path)]
        assert set(names) <= {*ids, "name", "version", "n", "language"}, (
            f"no test knows what {path} names"
        )
        url = path.replace(":path}", "}").format(
            **ids, name="360p/00000.m4s", version="v1", n=1, language="en"
        )
        headers = {"Tus-Resumable": "1.0.0", "Upload-Offset": "0"}
        if "uploads" in path and method == "PATCH":
            headers["Content-Type"] = "application/offset+octet-stream"
        body = BODIES.get(f"{method} {path}")
        told = bob.request(method, url, json=body, headers=headers, params=RANGE)
        assert told.status_code == 404, f"{method} {path}: {told.status_code} {told.text[:200]}"
        assert "secret" not in told.text
        tried += 1

    assert tried > 40
    assert studio.asset(theirs.asset_id).title == "secret"


def test_lists_and_counts_show_only_what_is_yours(house: House, studio: Studio):
    ann, bob = (_person(house, name) for name in ("ann", "bob"))
    owner = next(user.id for user in people.list_users(studio.db, LOCAL) if user.name == "ann")
    mine = studio.add(owner=owner)

    assert [one["asset_id"] for one in ann.json("GET", "/api/videos")["items"]] == [mine.asset_id]
    assert [one["job_id"] for one in ann.json("GET", "/api/jobs")["items"]] == [mine.job_id]
    assert bob.json("GET", "/api/videos")["items"] == []
    assert bob.json("GET", "/api/jobs")["items"] == []
    assert set(bob.json("GET", "/api/jobs/counts").values()) == {0}
    assert set(bob.json("GET", "/api/videos/counts").values()) == {0}
    digest = ann.json("GET", f"/api/videos/{mine.asset_id}")["sha256"]
    assert len(ann.json("GET", f"/api/videos?sha256={digest}")["items"]) == 1
    assert bob.json("GET", f"/api/videos?sha256={digest}")["items"] == []
    assert bob.json("GET", "/api/failed/groups")["items"] == []


def test_failed_jobs_of_somebody_else_are_not_tried_again(house: House, studio: Studio):
    """002-061: neither by their error code, nor by their code and step."""
    ann, bob = (_person(house, name) for name in ("ann", "bob"))
    owner = next(user.id for user in people.list_users(studio.db, LOCAL) if user.name == "ann")
    job_id = studio.add(owner=owner).job_id
    held = studio.take("probe")
    broken = failure("SOURCE_CORRUPT", "no film", error_type="Permanent", retryable=False)
    report(studio.engine, studio.owner, [Failed(held.id, held.epoch, broken)])
    path = "/api/failed/groups/retry"

    for more in ({}, {"step": "probe"}):
        group = {"error_code": "SOURCE_CORRUPT", **more}
        assert bob.json("POST", path, code=202, json=group)["items"] == []
    assert ann.json("GET", f"/api/jobs/{job_id}")["status"] == "failed"
    [tried] = ann.json("POST", path, code=202, json=group)["items"]
    assert tried["job_id"] == job_id


@pytest.mark.parametrize("part", [slice(0, 8), slice(-8, None)])
def test_part_of_an_id_finds_nothing_of_others(house: House, studio: Studio, part: slice):
    _, bob = (_person(house, name) for name in ("ann", "bob"))
    theirs = studio.add(owner="somebody")

    bob.problem("GET", f"/api/jobs/{theirs.job_id[part]}", 404)
    bob.problem("GET", f"/api/videos/{theirs.asset_id[part]}", 404)
    bob.problem("GET", "/api/jobs/@last", 404)


def _person(house: House, name: str) -> Visitor:
    return house.visitor(house.key(house.user(name)))


def _begun_upload(visitor: Visitor) -> str:
    headers = {"Tus-Resumable": "1.0.0", "Upload-Length": "10"}
    return visitor.post("/api/uploads", headers=headers).headers["location"].rpartition("/")[2]


def _routes() -> list[tuple[str, str]]:
    """Return every route, also those that the description of the API leaves out."""
    return [
        (method, API + route.path)
        for router in ROUTERS
        for route in router.routes
        if isinstance(route, APIRoute)
        for method in sorted(route.methods - {"OPTIONS"})
    ]
