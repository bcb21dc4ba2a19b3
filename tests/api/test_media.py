"""Playback over HTTP: what is there plays, what is not yours is not there, no path leads out."""

from __future__ import annotations

import asyncio
import re
import shutil
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import timedelta
from hashlib import sha256
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urljoin, urlsplit

import pytest

from rushes.api import run
from rushes.api.media import Shelf
from rushes.api.routers.media import attachment
from rushes.domain.person import LOCAL, Scope
from rushes.library import audit, collect, edit, keys, layout, sessions, tickets
from rushes.library.retranscode import Again, retranscode
from rushes.store.ids import new_id
from tests.api.house import House, Visitor
from tests.library.studio import AUDIO, FILM, HEAD, VIDEO, Studio

URI = re.compile(r'URI="([^"]*)"|^([^#\s].*)$', re.MULTILINE)
LONG = replace(
    FILM,
    duration_ms=100_000,
    video=replace(VIDEO, frames=2_500),
    audio=(replace(AUDIO, duration_ms=100_000),),
)
SEGMENT = b"360p/00000.m4s"  # the studio writes the name of a segment into it
SHORT_WAYS = ("master.m3u8", "index.m3u8", "poster.jpg", "storyboard.vtt")
BELOW = ("v1/master.m3u8", "v1/360p/playlist.m3u8", "v1/360p/init.mp4", "v1/360p/00000.m4s")


class Clock:
    """Seconds that only the test lets pass."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(house: House) -> Clock:
    clock = Clock()
    house.application.state.shelf = Shelf(house.studio.library, clock=clock)
    return clock


@pytest.fixture
def key(house: House) -> dict[str, str]:
    """The header of an admin."""
    return {"authorization": f"Bearer {house.key()}"}


@pytest.fixture
def film(studio: Studio) -> str:
    """A film of the admin's that is ready."""
    film = studio.add().asset_id
    studio.finish()
    return film


def test_film_plays_from_its_master_playlist_alone(admin: Visitor, film: str):
    """Every name that a playlist has leads to the file, with its type and headers."""
    files = watch(admin, f"/api/videos/{film}/master.m3u8")

    segments = {name: answer for name, answer in files.items() if name.endswith(".m4s")}
    assert len(segments) == 12
    for name, answer in segments.items():
        assert name.endswith(answer.content.decode())
        assert answer.headers["content-type"] == "video/iso.segment"
        assert answer.headers["cache-control"] == "private, max-age=31536000, immutable"
    kinds = {
        name.rpartition(".")[2]: answer.headers["content-type"] for name, answer in files.items()
    }
    assert kinds == {
        "m3u8": "application/vnd.apple.mpegurl",
        "m4s": "video/iso.segment",
        "mp4": "video/mp4",
    }
    for answer in files.values():
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["content-security-policy"] == "sandbox; default-src 'none'"
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"


def test_alias_of_the_documents_is_the_master_playlist(admin: Visitor, film: str):
    """002-009: `index.m3u8`, too."""
    index, master = (admin.get(f"/api/videos/{film}/{name}") for name in SHORT_WAYS[:2])

    assert index.text == master.text
    assert "v1/360p/playlist.m3u8" in index.text


def test_pictures_are_found_by_their_short_ways(admin: Visitor, film: str):
    """002-010, 002-011: the video knows where its poster and its stream are."""
    poster, board = (admin.get(f"/api/videos/{film}/{name}") for name in SHORT_WAYS[2:])

    assert (poster.content, poster.headers["content-type"]) == (b"poster", "image/jpeg")
    assert poster.headers["cache-control"] == "private, no-cache"
    assert board.headers["content-type"] == "text/vtt; charset=utf-8"
    for name, content in {"storyboard-0.jpg": b"board", "storyboard.vtt": b"vtt"}.items():
        assert admin.get(f"/api/videos/{film}/v1/{name}").content == content


def test_storyboard_by_its_short_way_names_pictures_that_are_there(admin: Visitor, film: str):
    vtt = file_of(admin, film, "v1/storyboard.vtt")
    vtt.write_text("WEBVTT\n\n00:00.000 --> 00:01.000\nstoryboard-0.jpg#xywh=0,0,1,1\n")

    board = admin.get(f"/api/videos/{film}/storyboard.vtt")

    named = board.text.splitlines()[-1]
    assert admin.get(urljoin(board.url.path, named)).content == b"board"


