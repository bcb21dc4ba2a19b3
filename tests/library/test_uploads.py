"""Films in parts: what has arrived is kept, whoever dies, and each becomes one film and one job."""

from __future__ import annotations

import base64
import hashlib
import os
import random
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from rushes.domain.person import Principal, Scope
from rushes.errors import (
    Conflict,
    DuplicateOf,
    Invalid,
    KeyReused,
    NotFound,
    Permanent,
    Unavailable,
)
from rushes.library import sink, uploads
from rushes.library.incoming import Incoming, Wish, get
from rushes.library.pipelines import Options
from rushes.library.sink import ChecksumMismatch
from rushes.library.uploads import Limits, TooManyUploads
from rushes.observability import failpoints
from rushes.store import assets, jobs
from rushes.store.database import Database
from rushes.store.uploads import State
from tests.disk import other_disk, small_disk
from tests.library.studio import HEAD, Studio
from tests.world import NOBODY, NOON

DAY = 24 * 3600 * 1000
MB = 1_000_000
PNG = b"\x89PNG\r\n\x1a\n and so on"
FILM = HEAD + random.Random(7).randbytes(300_000)


def person(name: str, *scopes: Scope) -> Principal:
    return Principal(name=name, owner=name, scopes=frozenset(scopes or {Scope.UPLOAD}))


ANN, BOB, ADMIN = person("ann"), person("bob"), person("root", Scope.ADMIN)


def begin(studio: Studio, content: bytes = FILM, who: Principal = ANN, **wishes: Any) -> str:
    now = wishes.pop("now", None)
    wish = Wish(**{"size": len(content), "filename": "film.mp4", **wishes})
    return uploads.create(studio.library, who, wish, now=now).id


def send(studio: Studio, id: str, *parts: bytes, offset: int = 0, **options: Any) -> int:
    with uploads.receive(studio.library, ANN, id, offset, **options) as into:
        for part in parts:
            into.write(part)
    return into.offset


def send_and_break_off(studio: Studio, id: str, content: bytes, *request: Any) -> None:
    with uploads.receive(studio.library, ANN, id, *request) as into:
        into.write(content)
        raise ConnectionError


def whole(studio: Studio, content: bytes = FILM, **wishes: Any) -> str:
    id = begin(studio, content, **wishes)
    send(studio, id, content)
    return id


def seen(studio: Studio, id: str) -> Incoming:
    return get(studio.library, ANN, id)


def films(db: Database) -> list[str]:
    return [asset.id for asset in db.read(assets.list_page)]


def arriving(studio: Studio) -> list[str]:
    """The files in the folder of uploads."""
    return sorted(path.name for path in (studio.storage.root / "uploads").glob("*"))


def originals(studio: Studio) -> list[str]:
    return sorted(path.name for path in (studio.storage.root / "originals").glob("*"))


def test_film_that_came_in_parts_is_one_film_and_one_job(studio: Studio) -> None:
    """000-004, 000-042: its bytes are moved, not copied, and all that was said of it is kept."""
    options = Options(qualities=("480p",), languages=("de", "en"), text=False)
    id = begin(studio, title="A day", tags=("one", "two"), priority=8, options=options)
    for start in range(0, len(FILM), 70_000):
        send(studio, id, FILM[start : start + 70_000], offset=start)
    inode = (studio.storage.root / "uploads" / id).stat().st_ino

    added = uploads.finish(studio.library, ANN, id)

    asset = studio.asset(added.asset_id)
    job = studio.db.read(lambda tx: jobs.get(tx, added.job_id))
    path = studio.storage.path(asset.source_key)
    assert (asset.title, asset.tags, asset.filename) == ("A day", ("one", "two"), "film.mp4")
    assert (asset.owner, asset.bytes, asset.job_id) == ("ann", len(FILM), job.id)
    assert (job.owner, job.priority) == ("ann", 8)
    assert asset.sha256 == hashlib.sha256(FILM).hexdigest()
    assert (path.read_bytes(), path.stat().st_ino) == (FILM, inode)
    assert arriving(studio) == []
    assert (seen(studio, id).state, seen(studio, id).job_id) == (State.FINISHED, added.job_id)


