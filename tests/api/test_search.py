"""Searching over HTTP: moments, suggestions, heat, files; for whoever may see the videos."""

from __future__ import annotations

import csv
import io
import json
from contextlib import closing

import pytest

from rushes.domain.person import LOCAL
from rushes.library import indexing, people
from rushes.library.indexing import Line, Source
from rushes.settings import Settings
from tests.api.house import House, Visitor, open_house
from tests.library.studio import Studio

TEXTS = ("Council votes today", "Counci1 adjourned", "=cmd() @reuters", "<script>alert(1)</script>")


@pytest.fixture
def film(studio: Studio) -> str:
    added = studio.add(title="Press conference", tags=("news",), text=True)
    studio.finish()
    _put(studio, added.asset_id, *TEXTS)
    return added.asset_id


def test_hit_has_all_that_a_page_needs(admin: Visitor, film: str):
    found = admin.json("GET", "/api/search", params={"q": "council votes"})

    assert (found["moments"], found["video_count"], found["cut"]) == (1, 1, False)
    assert found["videos"] == [{"asset_id": film, "title": "Press conference", "moments": 1}]
    assert found["items"] == [
        {
            "span_id": found["items"][0]["span_id"],
            "asset_id": film,
            "title": "Press conference",
            "source": "screen",
            "start_ms": 0,
            "end_ms": 900,
            "text": "Council votes today",
            "offsets": [[0, 7], [8, 13]],
            "confidence": 0.9,
            "language": "en",
            "box": {"x": 1, "y": 2, "width": 3, "height": 4},
            "frame_url": f"/api/videos/{film}/v1/frames/000000000.jpg",
            "url": f"/v/{film}?t=0",
        }
    ]
    assert admin.get(found["items"][0]["frame_url"]).content == b"frame"


def test_link_leads_to_the_very_moment_also_late_in_a_long_film(
    admin: Visitor, studio: Studio, film: str
):
    late = Line(Source.SCREEN, 1_000_004, 1_000_500, "adjourned at last")
    studio.db.transact(lambda tx: indexing.put(tx, film, [late]))

    [hit] = admin.json("GET", "/api/search", params={"q": "last"})["items"]

    assert hit["url"] == f"/v/{film}?t=1000.004"


def test_pages_of_hits_follow_each_other(admin: Visitor, studio: Studio, film: str):
    _put(studio, film, *(f"common {n}" for n in range(5)))

    first = admin.json("GET", "/api/search?q=common&limit=3")
    rest = admin.json("GET", f"/api/search?q=common&limit=3&cursor={first['next_cursor']}")

    texts = [hit["text"] for page in (first, rest) for hit in page["items"]]
    assert texts == [f"common {n}" for n in range(5)]
    assert rest["next_cursor"] is None


def test_without_a_hit_near_ones_and_unread_videos_are_told(
    admin: Visitor, studio: Studio, film: str
):
    """R8."""
    waiting = studio.add(content=b"other", title="in OCR", text=True).asset_id

    found = admin.json("GET", "/api/search?q=C0unci1")

    assert found["items"] == []
    assert {hit["text"] for hit in found["near"]} == {"Council votes today", "Counci1 adjourned"}
    assert [video["asset_id"] for video in found["unread"]] == [waiting]


def test_filters_narrow_the_search(admin: Visitor, film: str):
    def count(**params: str) -> int:
        answer = admin.json("GET", "/api/search", params={"q": "council", **params})
        return int(answer["moments"])

    assert count() == 1
    assert count(video=film) == 1
    assert count(mode="fuzzy") == 2
    assert count(source="title") == 0
    assert count(lang="de") == 0
    assert count(min_confidence="0.95") == 0
    assert count(**{"from": "2100-01-01"}) == 0
    assert count(to="2100-01-01T00:00:00Z") == 1
    assert count(to="1990-01-01") == 0