def test_segments_do_not_pass_through_the_application(admin: Visitor, film: str):
    """The application numbers requests; the fast path does not."""
    segment, playlist = (admin.get(f"/api/videos/{film}/{name}") for name in (BELOW[3], BELOW[1]))

    assert "x-request-id" in playlist.headers
    assert "x-request-id" not in segment.headers


def test_film_that_grows_shows_more_each_time_and_never_a_hole(admin: Visitor, studio: Studio):
    """Every quality and the sound show the same prefix, and all of it can be had."""
    studio.source = LONG
    master = f"/api/videos/{studio.add().asset_id}/master.m3u8"
    studio.do("probe")
    studio.do("audio")
    shown = []

    admin.problem("GET", master, 404)
    for chunk in (0, 2, 1, 3):
        studio.do("transcode", chunk)
        files = watch(admin, master)
        counts = {len(named(answer.text)) for name, answer in files.items() if "playlist" in name}
        assert len(counts) == 1
        shown += counts
        growing = [answer for name, answer in files.items() if name.endswith(".m3u8")]
        assert {answer.headers["cache-control"] for answer in growing} == {"no-store"}
        assert not any("ENDLIST" in answer.text for answer in growing)
    studio.finish()

    assert shown == [2, 2, 12, 17]  # with the init; the third chunk waits for the second
    closed = watch(admin, master)
    ends = [answer for name, answer in closed.items() if "playlist" in name]
    assert all(answer.text.endswith("#EXT-X-ENDLIST\n") for answer in ends)
    assert {answer.headers["cache-control"] for answer in ends} == {"private, max-age=10"}


def test_segment_that_was_not_there_is_found_as_soon_as_it_is(
    admin: Visitor, studio: Studio, clock: Clock
):
    """A version may gain names: what was not found is looked up again."""
    film = studio.add().asset_id
    studio.do("probe")
    studio.do("transcode", 0)
    later = f"/api/videos/{film}/v1/360p/00001.m4s"
    assert admin.get(f"/api/videos/{film}/v1/360p/00000.m4s").content == SEGMENT
    admin.problem("GET", later, 404)

    studio.do("transcode", 1)

    assert admin.get(later).content == b"360p/00001.m4s"


def test_new_version_takes_over_and_the_old_one_plays_until_it_is_collected(
    admin: Visitor, studio: Studio, film: str, clock: Clock
):
    """000-076, 000-079: whoever watches the old version may go on for a while."""
    old = watch(admin, f"/api/videos/{film}/master.m3u8")
    retranscode(studio.library, film, Again())
    studio.do("probe")
    studio.do("transcode", 0)
    assert master_of(admin, film) == 1
    studio.finish()
    layout.run_once(studio.library)

    assert master_of(admin, film) == 2
    for name, before in old.items():
        if "/v1/" in name:
            assert admin.get(name).content == before.content

    hour = int(timedelta(hours=1, seconds=1).total_seconds() * 1000)
    [now] = studio.db.read(lambda tx: [row["now"] for row in tx.rows("clock")])
    collect.run_once(studio.library, now=now + hour)
    clock.now += 1
    for name in old:
        if "/v1/" in name:
            admin.problem("GET", name, 404)
    watch(admin, f"/api/videos/{film}/master.m3u8")


def test_film_of_somebody_else_is_not_there(house: House, studio: Studio):
    """002-061: the same answer for it as for one that does not exist; nobody learns more."""
    owner = house.user("ann")
    ann, bob = house.visitor(house.key(owner)), house.visitor(house.key(house.user("bob")))
    blind, nobody = house.visitor(house.key(owner, frozenset({Scope.UPLOAD}))), house.visitor()
    film, none, admin = studio.add(owner=owner.id).asset_id, new_id(), house.admin
    studio.finish()

    for path in (*SHORT_WAYS, *BELOW, "v1/poster.jpg", "download"):
        url = f"/api/videos/{film}/{path}"
        assert [seer.get(url).status_code for seer in (ann, admin)] == [200, 200]
        blind.problem("GET", url, 403)
        nobody.problem("GET", url, 401)
        his = bob.problem("GET", url, 404)
        assert strip(his) == strip(bob.problem("GET", f"/api/videos/{none}/{path}", 404))