def test_wishes_are_the_same_when_they_are_read_again(studio: Studio) -> None:
    wish = Wish(
        size=10,
        filename="a\x00b.mp4",
        title="Ünï",
        tags=("x", "y"),
        priority=2,
        options=Options(qualities=("720p",), languages=("fr",), engine="tesseract", text=False),
        sha256="AB" * 32,
        duplicate="allow",
        idempotency_key="k",
    )

    made = uploads.create(studio.library, ANN, wish, now=NOON)

    assert made == get(studio.library, ANN, made.id)
    assert made.wish == replace(wish, filename="ab.mp4", sha256="ab" * 32)
    assert (made.offset, made.state, made.owner) == (0, State.OPEN, "ann")
    assert (made.created_at, made.expires_at) == (NOON, NOON + DAY)


@pytest.mark.parametrize("offset", [0, 99_999, 100_001, 300_001, -1], ids=str)
def test_bytes_at_another_offset_are_refused_and_told_the_real_one(
    studio: Studio, offset: int
) -> None:
    """B-UP-25: wrong offset, overlap, gap."""
    id = begin(studio)
    send(studio, id, FILM[:100_000])

    with pytest.raises(Conflict) as refused:
        send(studio, id, b"x" * 10, offset=offset)

    assert refused.value.detail["offset"] == seen(studio, id).offset == 100_000
    send(studio, id, FILM[100_000:], offset=100_000)
    assert stored(studio, uploads.finish(studio.library, ANN, id).asset_id) == FILM


def stored(studio: Studio, asset_id: str) -> bytes:
    return studio.storage.path(studio.asset(asset_id).source_key).read_bytes()


def test_more_bytes_than_announced_are_refused(studio: Studio) -> None:
    id = begin(studio)

    with pytest.raises(Invalid, match="announced"):
        send(studio, id, FILM[:-1], FILM[-1:] + b"x")

    assert seen(studio, id).offset == len(FILM) - 1
    assert (studio.storage.root / "uploads" / id).stat().st_size == len(FILM) - 1


def test_second_writer_is_refused_at_once(studio: Studio) -> None:
    """One at a time, whether it writes or finishes; the first one does not notice."""
    id = begin(studio)

    with uploads.receive(studio.library, ANN, id, 0) as into:
        into.write(FILM)
        for rival in (lambda: send(studio, id, b"x"), lambda: uploads.finish(*at(studio, id))):
            with pytest.raises(Conflict, match="somebody else"):
                rival()

    assert stored(studio, uploads.finish(*at(studio, id)).asset_id) == FILM


def test_count_stops_a_second_writer_where_locks_do_not(studio: Studio) -> None:
    """A disk over the network may not know of the lock."""
    id = begin(studio)
    path = studio.storage.root / "uploads" / id

    with ExitStack() as request:
        into = request.enter_context(uploads.receive(*at(studio, id), 0))
        into.write(b"x" * 20)
        path.unlink()
        path.touch()  # another file: its lock is free
        send(studio, id, FILM[:10])
        with pytest.raises(Conflict) as refused:
            request.close()

    assert refused.value.detail["offset"] == seen(studio, id).offset == 10
    send(studio, id, FILM[10:], offset=10)
    assert stored(studio, uploads.finish(*at(studio, id)).asset_id) == FILM


def at(studio: Studio, id: str, who: Principal = ANN) -> tuple[Any, Principal, str]:
    return studio.library, who, id


def test_what_arrived_before_a_connection_broke_is_kept(studio: Studio) -> None:
    """F-API-1."""
    id = begin(studio)

    with pytest.raises(ConnectionError):
        send_and_break_off(studio, id, FILM[:123_456], 0)

    assert seen(studio, id).offset == 123_456
    send(studio, id, FILM[123_456:], offset=123_456)
    assert stored(studio, uploads.finish(*at(studio, id)).asset_id) == FILM