@pytest.mark.parametrize(
    "query",
    [
        *("", "q=x&limit=0", "q=x&limit=201", "q=x&mode=regex", "q=x&source=all", "q=x&unknown=1"),
        *(
            "q=x&min_confidence=2",
            "q=x&lang=%00",
            "q=x&min_confidence=nan",
            "q=x&from=yesterday",
            "q=x&cursor=x",
        ),
        *(f"q={'x' * 501}", "q=" + "a+" * 100),
    ],
)
def test_wrong_question_is_one_problem(lasting_house: House, query: str):
    """B-SR-2: above 500 characters 422; unknown parameters, too."""
    told = lasting_house.admin.problem("GET", f"/api/search?{query}", 422)

    assert told["code"] == "INVALID_INPUT"


def test_video_that_is_not_there_is_not_found(admin: Visitor):
    admin.problem("GET", "/api/search?q=x&video=00000000-0000-7000-8000-000000000000", 404)


def test_word_is_completed_while_it_is_typed(admin: Visitor, film: str):
    assert admin.json("GET", "/api/search/suggest?q=the+coun")["items"] == ["counci1", "council"]
    assert admin.json("GET", "/api/search/suggest?q=@re")["items"] == ["@reuters"]
    assert admin.json("GET", "/api/search/suggest?q=")["items"] == []


def test_nothing_of_another_owner_is_found_counted_or_suggested(house: House, studio: Studio):
    """B-SR-3, 002-061: hits, near hits, counts, suggestions, exports, unread videos."""
    ann, bob = (house.visitor(house.key(house.user(name))) for name in ("ann", "bob"))
    owner = next(user.id for user in people.list_users(studio.db, LOCAL) if user.name == "ann")
    film = studio.add(owner=owner, title="Secret plan", text=True).asset_id
    _put(studio, film, "platypus @spy €99 example.org")

    for text in (
        "platypus",
        "secret",
        "@spy",
        "number:99",
        "url:",
        "-nothing",
        "plat*",
        "platypvs",
    ):
        for mode in ("words", "exact", "substring", "fuzzy"):
            params = {"q": text, "mode": mode}
            told = bob.json("GET", "/api/search", params=params)
            assert not told["items"]
            assert not told["near"]
            assert (told["moments"], told["video_count"], told["unread"]) == (0, 0, [])
    assert bob.json("GET", "/api/search/suggest?q=pla")["items"] == []
    assert bob.get("/api/search/export?q=platypus&format=csv").text.count("\n") == 1
    bob.problem("GET", f"/api/search?q=x&video={film}", 404)
    assert ann.json("GET", "/api/search?q=platypus")["moments"] == 1


def test_results_are_exported_safely(admin: Visitor, film: str):
    """B-OCR-1: no cell is a formula."""
    table = admin.get("/api/search/export?q=cmd&format=csv")
    rows = list(csv.DictReader(io.StringIO(table.text)))

    assert table.headers["content-type"] == "text/csv; charset=utf-8"
    assert [row["text"] for row in rows] == ["'=cmd() @reuters"]
    assert (rows[0]["start"], rows[0]["start_ms"], rows[0]["x"]) == ("0:02.0", "2000", "1")
    assert rows[0]["url"] == f"/v/{film}?t=2"
    exported = json.loads(admin.get("/api/search/export?q=cmd&format=json").text)
    assert exported["items"][0]["text"] == "=cmd() @reuters"
    vtt = admin.get(f"/api/search/export?q=script&format=vtt&video={film}").text
    assert "&lt;script&gt;alert(1)" in vtt
    srt = admin.get(f"/api/search/export?q=script&format=srt&video={film}").text
    assert srt.startswith("1\n00:00:03,000 --> 00:00:03,900\n")
    admin.problem("GET", "/api/search/export?q=cmd&format=srt", 422)


def test_text_of_a_video_is_a_table(admin: Visitor, film: str):
    rows = list(csv.DictReader(io.StringIO(admin.get(f"/api/videos/{film}/text.csv").text)))

    assert [row["text"] for row in rows][-1] == TEXTS[-1]
    assert "'=cmd() @reuters" in [row["text"] for row in rows]