def test_deleted_film_is_gone_within_a_second(
    admin: Visitor, studio: Studio, film: str, clock: Clock
):
    """Also for whoever was watching it; once restored it is there again."""
    ticket = ticket_of(admin, film).removesuffix("/master.m3u8")
    doors = [
        f"{top}/{path}" for path in (*SHORT_WAYS, *BELOW) for top in (f"/api/videos/{film}", ticket)
    ]
    doors.append(f"/api/videos/{film}/download")
    assert {admin.get(door).status_code for door in doors} == {200}

    edit.delete(studio.library, film)

    clock.now += 1
    for door in doors:
        admin.problem("GET", door, 404)
    edit.restore(studio.library, film)
    assert {admin.get(door).status_code for door in doors} == {200}


def test_permission_is_trusted_for_less_than_a_second(
    house: House, studio: Studio, film: str, clock: Clock
):
    key = house.key()
    visitor, url = house.visitor(key), f"/api/videos/{film}/v1/360p/00000.m4s"
    ticket = ticket_of(visitor, film).replace("master.m3u8", "v1/360p/00000.m4s")
    assert (visitor.get(url).status_code, visitor.get(ticket).status_code) == (200, 200)

    keys.revoke_key(studio.db, LOCAL, key.split("_")[2])

    clock.now += 0.99
    assert visitor.get(url).status_code == 200
    clock.now += 0.01
    visitor.problem("GET", url, 401)
    visitor.problem("GET", ticket, 403)


def test_page_plays_with_the_cookie_of_its_session(house: House, studio: Studio, film: str):
    login = sessions.redeem(studio.db, sessions.make_link(studio.db, LOCAL))
    page = house.visitor(headers={"Cookie": f"rushes={login.token}"})

    files = watch(page, f"/api/videos/{film}/master.m3u8")

    assert "x-request-id" not in files[f"/api/videos/{film}/v1/360p/00000.m4s"].headers
    wrong = house.visitor(headers={"Cookie": f"rushes={login.token[::-1]}"})
    wrong.problem("GET", f"/api/videos/{film}/v1/360p/00000.m4s", 401)


HOSTILE = [
    "v1/..",
    "v1/../v1/360p/00000.m4s",
    "v1/360p/../360p/00000.m4s",
    "v1/../../../rushes.db",
    "v1/../../../../../../etc/passwd",
    "v1/%2e%2e/%2e%2e/rushes.db",
    "v1/360p%2f00000.m4s",
    "v1/360p%2F00000.m4s",
    "v1%2f360p/00000.m4s",
    "v1/360p%5c00000.m4s",
    "v1/360p\\00000.m4s",
    "v1/..\\..\\rushes.db",
    "v1//360p/00000.m4s",
    "v1/360p//00000.m4s",
    "//v1/360p/00000.m4s",
    "v1//etc/passwd.jpg",
    "v1/file:///etc/passwd.jpg",
    "v1/360P/00000.m4s",
    "v1/360p/00000.M4S",
    "V1/360p/00000.m4s",
    "v1/360p/00000.m4s.",
    "v1/360p/00000.m4s/",
    "v1/360p/00000.m4s%20",
    "v1/360p/00000.m4s%00",
    "v1/360p/00000.m4s%0a",
    "v1/360p/00000",
    "v1/360p/",
    "v1/360p",
    "v1/",
    "v1/./360p/00000.m4s",
    "v01/360p/00000.m4s",
    "v0/360p/00000.m4s",
    "v-1/360p/00000.m4s",
    "v2/360p/00000.m4s",
    f"v{'9' * 5_000}/360p/00000.m4s",
    f"v1/{'a' * 10_000}.m4s",
    "v1/link.m4s",
    "v1/360p/link.m4s",
    "v1/text/spans.jsonl",
    "v1/source.mp4",
    "v1/360p/nothing.m3u8",
    "v1/360p/../master.m3u8",
    "v1/360p/playlist.m3u8%00",
]  # fmt: skip