def test_long_request_is_counted_on_the_way(
    studio: Studio, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client may send all in one request: when the server dies, most of it must be there."""
    monkeypatch.setattr(sink, "COUNT_BYTES", 100_000)
    monkeypatch.setattr(sink, "COUNT_SECONDS", 3600)
    id, counts = begin(studio), []

    with uploads.receive(*at(studio, id), 0) as into:
        for start in range(0, len(FILM), 30_000):
            into.write(FILM[start : start + 30_000])
            counts.append(seen(studio, id).offset)

    assert counts == [0, 0, 0, *[120_000] * 4, *[240_000] * 4]


def test_slow_request_is_counted_on_the_way(
    studio: Studio, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sink, "COUNT_SECONDS", 0)
    id = begin(studio)

    with uploads.receive(*at(studio, id), 0) as into:
        into.write(FILM[:10])

        assert seen(studio, id).offset == 10


def test_bytes_are_on_the_disk_before_they_are_counted(
    studio: Studio, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F-DK-6: and what could not be brought there is not counted (F-DK-4)."""
    id, counted = begin(studio), []
    monkeypatch.setattr(sink, "sync", lambda _: counted.append(seen(studio, id).offset))
    send(studio, id, FILM[:10])

    def fails(_: int) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(sink, "sync", fails)
    with pytest.raises(Permanent, match="Input/output") as refused:
        send(studio, id, FILM[10:20], offset=10)

    assert (counted, seen(studio, id).offset) == ([0], 10)
    assert refused.value.error_code == "STORAGE_DENIED"


def test_bytes_that_nobody_counted_are_cut_off(studio: Studio) -> None:
    """A process that died may have written more than it said."""
    id = begin(studio)
    send(studio, id, FILM[:100_000])
    with (studio.storage.root / "uploads" / id).open("ab") as file:
        file.write(b"x" * 400_000)

    send(studio, id, FILM[100_000:], offset=100_000)

    assert stored(studio, uploads.finish(*at(studio, id)).asset_id) == FILM


def test_upload_whose_bytes_were_lost_is_given_up(studio: Studio) -> None:
    """It never goes on with a hole in it: a disk was replaced, or a backup restored."""
    gone, short = (begin(studio, title=title) for title in ("gone", "short"))
    for id in (gone, short):
        send(studio, id, FILM[:100])
    (studio.storage.root / "uploads" / gone).unlink()
    os.truncate(studio.storage.root / "uploads" / short, 99)

    for id in (gone, short):
        for _ in range(2):
            with pytest.raises(Permanent, match="gone") as refused:
                send(studio, id, FILM[100:], offset=100)
            assert refused.value.error_code == seen(studio, id).error_code == "SOURCE_MISSING"
    assert arriving(studio) == []


def checksum(name: str, content: bytes) -> str:
    return f"{name} {base64.b64encode(hashlib.new(name, content).digest()).decode()}"


@pytest.mark.parametrize("name", sink.ALGORITHMS)
def test_part_with_a_checksum_is_taken_whole_or_not_at_all(
    studio: Studio, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sink, "COUNT_SECONDS", 0)
    id, half = begin(studio), len(FILM) // 2
    send(studio, id, FILM[:half], checksum=checksum(name, FILM[:half]))

    with pytest.raises(ChecksumMismatch) as refused:
        send(studio, id, b"x" * half, offset=half, checksum=checksum(name, FILM[half:]))
    with pytest.raises(ConnectionError):
        send_and_break_off(studio, id, b"x" * 10, half, checksum(name, FILM[half:]))

    assert (refused.value.status, seen(studio, id).offset) == (460, half)
    send(studio, id, FILM[half:], offset=half, checksum=checksum(name, FILM[half:]))
    assert stored(studio, uploads.finish(*at(studio, id)).asset_id) == FILM


@pytest.mark.parametrize(
    "text", ["", "sha1", "sha1 ", "sha1 xyz!", "sha1 AAAA", "crc32 AAAA", "sha1  AAAA", "ä ö"]
)
def test_checksum_that_is_none_is_refused(studio: Studio, text: str) -> None:
    id = begin(studio)

    with pytest.raises(Invalid) as refused:
        send(studio, id, FILM, checksum=text)

    assert (refused.value.code, seen(studio, id).offset) == ("INVALID_INPUT", 0)


def test_others_do_not_see_an_upload(studio: Studio) -> None:
    """B-UP-25, I13: not yours, not there and no id at all are one answer."""
    id = whole(studio)
    tries: list[Callable[[str], object]] = [
        lambda name: get(*at(studio, name, BOB)),
        lambda name: uploads.receive(*at(studio, name, BOB), 0).__enter__(),
        lambda name: uploads.finish(*at(studio, name, BOB)),
        lambda name: uploads.terminate(*at(studio, name, BOB)),
    ]

    for attempt in tries:
        for name in (id, NOBODY, "../etc/passwd", "x" * 10_000, "\x00", ""):
            with pytest.raises(NotFound) as refused:
                attempt(name)
            assert str(refused.value) == f"there is no upload {name[:64]}"

    assert get(*at(studio, id, ADMIN)).owner == "ann"
    assert studio.asset(uploads.finish(*at(studio, id, ADMIN)).asset_id).owner == "ann"


def test_film_that_is_not_whole_cannot_be_finished(studio: Studio) -> None:
    id = begin(studio)
    send(studio, id, FILM[:-1])

    with pytest.raises(Conflict, match="300000 of 300001 bytes") as refused:
        uploads.finish(*at(studio, id))

    assert refused.value.detail["offset"] == len(FILM) - 1
    assert (seen(studio, id).state, films(studio.db)) == (State.OPEN, [])


def test_finishing_again_answers_the_same(studio: Studio) -> None:
    """003-063, I12."""
    id = whole(studio)

    first, again = (uploads.finish(*at(studio, id)) for _ in range(2))

    assert (again.asset_id, again.job_id) == (first.asset_id, first.job_id)
    assert (first.created, again.created) == (True, False)
    assert films(studio.db) == originals(studio) == [first.asset_id]
    for late in (
        lambda: send(studio, id, b"", offset=len(FILM)),
        lambda: uploads.terminate(*at(studio, id)),
    ):
        with pytest.raises(Conflict, match="finished"):
            late()


REFUSED: dict[str, tuple[bytes, dict[str, object]]] = {
    "SOURCE_CORRUPT": (FILM, {"sha256": "0" * 64}),
    "SOURCE_UNSUPPORTED": (PNG, {}),
    "DUPLICATE_OF": (HEAD + b"a film", {"owner": "ann"}),
    "IDEMPOTENCY_KEY_REUSED": (FILM, {"idempotency_key": "k"}),
}


@pytest.mark.parametrize("code", REFUSED)
def test_film_that_is_refused_says_so_in_its_row_and_leaves_no_bytes(
    studio: Studio, code: str
) -> None:
    """B-UP-12, B-UP-25, B-UP-26: and the same again to whoever asks again."""
    there = studio.add(owner="ann", idempotency_key="k").asset_id
    content, wishes = REFUSED[code]
    wishes = {key: value for key, value in wishes.items() if key != "owner"}
    id = whole(studio, content, **wishes)

    for _ in range(2):
        with pytest.raises((Permanent, Conflict)) as refused:
            uploads.finish(*at(studio, id))
        assert getattr(refused.value, "error_code", refused.value.code) == code
        if isinstance(refused.value, DuplicateOf):
            assert refused.value.detail["asset_id"] == there

    row = seen(studio, id)
    assert (row.state, row.error_code, row.error) == (State.FAILED, code, str(refused.value))
    assert (arriving(studio), originals(studio), films(studio.db)) == ([], [there], [there])


def test_expected_sha256_that_is_right_is_accepted(studio: Studio) -> None:
    id = whole(studio, sha256=hashlib.sha256(FILM).hexdigest().upper())

    assert uploads.finish(*at(studio, id)).created


def test_film_that_arrived_in_order_is_not_read_again(studio: Studio) -> None:
    """Its hash is that of what arrived; whoever did not see all of it reads it once."""
    here, elsewhere = (begin(studio, title=title) for title in ("here", "elsewhere"))
    for id in (here, elsewhere):
        send(studio, id, FILM[:100_000])
        if id == elsewhere:
            sink.digests.keep(id, 0, None)  # as after a restart
        send(studio, id, FILM[100_000:], offset=100_000)
        with (studio.storage.root / "uploads" / id).open("r+b") as file:
            file.seek(200_000)
            file.write(b"rotten")  # only a reader would see it

    hashes = [
        studio.asset(uploads.finish(*at(studio, id)).asset_id).sha256 for id in (here, elsewhere)
    ]

    rotten = FILM[:200_000] + b"rotten" + FILM[200_006:]
    assert hashes == [hashlib.sha256(content).hexdigest() for content in (FILM, rotten)]


def test_only_some_digests_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sink, "DIGESTS", 2)
    digests = sink.Digests()

    for id in "abac":
        digests.keep(id, 7, hashlib.sha256(id.encode()))

    known = {id for id in "abc" if digests.at(id, 7) is not None}
    assert known == {"a", "c"}
    assert digests.at("a", 8) is None
    assert digests.at("b", 0).hexdigest() == hashlib.sha256().hexdigest()