def test_heatmap_tells_where_there_is_text(admin: Visitor, film: str):
    plain = admin.json("GET", f"/api/videos/{film}/heatmap?bins=20")
    asked = admin.json("GET", f"/api/videos/{film}/heatmap?bins=20&q=council")

    assert plain["texts"] == asked["texts"] == [2, 1, 1, 1, *[0] * 16]  # of 20 s
    assert plain["hits"] is None
    assert asked["hits"] == [1, *[0] * 19]
    admin.problem("GET", f"/api/videos/{film}/heatmap?bins=0", 422)


@pytest.mark.filterwarnings("ignore:The `root_path` parameter is deprecated")
def test_addresses_are_below_the_path_that_a_proxy_gives(studio: Studio, film: str):
    """R11."""
    settings = Settings(data=studio.storage.root, root_path="/films", storage_reserve_gb=0)
    house, notifier = open_house(studio, settings)
    with closing(notifier):
        [hit] = house.admin.json("GET", "/films/api/search?q=votes")["items"]

    assert hit["url"] == f"/films/v/{film}?t=0"
    assert hit["frame_url"].startswith(f"/films/api/videos/{film}/")


def test_subtitles_are_given_found_replaced_and_taken_away(admin: Visitor, film: str):
    path = f"/api/videos/{film}/subtitles/de"
    srt = "1\n00:00:01,000 --> 00:00:02,000\nDer Rat stimmt ab\n"

    track = admin.json("PUT", path, content=srt.encode(), headers={"content-type": "text/plain"})
    found = admin.json("GET", "/api/search?q=stimmt")["items"]

    assert track == {"language": "de", "source": "subtitle", "cues": 1}
    assert [(hit["source"], hit["start_ms"], hit["box"]) for hit in found] == [
        ("subtitle", 1_000, None)
    ]
    assert admin.json("GET", f"/api/videos/{film}/subtitles")["items"] == [track]
    assert "Der Rat" in admin.get(path).text
    admin.json("PUT", path, content=srt.replace("stimmt", "redet").encode())
    assert admin.json("GET", "/api/search?q=stimmt")["moments"] == 0
    admin.json("DELETE", path, code=204)
    assert admin.json("GET", "/api/search?q=redet")["moments"] == 0
    admin.problem("GET", path, 404)


def test_language_may_be_named_by_three_letters(admin: Visitor, film: str):
    """It is the same language, as it is for what a file calls it."""
    path = f"/api/videos/{film}/subtitles"
    srt = b"1\n00:00:01,000 --> 00:00:02,000\nMotion carried\n"
    admin.json("PUT", f"{path}/en", content=srt)

    track = admin.json("PUT", f"{path}/eng", content=srt.replace(b"Motion", b"Vote"))

    assert admin.json("GET", path)["items"] == [track]
    assert track["language"] == "en"
    assert "Vote carried" in admin.get(f"{path}/eng").text
    assert admin.json("GET", "/api/search?q=carried&lang=eng")["moments"] == 1
    admin.json("DELETE", f"{path}/eng", code=204)
    assert admin.json("GET", path)["items"] == []


def test_wrong_subtitles_change_nothing(admin: Visitor, film: str):
    late = b"1\n00:00:30,000 --> 00:00:31,000\nafter the end\n"
    path = f"/api/videos/{film}/subtitles"

    for content in (b"", b"no subtitles", b"\xff\xfe", late):
        assert admin.problem("PUT", f"{path}/de", 422, content=content)["code"] == "INVALID_INPUT"
    admin.problem("PUT", f"{path}/<b>", 422, content=late.replace(b":3", b":0"))

    assert admin.json("GET", path)["items"] == []


def _put(studio: Studio, film: str, *texts: str) -> None:
    lines = [
        Line(Source.SCREEN, 1000 * n, 1000 * n + 900, text, "en", 0.9, (1, 2, 3, 4))
        for n, text in enumerate(texts)
    ]
    studio.db.transact(lambda tx: indexing.put(tx, film, lines))