def test_only_names_of_the_manifest_are_served(house: House, studio: Studio, key: dict[str, str]):
    """B-HTTP-10: dots, escapes, back-slashes, doubled ones, links, case, a dot at the end: 404."""
    film = studio.add(text=True).asset_id
    studio.finish()
    layout.run_once(studio.library)
    for folder in (f"assets/{film}/v1", f"assets/{film}/v1/360p"):
        (studio.storage.root / folder / "link.m4s").symlink_to("/etc/passwd")
    ticket = ticket_of(house.admin, film).removesuffix("master.m3u8")
    doors = ((f"/api/videos/{film}/", key), (ticket, {}))

    for top, headers in doors:
        assert ask(house, f"{top}v1/360p/00000.m4s", headers=headers).body == SEGMENT
        for path in HOSTILE:
            answer = ask(house, top + path, headers=headers)
            assert answer.status == 404, path
            assert answer.headers["content-type"] == "application/problem+json"
            assert b"root:" not in answer.body


def test_id_that_is_none_leads_nowhere(house: House, film: str, key: dict[str, str]):
    """B-HTTP-6."""
    for id in ("..", "%2e%2e", f"{film}%00", f"..%2f{film}", "a" * 10_000, "x", f"{film}\\", ""):
        for rest in (*BELOW, *SHORT_WAYS):
            assert ask(house, f"/api/videos/{id}/{rest}", headers=key).status == 404


SIZE = len(SEGMENT)
PARTS = {
    "bytes=0-": (0, SIZE),
    "bytes=0-0": (0, 1),
    "bytes=2-5": (2, 6),
    "bytes=5-": (5, SIZE),
    "bytes=-1": (SIZE - 1, SIZE),
    "bytes=-5": (SIZE - 5, SIZE),
    "bytes=-999": (0, SIZE),
    "bytes=3-999": (3, SIZE),
    f"bytes=0-{10**17}": (0, SIZE),
    "Bytes=2-5": (2, 6),
}  # fmt: skip
REFUSED = [
    f"bytes={SIZE}-",
    "bytes=999-",
    "bytes=999-1000",
    "bytes=5-1",
    "bytes=-0",
    "bytes=-",
    "bytes=",
    "bytes=a-b",
    "bytes=--1",
    "bytes=1-2-3",
    "bytes=0x0-0x1",
    "bytes=1 - 2",
    "bytes=0-1,3-4",
    "bytes=" + ",".join("0-1" for _ in range(1_000)),
    f"bytes=0-{'9' * 5_000}",
    f"bytes={'9' * 5_000}-",
    "bytes=\xb2-\xb3",
]  # fmt: skip


def test_one_range_is_served(house: House, film: str, key: dict[str, str]):
    """B-HTTP-11: `0-`, `-1`, longer than the file."""
    whole = ask_segment(house, film, key)

    for given, (first, end) in PARTS.items():
        answer = ask_segment(house, film, key, {"range": given})
        assert (answer.status, answer.body) == (206, SEGMENT[first:end]), given
        assert answer.headers["content-range"] == f"bytes {first}-{end - 1}/{SIZE}"
        assert answer.headers["content-length"] == str(end - first)
        assert answer.headers["etag"] == whole.headers["etag"]


def test_range_that_is_not_there_is_refused(house: House, film: str, key: dict[str, str]):
    """B-HTTP-11: `5-1`, beyond the end, a thousand ranges, nonsense."""
    for given in REFUSED:
        answer = ask_segment(house, film, key, {"range": given})
        assert answer.status == 416, given
        assert answer.headers["content-range"] == f"bytes */{SIZE}"
        assert answer.headers["content-type"] == "application/problem+json"


def test_range_in_other_units_and_of_a_head_is_ignored(
    house: House, film: str, key: dict[str, str]
):
    """RFC 9110, 14.2: ranges of what we do not know, and for other methods than GET."""
    other = ask_segment(house, film, key, {"range": "lines=1-2"})
    head = ask_segment(house, film, key, {"range": "bytes=1-2"}, method="HEAD")

    assert (other.status, other.body) == (200, SEGMENT)
    assert (head.status, head.headers["content-length"]) == (200, str(SIZE))


def test_range_is_served_only_of_the_file_that_is_meant(
    house: House, film: str, key: dict[str, str]
):
    """If-Range: exactly our ETag, or the whole file."""
    etag = ask_segment(house, film, key).headers["etag"]
    others = (f"W/{etag}", '"other"', "Mon, 16 Nov 2026 07:00:00 GMT")

    same = ask_segment(house, film, key, {"range": "bytes=1-2", "if-range": etag})

    assert (same.status, same.body) == (206, SEGMENT[1:3])
    for given in others:
        for part in ("bytes=1-2", "bytes=999-"):
            answer = ask_segment(house, film, key, {"range": part, "if-range": given})
            assert (answer.status, answer.body) == (200, SEGMENT)