def test_owner_cannot_open_a_thousand_uploads(studio: Studio) -> None:
    """B-UP-25: nothing is written for one too many, and nobody else is kept out."""
    made = []

    for _ in range(1_000):
        with suppress(TooManyUploads):
            made.append(begin(studio))

    assert (len(made), arriving(studio)) == (100, sorted(made))
    assert begin(studio, who=BOB)
    uploads.terminate(*at(studio, made[0]))
    assert begin(studio)


def test_rivals_together_open_no_more_than_one_alone(studio: Studio) -> None:
    start = threading.Barrier(12)
    made: list[str] = []

    def rival() -> None:
        start.wait()
        with suppress(TooManyUploads):
            limits = Limits(uploads=4)
            made.append(uploads.create(studio.library, ANN, Wish(size=5), limits=limits).id)

    threads = [threading.Thread(target=rival) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(made) == 4
    assert arriving(studio) == sorted(made)


def test_owner_cannot_announce_more_bytes_than_their_share(studio: Studio) -> None:
    limits = Limits(bytes=1_000)
    uploads.create(studio.library, ANN, Wish(size=600), limits=limits)

    with pytest.raises(TooManyUploads):
        uploads.create(studio.library, ANN, Wish(size=401), limits=limits)

    assert uploads.create(studio.library, ANN, Wish(size=400), limits=limits)


def test_room_is_kept_for_what_is_still_to_come(studio: Studio) -> None:
    """Two films that fit one by one, but not both."""
    size = studio.storage.free_bytes() * 3 // 5
    studio.library = replace(studio.library, caps=replace(studio.library.caps, size_bytes=1 << 62))
    limits = Limits(bytes=1 << 62)
    first = uploads.create(studio.library, ANN, Wish(size=size), limits=limits)

    with pytest.raises(Permanent, match="free") as refused:
        uploads.create(studio.library, BOB, Wish(size=size), limits=limits)

    assert refused.value.error_code == "DISK_FULL"
    assert arriving(studio) == [first.id]


BAD: list[tuple[type[Exception], dict[str, object]]] = [
    (Permanent, {"size": 0}),
    (Permanent, {"size": -1}),
    (Permanent, {"size": 1024**4 + 1}),
    (Invalid, {"title": "x\x00"}),
    (Invalid, {"title": "x" * 501}),
    (Invalid, {"tags": ("t",) * 51}),
    (Invalid, {"tags": ("",)}),
    (Invalid, {"priority": 11}),
    (Invalid, {"sha256": "0" * 63}),
    (Invalid, {"sha256": "g" * 64}),
    (Invalid, {"idempotency_key": "k" * 10_000}),
]


@pytest.mark.parametrize("error, wishes", BAD, ids=lambda value: str(value)[:40])
def test_bad_wish_is_refused_before_a_byte_is_sent(
    studio: Studio, error: type[Exception], wishes: dict[str, object]
) -> None:
    with pytest.raises(error):
        begin(studio, **wishes)

    assert arriving(studio) == []


def test_same_key_finds_the_same_upload(studio: Studio) -> None:
    """003-063, I12, B-HTTP-14: even where the limit leaves room for no other."""
    limits, wish = Limits(uploads=1), Wish(size=5, idempotency_key="k")
    first, again = (uploads.create(studio.library, ANN, wish, limits=limits) for _ in range(2))

    with pytest.raises(KeyReused):
        uploads.create(studio.library, ANN, replace(wish, size=6), limits=limits)
    other = uploads.create(studio.library, BOB, wish)

    assert first == again
    assert arriving(studio) == sorted([first.id, other.id])


def test_upload_that_is_terminated_is_gone_at_once(studio: Studio) -> None:
    id = begin(studio)

    with ExitStack() as request:
        into = request.enter_context(uploads.receive(*at(studio, id), 0))
        into.write(FILM[:100])
        uploads.terminate(*at(studio, id))
        into.write(FILM[100:200])
        with pytest.raises(NotFound):
            request.close()

    with pytest.raises(NotFound):
        uploads.finish(*at(studio, id))
    assert (arriving(studio), films(studio.db)) == ([], [])


def test_upload_that_is_terminated_while_it_is_finished_is_no_film(studio: Studio) -> None:
    id = whole(studio)
    failpoints.call("upload.after_rename", lambda: uploads.terminate(*at(studio, id)))
    try:
        with pytest.raises(NotFound):
            uploads.finish(*at(studio, id))
    finally:
        failpoints.call("upload.after_rename", None)

    assert (arriving(studio), originals(studio), films(studio.db)) == ([], [], [])


def test_upload_expires_a_day_after_its_last_byte(studio: Studio) -> None:
    """F-API-1: and whoever is slow, but sends, is not cut off."""
    silent, slow = (begin(studio, title=title, now=NOON) for title in ("silent", "slow"))
    send(studio, slow, FILM[:100], now=NOON + DAY - 1)

    gone = [uploads.expire(studio.library, now=now) for now in (NOON + DAY - 1, NOON + DAY)]

    assert (gone, arriving(studio)) == ([0, 1], [slow])
    assert seen(studio, slow).expires_at == NOON + 2 * DAY - 1
    with pytest.raises(NotFound):
        seen(studio, silent)


def test_film_that_nobody_finished_is_finished_by_itself(studio: Studio) -> None:
    """F-API-2: the server died after the last byte, and the client sees that all has arrived."""
    good, bad, part = begin(studio, now=NOON), begin(studio, PNG, now=NOON), begin(studio, now=NOON)
    for id, content in ((good, FILM), (bad, PNG), (part, FILM[:-1])):
        send(studio, id, content, now=NOON)

    uploads.expire(studio.library, now=NOON + 59_999)
    before = films(studio.db)
    uploads.expire(studio.library, now=NOON + 60_000)

    states = [seen(studio, id).state for id in (good, bad, part)]
    assert (before, films(studio.db)) == ([], [good])
    assert states == [State.FINISHED, State.FAILED, State.OPEN]
    assert (studio.asset(good).owner, stored(studio, good)) == ("ann", FILM)


def test_answers_expire_and_films_do_not(studio: Studio) -> None:
    film, refused = whole(studio, now=NOON), whole(studio, PNG, now=NOON)
    asset = uploads.finish(*at(studio, film), now=NOON).asset_id
    with pytest.raises(Permanent):
        uploads.finish(*at(studio, refused), now=NOON)

    assert uploads.expire(studio.library, now=NOON + DAY) == 0

    for id in (film, refused):
        with pytest.raises(NotFound):
            seen(studio, id)
    assert stored(studio, asset) == FILM


def test_file_without_a_row_is_removed_when_it_is_old(studio: Studio) -> None:
    """I9: a process may die before a row is made, or after it was removed."""
    kept = begin(studio)
    folder = studio.storage.root / "uploads"
    for name in (NOBODY, NOBODY[:-1] + "1", "notes.txt"):
        (folder / name).touch()
    past = time.time() - timedelta(hours=25).total_seconds()
    for name in (kept, NOBODY, "notes.txt"):
        os.utime(folder / name, (past, past))

    uploads.expire(studio.library)

    assert arriving(studio) == sorted([kept, NOBODY[:-1] + "1", "notes.txt"])


def test_answer_that_was_lost_makes_no_second_upload(studio: Studio) -> None:
    """F-PG-3: the transaction runs again, and finds what it wrote."""
    truth = studio.db.transact

    def twice(work: Any, *, now: int | None = None) -> Any:
        truth(work, now=now)
        return truth(work, now=now)

    studio.db.transact = twice  # type: ignore[method-assign]
    try:
        made = uploads.create(studio.library, ANN, Wish(size=len(FILM)), limits=Limits(uploads=1))
        send(studio, made.id, FILM)
        added = uploads.finish(*at(studio, made.id))
    finally:
        studio.db.transact = truth  # type: ignore[method-assign]

    assert films(studio.db) == [added.asset_id]
    assert (stored(studio, added.asset_id), added.created) == (FILM, True)


def test_film_that_the_same_key_added_before_is_that_film(studio: Studio) -> None:
    """I12: by whatever door it came in."""
    there = studio.add(owner="ann", idempotency_key="k")
    id = whole(studio, HEAD + b"a film", idempotency_key="k", options=Options(text=False))

    added = uploads.finish(*at(studio, id))

    assert added == replace(there, created=False)
    assert (arriving(studio), originals(studio)) == ([], [there.asset_id])
    assert seen(studio, id).asset_id == there.asset_id


def test_film_goes_to_another_disk_where_originals_are_there(studio: Studio) -> None:
    """F-DK-4: EXDEV."""
    with other_disk() as disk:
        studio.storage.root.mkdir(parents=True, exist_ok=True)
        (studio.storage.root / "originals").symlink_to(disk)
        id = whole(studio)

        added = uploads.finish(*at(studio, id))

        assert (stored(studio, added.asset_id), arriving(studio)) == (FILM, [])


def test_disk_that_fills_up_keeps_what_arrived_and_says_so(studio: Studio) -> None:
    """F-DK-1: and it goes on from there when there is room."""
    film = HEAD + random.Random(8).randbytes(2 * MB)
    id = begin(studio, film)
    folder = studio.storage.root / "uploads"
    with small_disk(folder, "size=1m"):
        (folder / id).touch()
        with pytest.raises(Permanent) as refused:
            send(studio, id, film)
        offset = seen(studio, id).offset
        kept = (folder / id).read_bytes()
    (folder / id).write_bytes(kept)

    send(studio, id, film[offset:], offset=offset)

    assert (refused.value.error_code, len(kept)) == ("DISK_FULL", offset)
    assert offset > 500_000
    assert stored(studio, uploads.finish(*at(studio, id)).asset_id) == film


def test_film_that_cannot_be_moved_for_now_is_not_given_up(studio: Studio) -> None:
    id = whole(studio)
    with (
        small_disk(studio.storage.root / "originals", "size=100k"),
        pytest.raises(Permanent) as refused,
    ):
        uploads.finish(*at(studio, id))

    assert (refused.value.error_code, seen(studio, id).state) == ("DISK_FULL", State.OPEN)
    assert stored(studio, uploads.finish(*at(studio, id)).asset_id) == FILM


def test_commit_that_nobody_answered_is_made_up_for(studio: Studio) -> None:
    """000-157: the database is away; the film waits in its place."""
    id = whole(studio)
    failpoints.call("job.before_commit", _no_answer)
    try:
        with pytest.raises(Unavailable):
            uploads.finish(*at(studio, id))
    finally:
        failpoints.call("job.before_commit", None)

    assert (seen(studio, id).state, originals(studio)) == (State.OPEN, [id])
    assert stored(studio, uploads.finish(*at(studio, id)).asset_id) == FILM


def _no_answer() -> None:
    raise Unavailable("the connection is gone")
