"""Videos over HTTP: listed, named, deleted, restored, made anew, read."""

from __future__ import annotations

from dataclasses import asdict, replace

import pytest

from rushes.media.source import Chapter
from tests.api.house import Visitor
from tests.library.studio import FILM, Studio


@pytest.fixture
def film(studio: Studio) -> str:
    added = studio.add(title="A day", tags=("one",), text=True)
    studio.finish()
    return added.asset_id


def test_video_is_shown_with_its_versions_and_decisions(admin: Visitor, film: str):
    """000-003, 000-069: its status and times, and each quality that was made."""
    shown = admin.json("GET", f"/api/videos/{film}")

    assert (shown["asset_id"], shown["status"], shown["title"]) == (film, "ready", "A day")
    assert shown["playable_at"] <= shown["ready_at"]
    assert [one["quality"] for one in shown["versions"][0]["qualities"]] == ["480p", "360p"]
    assert admin.json("GET", f"/api/videos/{film}/qualities")["items"][0]["status"] == "completed"
    assert len(admin.json("GET", f"/api/videos/{film}/files")["items"]) == shown["files"]["count"]


def test_chapters_of_the_file_are_shown(admin: Visitor, studio: Studio):
    chapter = Chapter(start_ms=1_000, end_ms=5_000, title="Opening credits")
    studio.source = replace(FILM, chapters=(chapter,))
    film = studio.add(content=b"with chapters").asset_id
    assert admin.json("GET", f"/api/videos/{film}")["chapters"] == []

    studio.do("probe")

    assert admin.json("GET", f"/api/videos/{film}")["chapters"] == [asdict(chapter)]


def test_list_is_filtered_by_status_and_tag(admin: Visitor, studio: Studio, film: str):
    waiting = studio.add(content=b"another").asset_id

    def ids(query: str) -> list[str]:
        return [one["asset_id"] for one in admin.json("GET", f"/api/videos{query}")["items"]]

    assert ids("") == [waiting, film]
    assert ids("?status=ready") == [film]
    assert ids("?tag=one") == [film]
    assert ids("?tag=two") == []
    assert ids(f"?cursor={waiting}") == [film]


def test_list_has_an_order_and_takes_several_statuses(admin: Visitor, studio: Studio, film: str):
    waiting = studio.add(content=b"another").asset_id

    def ids(query: str) -> list[str]:
        return [one["asset_id"] for one in admin.json("GET", f"/api/videos{query}")["items"]]

    assert ids("?order=oldest") == [film, waiting]
    assert ids(f"?order=oldest&cursor={film}") == [waiting]
    assert ids("?status=pending&status=processing") == [waiting]


def test_list_says_what_is_done_for_a_video(admin: Visitor, studio: Studio, film: str):
    """A page shows progress, what a job waits for and the number of texts for a whole list."""
    studio.add(content=b"another")

    [waiting, done] = admin.json("GET", "/api/videos")["items"]

    assert waiting["work"]["percent"] == 0
    assert next(iter(waiting["work"]["steps"])) == "probe"
    assert waiting["work"]["waits_for"] is None  # a worker is free: it is about to begin
    assert (done["work"], done["height"]) == (None, 480)
    assert done["texts"] == len(admin.json("GET", f"/api/videos/{film}/text")["items"])
    assert admin.json("GET", f"/api/videos/{waiting['asset_id']}")["work"] == waiting["work"]


def test_whether_a_film_is_here_is_asked_by_its_content(admin: Visitor, studio: Studio, film: str):
    """A page warns of a duplicate before it sends the first byte."""
    studio.add(content=b"another")
    digest = admin.json("GET", f"/api/videos/{film}")["sha256"]

    [same] = admin.json("GET", f"/api/videos?sha256={digest.upper()}")["items"]

    assert same["asset_id"] == film
    assert admin.json("GET", f"/api/videos?sha256={'0' * 64}")["items"] == []
    admin.problem("GET", "/api/videos?sha256=1", 422)


def test_videos_are_counted_by_status(admin: Visitor, studio: Studio, film: str):
    studio.add(content=b"another")

    counted = admin.json("GET", "/api/videos/counts")

    assert counted.pop("duration_ms") > 0
    assert counted == {"pending": 1, "processing": 0, "ready": 1, "failed": 0}