def test_file_that_is_known_is_not_sent_again(house: House, film: str, key: dict[str, str]):
    """The ETag is strong and is the hash of the content."""
    first = ask_segment(house, film, key)
    etag = first.headers["etag"]
    assert etag == f'"{sha256(SEGMENT).hexdigest()}"'

    for given in (etag, f"W/{etag}", f'"other", {etag}', "*"):
        answer = ask_segment(house, film, key, {"if-none-match": given, "range": "bytes=999-"})
        assert (answer.status, answer.body) == (304, b"")
        assert answer.headers["etag"] == etag
        assert answer.headers["cache-control"] == first.headers["cache-control"]
        assert "content-length" not in answer.headers
    for given in ('"other"', etag.strip('"'), ""):
        assert ask_segment(house, film, key, {"if-none-match": given}).status == 200


def test_head_says_what_get_would(house: House, film: str, key: dict[str, str]):
    ticket = ticket_of(house.admin, film).removesuffix("/master.m3u8")
    below = [(ticket, path, {}) for path in (*SHORT_WAYS, *BELOW)]
    paths = (*SHORT_WAYS, *BELOW, "download")

    for top, path, headers in [*((f"/api/videos/{film}", path, key) for path in paths), *below]:
        get, head = (
            ask(house, f"{top}/{path}", method=one, headers=headers) for one in ("GET", "HEAD")
        )
        assert (get.status, head.status, head.body) == (200, 200, b"")
        same = {name: value for name, value in get.headers.items() if name != "x-request-id"}
        assert same.items() <= head.headers.items()
        assert head.headers["content-length"] == str(len(get.body)) != "0"


def test_server_that_can_send_a_file_is_told_its_path(house: House, film: str, key: dict[str, str]):
    """Whole files only: a part is read here."""
    whole = ask_segment(house, film, key, sends_paths=True)
    part = ask_segment(house, film, key, {"range": "bytes=1-2"}, sends_paths=True)

    assert whole.path is not None
    assert whole.body == SEGMENT
    assert (part.path, part.body) == (None, SEGMENT[1:3])


@pytest.mark.parametrize("is_known", [False, True])
def test_file_that_is_missing_on_the_disk_is_not_there(
    admin: Visitor, studio: Studio, film: str, is_known: bool
):
    """Also when it was served before: nothing is promised that is not sent."""
    paths = (BELOW[3], "v1/poster.jpg", "poster.jpg", "v1/storyboard.vtt", "storyboard.vtt")
    urls = [f"/api/videos/{film}/{path}" for path in (*paths, "download")]
    if is_known:
        assert {admin.get(url).status_code for url in urls} == {200}
    for top in ("objects", "originals"):
        shutil.rmtree(studio.storage.root / top)

    for url in urls:
        admin.problem("GET", url, 404)


def test_original_is_downloaded_by_its_name_and_that_is_written_down(house: House, studio: Studio):
    """The audit log covers downloads of originals."""
    owner = house.user("ann")
    film = studio.add(owner=owner.id, filename="Mein Süßer.mp4").asset_id
    ann = house.visitor(house.key(owner))

    answer = ann.get(f"/api/videos/{film}/download")
    rest = ann.get(f"/api/videos/{film}/download", headers={"range": "bytes=1-"})
    ann.head(f"/api/videos/{film}/download")
    ann.get(f"/api/videos/{film}/download", headers={"if-none-match": answer.headers["etag"]})
    house.visitor(house.key(house.user("bob"))).problem("GET", f"/api/videos/{film}/download", 404)

    assert (answer.content, rest.content) == (HEAD + b"a film", b"a film")
    assert answer.headers["content-type"] == "application/octet-stream"
    said = answer.headers["content-disposition"]
    assert said.startswith('attachment; filename="Mein S__er.mp4"; ')
    assert unquote(said.partition("UTF-8''")[2]) == "Mein Süßer.mp4"
    deeds = [entry for entry in audit.page(studio.db) if entry.action == "video.download"]
    assert [(deed.actor, deed.object) for deed in deeds] == [("ann", f"video {film}")] * 2
    assert deeds[0].request_id == rest.headers["x-request-id"]


