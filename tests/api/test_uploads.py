"""tus 1.0 over HTTP, small films in one request, and films by their path."""

from __future__ import annotations

import base64
import hashlib
import tempfile
from pathlib import Path

import pytest

from tests.api.house import House, Visitor
from tests.disk import small_disk
from tests.library.studio import Studio

TUS = {"Tus-Resumable": "1.0.0"}
OFFSETS = {**TUS, "Content-Type": "application/offset+octet-stream"}
FILM = b"\x00 a film that is sent in parts"


def metadata(**values: str) -> dict[str, str]:
    pairs = (
        f"{name} {base64.b64encode(value.encode()).decode()}" for name, value in values.items()
    )
    return {"Upload-Metadata": ",".join(pairs)}


def begin(visitor: Visitor, size: int = len(FILM), **told: str) -> str:
    answer = visitor.post(
        "/api/uploads", headers={**TUS, "Upload-Length": str(size), **metadata(**told)}
    )
    assert answer.status_code == 201, answer.text
    return answer.headers["location"]


def send(visitor: Visitor, place: str, offset: int, part: bytes, **headers: str):
    sent = {**OFFSETS, "Upload-Offset": str(offset), **headers}
    return visitor.patch(place, headers=sent, content=part)


def test_film_in_parts_becomes_a_video(admin: Visitor, studio: Studio):
    """R5: offsets say how far it is; the last part makes the video and its job."""
    place = begin(admin, filename="day.mp4", title="A day", tags="one, two", text="false")
    first = send(admin, place, 0, FILM[:10])
    asked = admin.head(place, headers=TUS)
    last = send(admin, place, 10, FILM[10:])

    assert (first.status_code, first.headers["upload-offset"]) == (204, "10")
    assert asked.headers["upload-offset"] == "10"
    assert last.headers["upload-offset"] == str(len(FILM))
    asset = studio.asset(last.headers["rushes-video"])
    assert (asset.title, asset.tags, asset.filename) == ("A day", ("one", "two"), "day.mp4")
    assert studio.storage.path(asset.source_key).read_bytes() == FILM
    assert admin.json("GET", place)["job_id"] == last.headers["rushes-job"]


def test_upload_tells_what_was_said_about_it(admin: Visitor):
    """Word for word, as tus 1.0 demands; and nothing where nothing was said."""
    told = {"filename": "day.mp4", "filetype": "video/mp4", "title": "A day"}
    said, silent = begin(admin, **told), begin(admin)

    again = admin.head(said, headers=TUS).headers["upload-metadata"]
    assert {"Upload-Metadata": again} == metadata(**told)
    assert "upload-metadata" not in admin.head(silent, headers=TUS).headers


def test_first_bytes_may_come_with_the_creation(admin: Visitor):
    answer = admin.post(
        "/api/uploads", headers={**OFFSETS, "Upload-Length": str(len(FILM))}, content=FILM
    )

    assert answer.status_code == 201
    assert answer.headers["upload-offset"] == str(len(FILM))
    assert answer.headers["rushes-job"]


def test_part_that_was_damaged_on_the_way_is_refused_and_can_be_sent_again(admin: Visitor):
    """The number 460 is that of tus."""
    place = begin(admin)
    right = "sha1 " + base64.b64encode(hashlib.sha1(FILM[:9]).digest()).decode()

    wrong = send(admin, place, 0, FILM[1:10], **{"Upload-Checksum": right})
    again = send(admin, place, 0, FILM[:9], **{"Upload-Checksum": right})

    assert wrong.status_code == 460
    assert again.headers["upload-offset"] == "9"


def test_server_says_what_it_can_do(admin: Visitor):
    offers = admin.options("/api/uploads").headers

    assert offers["tus-version"] == "1.0.0"
    assert "checksum" in offers["tus-extension"]
    assert int(offers["tus-max-size"]) > 0


def test_upload_can_be_given_up(admin: Visitor, studio: Studio):
    place = begin(admin)
    send(admin, place, 0, FILM[:5])

    assert admin.delete(place, headers=TUS).status_code == 204
    assert admin.head(place, headers=TUS).status_code == 404
    assert [*(studio.storage.root / "uploads").iterdir()] == []


def test_upload_of_somebody_else_is_not_there(ann: Visitor, bob: Visitor):
    """B-UP-25."""
    place = begin(ann)

    assert bob.head(place, headers=TUS).status_code == 404
    assert send(bob, place, 0, FILM).status_code == 404
    assert bob.delete(place, headers=TUS).status_code == 404
    bob.problem("GET", place, 404)