def test_title_and_tags_are_edited_unless_somebody_was_faster(admin: Visitor, film: str):
    """The ETag is the revision."""
    path = f"/api/videos/{film}"
    etag = admin.get(path).headers["etag"]

    edited = admin.json(
        "PATCH", path, json={"title": "Two days", "tags": ["b", "a"]}, headers={"If-Match": etag}
    )
    stale = admin.problem("PATCH", path, 412, json={"title": "x"}, headers={"If-Match": etag})

    assert (edited["title"], edited["tags"]) == ("Two days", ["b", "a"])
    assert stale["hint"]
    assert admin.json("GET", path)["title"] == "Two days"


def test_deleted_video_is_hidden_until_it_is_restored(admin: Visitor, film: str):
    gone = admin.json("DELETE", f"/api/videos/{film}")

    assert gone["purged_at"] > gone["deleted_at"]
    assert admin.json("GET", "/api/videos")["items"] == []
    assert [one["asset_id"] for one in admin.json("GET", "/api/videos?deleted=true")["items"]] == [
        film
    ]
    assert admin.json("POST", f"/api/videos/{film}/restore")["deleted_at"] is None
    admin.problem("POST", f"/api/videos/{film}/restore", 409)


def test_retranscode_is_accepted_with_a_place_to_look(admin: Visitor, film: str):
    """000-074: all, some, or only what is missing."""
    answer = admin.post(f"/api/videos/{film}/retranscode", json={"qualities": ["360p"]})

    assert answer.status_code == 202
    assert answer.headers["location"] == f"/api/jobs/{answer.json()['job_id']}"
    admin.problem("POST", f"/api/videos/{film}/retranscode", 409, json={"qualities": ["480p"]})


def test_text_comes_as_json_and_as_subtitles(admin: Visitor, film: str):
    """002-033: with its entities; before it was read, that is said."""
    [text] = admin.json("GET", f"/api/videos/{film}/text")["items"]
    vtt = admin.get(f"/api/videos/{film}/text.vtt")
    srt = admin.get(f"/api/videos/{film}/text.srt")

    assert (text["text"], text["entities"][0]["value"]) == ("Hello @world", "@world")
    assert vtt.text.startswith("WEBVTT")
    assert vtt.headers["content-type"].startswith("text/vtt")
    assert "Hello @world" in srt.text


def test_text_that_was_not_read_yet_is_a_conflict(admin: Visitor, studio: Studio):
    waiting = studio.add(text=True).asset_id

    assert admin.problem("GET", f"/api/videos/{waiting}/text", 409)["code"] == "CONFLICT"


@pytest.mark.parametrize(
    "method, path, code, body",
    [
        ("GET", "/api/videos/00000000-0000-7000-8000-000000000000", 404, None),
        ("GET", "/api/videos/%2e%2e%2f", 404, None),
        ("PATCH", "/api/videos/{film}", 422, {"title": ""}),
        ("PATCH", "/api/videos/{film}", 422, {"title": "x" * 501}),
        ("PATCH", "/api/videos/{film}", 422, {"title": "\x00"}),
        ("PATCH", "/api/videos/{film}", 422, {"tags": ["x" * 101]}),
        ("PATCH", "/api/videos/{film}", 422, {"tags": ["x"] * 51}),
        ("PATCH", "/api/videos/{film}", 422, {"owner": "bob"}),
        ("POST", "/api/videos/{film}/retranscode", 422, {"qualities": ["721p"]}),
        ("POST", "/api/videos/{film}/retranscode", 409, {"missing_only": True}),
        ("GET", "/api/videos?status=unknown", 422, None),
        ("GET", "/api/videos?limit=-1", 422, None),
    ],
)
def test_wrong_request_is_one_problem(
    admin: Visitor, film: str, method: str, path: str, code: int, body
):
    """B-HTTP-5, B-HTTP-6, B-HTTP-13."""
    admin.problem(method, path.format(film=film), code, json=body)


def test_titles_are_kept_exactly(admin: Visitor, film: str):
    """B-HTTP-13: HTML, right to left, zero width, emoji: text and nothing else."""
    title = "<script>alert(1)</script> \u202eabc \u200b 👩‍👧 {{7*7}} '; DROP TABLE assets"

    assert admin.json("PATCH", f"/api/videos/{film}", json={"title": title})["title"] == title