@pytest.mark.parametrize(
    "filename",
    [
        'a"b.mp4',
        "a\r\nSet-Cookie: x=y.mp4",
        "a\\b/../c.mp4",
        "a;b=c.mp4",
        "\u202e4pm.exe",
        "",
        "a%0d",
    ],
    ids=repr,
)
def test_name_of_a_download_stays_inside_its_header(filename: str):
    """B-HTTP-9: quotes, CR and LF, separators, what turns the direction of text."""
    said = attachment(filename)

    form = r"""attachment; filename="[\w .=:-]+"; filename\*=UTF-8''([\w.%~-]+)"""
    found = re.fullmatch(form, said, re.ASCII)
    assert found is not None
    shown = unquote(found[1])
    assert shown.isprintable()
    assert not set(shown) & set("/\\")


def test_ticket_plays_without_any_header(house: House, film: str):
    """Relative names inherit it; the API itself, and the original, stay shut."""
    made = house.admin.json("POST", f"/api/videos/{film}/ticket", json={"expires_in": 60})
    nobody = house.visitor()

    files = watch(nobody, made["url"])

    assert {name.count(made["url"].split("/")[2]) for name in files} == {1}
    segments = [answer for name, answer in files.items() if name.endswith(".m4s")]
    assert len(segments) == 12
    assert all("x-request-id" not in answer.headers for answer in segments)
    top = made["url"].removesuffix("master.m3u8")
    assert nobody.get(f"{top}poster.jpg").content == b"poster"
    for closed in (f"{top}download", top, f"{top}ticket"):
        assert nobody.get(closed).status_code == 404
    assert made["expires_at"].endswith("Z")


def test_ticket_that_is_forged_old_or_for_another_video_is_refused(
    house: House, studio: Studio, film: str
):
    other = studio.add(b"another film").asset_id
    ticket = ticket_of(house.admin, film).split("/")[2]
    held = studio.db.read(lambda tx: tickets.issue(tx, LOCAL, film, timedelta(hours=1)))
    old = tickets.sign(keys.secret(studio.db, "media"), replace(held, expires_at=1))
    nobody, misled = house.visitor(), house.visitor(ticket)

    for path in (*SHORT_WAYS, *BELOW):
        assert nobody.get(f"/media/{ticket}/{film}/{path}").status_code == 200
        for given in (old, ticket[:-1], f"A{ticket[1:]}", "x", "a.b"):
            nobody.problem("GET", f"/media/{given}/{film}/{path}", 403)
        nobody.problem("GET", f"/media/{ticket}/{other}/{path}", 403)
        nobody.problem("GET", f"/media/{ticket}/{film[:13]}/{path}", 403)
        misled.problem("GET", f"/api/videos/{film}/{path}", 401)


@pytest.mark.parametrize("wish", [{"expires_in": 0}, {"expires_in": 21_601}, {"until": 1}], ids=str)
def test_ticket_that_cannot_be_had_is_refused(admin: Visitor, film: str, wish: dict[str, int]):
    admin.problem("POST", f"/api/videos/{film}/ticket", 422, json=wish)


def test_ticket_is_made_by_whoever_may_watch(house: House, studio: Studio):
    owner = house.user("ann")
    film = studio.add(owner=owner.id).asset_id
    ann, bob = house.visitor(house.key(owner)), house.visitor(house.key(house.user("bob")))

    bob.problem("POST", f"/api/videos/{film}/ticket", 404)
    house.visitor().problem("POST", f"/api/videos/{film}/ticket", 401)
    once = {"Idempotency-Key": "k"}
    first, again = (ann.json("POST", f"/api/videos/{film}/ticket", headers=once) for _ in range(2))

    assert first == again
    edit.delete(studio.library, film)
    ann.problem("POST", f"/api/videos/{film}/ticket", 404)