@pytest.mark.parametrize(
    "headers, code",
    [
        ({"Upload-Length": "10"}, 412),
        ({"Tus-Resumable": "0.2.0", "Upload-Length": "10"}, 412),
        ({**TUS}, 422),
        ({**TUS, "Upload-Length": "ten"}, 422),
        ({**TUS, "Upload-Length": "-1"}, 422),
        ({**TUS, "Upload-Length": "0"}, 422),
        ({**TUS, "Upload-Length": "9" * 19}, 422),
        ({**TUS, "Upload-Defer-Length": "1"}, 422),
        ({**TUS, "Upload-Length": "10", "Upload-Metadata": "title !!!"}, 422),
        ({**TUS, "Upload-Length": "10", **metadata(color="red")}, 422),
        ({**TUS, "Upload-Length": "10", **metadata(qualities="721p")}, 422),
        ({**TUS, "Upload-Length": "10", **metadata(title="\x00")}, 422),
        ({**TUS, "Upload-Length": "10", **metadata(sha256="abc")}, 422),
        ({**TUS, "Upload-Length": "10", **metadata(priority="11")}, 422),
    ],
)
def test_wrong_beginning_is_one_problem_and_makes_nothing(
    admin: Visitor, studio: Studio, headers, code: int
):
    admin.problem("POST", "/api/uploads", code, headers=headers)

    assert not [*(studio.storage.root / "uploads").glob("*")]


def test_wrong_part_is_one_problem_and_changes_nothing(admin: Visitor):
    """B-UP-25: a wrong offset, too much, no type."""
    place = begin(admin)
    send(admin, place, 0, FILM[:5])

    assert send(admin, place, 0, FILM[:5]).status_code == 409
    assert send(admin, place, 5, FILM).status_code == 422
    admin.problem("PATCH", place, 415, headers={**TUS, "Upload-Offset": "5"})
    assert admin.head(place, headers=TUS).headers["upload-offset"] == "5"


@pytest.mark.parametrize(
    "method, headers, code",
    [
        ("PATCH", {**TUS, "Upload-Offset": "0"}, 415),
        ("PATCH", {**OFFSETS, "Upload-Offset": "7"}, 409),
        ("HEAD", {}, 412),
        ("HEAD", {**TUS, "Authorization": "none"}, 401),
        ("DELETE", {**TUS, "Content-Encoding": "gzip"}, 415),
    ],
)
def test_refusal_says_which_tus_is_spoken_here(admin: Visitor, method: str, headers, code: int):
    """Every answer names it, as tus 1.0 demands; 412 has to say what would be understood."""
    answer = admin.request(method, begin(admin), headers=headers)

    assert answer.status_code == code
    assert (answer.headers["tus-resumable"], answer.headers["tus-version"]) == ("1.0.0", "1.0.0")


def test_file_that_is_no_film_ends_the_upload_with_its_code(admin: Visitor):
    text = b"once upon a time"
    place = begin(admin, len(text))

    refused = send(admin, place, 0, text)

    assert (refused.status_code, refused.json()["code"]) == (422, "SOURCE_UNSUPPORTED")
    assert admin.json("GET", place)["error_code"] == "SOURCE_UNSUPPORTED"


def test_small_film_goes_in_one_request(admin: Visitor, studio: Studio):
    files = {"file": ("day.mp4", FILM, "video/mp4")}

    answer = admin.post("/api/videos", files=files, data={"title": "A day"})
    again = admin.problem("POST", "/api/videos", 409, files=files)

    assert (answer.status_code, answer.json()["created"]) == (202, True)
    assert answer.headers["location"] == f"/api/jobs/{answer.json()['job_id']}"
    assert studio.asset(answer.json()["asset_id"]).title == "A day"
    assert again["code"] == "DUPLICATE_OF"


def test_form_that_finds_no_room_says_where_there_is_some(
    admin: Visitor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """F-DK-1: the folder for temporary files may be on another, smaller disk."""
    with small_disk(tmp_path / "temporary", "size=2m") as folder:
        monkeypatch.setattr(tempfile, "tempdir", str(folder))
        film = {"file": ("film.mp4", FILM + bytes(4_000_000))}

        told = admin.problem("POST", "/api/videos", 507, files=film)

    assert (told["code"], "/api/uploads" in told["hint"]) == ("DISK_FULL", True)
    assert admin.json("GET", "/api/videos")["items"] == []


def test_small_film_is_known_again_by_its_key_and_its_bytes(admin: Visitor):
    """B-HTTP-14: another film under the same key, name and size is refused, not dropped."""
    headers = {"Idempotency-Key": "k"}
    same, other = ({"file": ("day.mp4", film)} for film in (FILM, FILM[:-1] + b"!"))

    first, again = (
        admin.json("POST", "/api/videos", code=202, files=same, headers=headers) for _ in "ab"
    )
    refused = admin.problem("POST", "/api/videos", 409, files=other, headers=headers)

    assert again == {**first, "created": False}
    assert refused["code"] == "IDEMPOTENCY_KEY_REUSED"
    assert [one["asset_id"] for one in admin.json("GET", "/api/videos")["items"]] == [
        first["asset_id"]
    ]


def test_film_is_imported_only_from_where_it_may_be(house: House, admin: Visitor, tmp_path: Path):
    """B-HTTP-10: the roots are the operator's, and none by default."""
    film = tmp_path / "film.mp4"
    film.write_bytes(FILM)

    refused = admin.problem("POST", "/api/videos/import", 422, json={"path": str(film)})

    assert "import" in refused["detail"] or "import" in refused.get("hint", "")