def test_real_server_sends_whole_files_parts_and_heads(
    house: House, studio: Studio, key: dict[str, str]
):
    """The same answers behind the server that is used, also when nobody reads to the end."""
    film = studio.add(b"x" * 5_000_000).asset_id
    studio.finish()
    segment, original = (f"/api/videos/{film}/{name}" for name in (BELOW[3], "download"))
    with run.serving(house.application, "127.0.0.1", 0) as address:
        place = urlsplit(address).netloc

        assert fetch(place, segment, key) == (200, SEGMENT)
        assert fetch(place, segment, key, method="HEAD") == (200, b"")
        assert fetch(place, segment, {**key, "Range": "bytes=-3"}) == (206, SEGMENT[-3:])
        assert fetch(place, segment, {**key, "Range": "bytes=99-"})[0] == 416
        assert fetch(place, segment.replace("/v1/", "/v1/../v1/"), key)[0] == 404
        assert fetch(place, segment.replace("p/0", "p%2f0"), key)[0] == 404
        assert fetch(place, original, key) == (200, HEAD + b"x" * 5_000_000)
        with closing(HTTPConnection(place, timeout=30)) as leaving:
            leaving.request("GET", original, headers={**key, "Range": "bytes=1-"})
            assert leaving.getresponse().read(10) == b"x" * 10
        assert fetch(place, original, {**key, "Range": "bytes=1-"}) == (206, b"x" * 5_000_000)


@dataclass(frozen=True, slots=True)
class Told:
    status: int
    headers: dict[str, str]
    body: bytes
    path: str | None


def ask(
    house: House,
    path: str,
    *,
    method: str = "GET",
    headers: Mapping[str, str] | None = None,
    sends_paths: bool = False,
) -> Told:
    """Call the application as a server does: no client tidies the path up on its way."""
    sent: list[dict[str, Any]] = []
    scope = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": unquote(path),
        "raw_path": path.encode(),
        "query_string": b"",
        "root_path": "",
        "headers": [
            (name.encode(), value.encode("latin-1")) for name, value in (headers or {}).items()
        ],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 2),
        "extensions": {"http.response.pathsend": {}} if sends_paths else {},
    }

    async def call() -> None:
        over = asyncio.Event()
        begun = False

        async def receive() -> dict[str, Any]:
            nonlocal begun
            if begun:
                await over.wait()
                return {"type": "http.disconnect"}
            begun = True
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message: Any) -> None:
            sent.append(dict(message))

        await house.application(scope, receive, send)

    asyncio.run(call())
    start, *rest = sent
    path_sent = next((one["path"] for one in rest if "path" in one), None)
    body = Path(path_sent).read_bytes() if path_sent else b"".join(one["body"] for one in rest)
    told = {name.decode(): value.decode() for name, value in start["headers"]}
    return Told(start["status"], told, body, path_sent)


def ask_segment(
    house: House,
    film: str,
    key: Mapping[str, str],
    headers: Mapping[str, str] | None = None,
    **options: Any,
) -> Told:
    url = f"/api/videos/{film}/v1/{SEGMENT.decode()}"
    return ask(house, url, headers={**key, **(headers or {})}, **options)


def fetch(
    place: str, path: str, headers: dict[str, str], *, method: str = "GET"
) -> tuple[int, bytes]:
    with closing(HTTPConnection(place, timeout=30)) as connection:
        connection.request(method, path, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.read()


def watch(visitor: Visitor, url: str) -> dict[str, Any]:
    """Get a playlist and all that it leads to, as a player would; nothing may be missing."""
    files = {}
    open_ends = [url]
    while open_ends:
        name = open_ends.pop()
        files[name] = answer = visitor.get(name)
        assert answer.status_code == 200, f"{name}: {answer.text}"
        if name.endswith(".m3u8"):
            open_ends += [urljoin(name, found) for found in named(answer.text)]
    return files


def named(playlist: str) -> list[str]:
    return [quoted or line for quoted, line in URI.findall(playlist)]


def master_of(visitor: Visitor, film: str) -> int:
    """Return the version that the master playlist leads to."""
    [version] = set(re.findall(r"v(\d+)/", visitor.get(f"/api/videos/{film}/master.m3u8").text))
    return int(version)


def ticket_of(visitor: Visitor, film: str) -> str:
    url: str = visitor.json("POST", f"/api/videos/{film}/ticket")["url"]
    return url


def file_of(visitor: Visitor, film: str, name: str) -> Path:
    """Return where a file of a film lies."""
    state = visitor.app.state  # type: ignore[attr-defined]
    version, _, part = name.partition("/")
    return Path(Shelf(state.context.library).file(film, int(version[1:]), part).path)


def strip(problem: dict[str, Any]) -> dict[str, Any]:
    """Return what a problem says, without what differs from request to request."""
    ids = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
    return {name: ids.sub("id", str(value)) for name, value in problem.items()}
