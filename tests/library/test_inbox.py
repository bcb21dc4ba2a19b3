"""Films that lie on this machine: what may be imported, and what a watched folder brings in."""

from __future__ import annotations

import hashlib
import logging
import math
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from rushes.domain.person import LOCAL, Principal, Scope
from rushes.errors import Invalid, NotFound, Permanent, Unavailable
from rushes.library import edit, inbox
from rushes.library.inbox import Pace, Watcher
from rushes.library.incoming import Wish
from rushes.observability import failpoints
from rushes.store import assets
from tests.library.studio import HEAD, Studio
from tests.waiting import until

ANN = Principal(name="ann", owner="ann", scopes=frozenset({Scope.UPLOAD}))
PNG = b"\x89PNG\r\n\x1a\n and so on"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "films"
    made.mkdir()
    return made


def put(path: Path, content: bytes = b"a film") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(HEAD + content)
    return path


def titles(studio: Studio) -> list[str]:
    return sorted(asset.title for asset in studio.db.read(assets.list_page))


def test_path_inside_a_root_is_allowed(folder: Path, tmp_path: Path) -> None:
    film = put(folder / "below" / "a.mp4")
    (tmp_path / "way").symlink_to(folder)

    found = [
        inbox.allowed(path, [folder]) for path in (film, tmp_path / "way/below/../below/a.mp4")
    ]

    assert found == [film.resolve()] * 2


def test_what_is_outside_and_what_is_not_there_are_one_answer(folder: Path, tmp_path: Path) -> None:
    """B-UP-27, I13: nobody learns what else is on the machine; an admin is told why."""
    outside = put(tmp_path / "films2" / "a.mp4")
    (folder / "link.mp4").symlink_to(outside)
    (folder / "loop.mp4").symlink_to(folder / "loop.mp4")
    (folder / "up").symlink_to(tmp_path)
    there = [outside, folder / "../films2/a.mp4", folder / "link.mp4", folder / "up/films2/a.mp4"]
    missing = [tmp_path / "films2/b.mp4", folder / "b.mp4", folder / "loop.mp4", Path("/a\x00b")]

    relative = Path(os.path.relpath(put(folder / "d.mp4")))

    for path in (*there, *missing, relative, outside.parent):
        with pytest.raises(NotFound) as refused:
            inbox.allowed(path, [folder])
        assert str(refused.value) == f"there is no file {str(path).replace(chr(0), '')} to import"

    for path in there:
        with pytest.raises(Invalid, match="outside") as told:
            inbox.allowed(path, [folder], is_admin=True)
        assert str(folder) in str(told.value.hint)
    with pytest.raises(NotFound):
        inbox.allowed(put(folder / "c.mp4"), [])


def test_only_a_regular_file_is_allowed(folder: Path) -> None:
    """B-UP-27: a pipe would wait for ever."""
    os.mkfifo(folder / "pipe.mp4")
    (folder / "below.mp4").mkdir()

    for name in ("pipe.mp4", "below.mp4"):
        with pytest.raises(Invalid, match="regular"):
            inbox.allowed(folder / name, [folder])


def test_film_is_imported_by_its_path_and_stays_there(studio: Studio, folder: Path) -> None:
    film = put(folder / "a.mp4")
    (folder / "A day.mov").symlink_to(film)

    added = inbox.import_path(studio.library, ANN, folder / "A day.mov", Wish(), [folder])

    asset = studio.asset(added.asset_id)
    assert (asset.owner, asset.filename, asset.title) == ("ann", "A day.mov", "A day")
    assert studio.storage.path(asset.source_key).read_bytes() == film.read_bytes()


def test_film_of_somebody_else_cannot_be_imported_from_the_data_folder(studio: Studio) -> None:
    """I13: a root may be a folder that the data folder lies in."""
    there = studio.asset(studio.add(owner="bob").asset_id)
    path = studio.storage.path(there.source_key)

    with pytest.raises(NotFound):
        inbox.import_path(studio.library, ANN, path, Wish(), [studio.storage.root.parent])


def test_import_checks_what_was_announced(studio: Studio, folder: Path) -> None:
    film = put(folder / "a.mp4")
    right = hashlib.sha256(film.read_bytes()).hexdigest()

    with pytest.raises(Permanent) as refused:
        inbox.import_path(studio.library, ANN, film, Wish(sha256="0" * 64), [folder])
    left = list((studio.storage.root / "originals").glob("*"))
    added = inbox.import_path(studio.library, ANN, film, Wish(sha256=right), [folder])

    assert (refused.value.error_code, left) == ("SOURCE_CORRUPT", [])
    assert titles(studio) == ["a"]
    assert added.created


def test_file_is_taken_when_it_has_stopped_growing(studio: Studio, folder: Path) -> None:
    """002-006, B-UP-27: unchanged over two looks, two seconds apart."""
    watcher = Watcher(studio.library, folder)
    film = put(folder / "a.mp4", b"half")

    assert watcher.look(0.0) == []
    assert watcher.look(1.9) == []
    put(film, b"half and more")
    assert watcher.look(2.0) == []
    os.utime(film, (1, 1))  # the size alone would not tell
    assert watcher.look(4.0) == []
    assert watcher.look(5.9) == []
    [added] = watcher.look(6.0)

    path = studio.storage.path(studio.asset(added.asset_id).source_key)
    assert path.read_bytes() == HEAD + b"half and more"
    assert watcher.look(10.0) == []
    assert (titles(studio), film.exists()) == (["a"], True)


def look_until_still(watcher: Watcher, start: float = 0.0) -> int:
    """Look twice, far enough apart. Returns how many films were added."""
    return len(watcher.look(start)) + len(watcher.look(start + 2))


def test_same_content_is_never_added_twice(
    studio: Studio, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """B-UP-26: under another name, after a restart, or when it is copied anew."""
    caplog.set_level(logging.INFO, "rushes")
    put(folder / "a.mp4")
    put(folder / "below" / "b.mp4")

    first = look_until_still(Watcher(studio.library, folder))
    put(folder / "a.mp4")  # with another time
    watcher = Watcher(studio.library, folder)
    again = look_until_still(watcher)

    assert (first, again, len(titles(studio))) == (1, 0, 1)
    assert watcher.due == math.inf  # nothing is to be tried once more
    assert "is in the library as" in caplog.text


def test_file_that_was_dealt_with_is_not_read_after_a_restart(studio: Studio, folder: Path) -> None:
    """Neither is a film that was deleted since: it would come back for ever."""
    film = put(folder / "a.mp4")
    watcher = Watcher(studio.library, folder)
    watcher.look(0)
    [added] = watcher.look(2)
    edit.delete(studio.library, added.asset_id)
    before = film.stat()
    film.write_bytes(HEAD + b"A FILM")  # only a reader would see it
    os.utime(film, ns=(before.st_atime_ns, before.st_mtime_ns))

    again = look_until_still(Watcher(studio.library, folder))

    assert (again, titles(studio)) == (0, [])


def test_each_owner_has_an_inbox_of_their_own(studio: Studio, folder: Path) -> None:
    put(folder / "a.mp4")

    added = [
        look_until_still(Watcher(studio.library, folder, principal=who)) for who in (LOCAL, ANN)
    ]

    assert added == [1, 1]
    assert sorted(a.owner for a in studio.db.read(assets.list_page)) == ["", "ann"]


def test_bad_file_is_refused_once_and_does_not_stop_the_others(
    studio: Studio, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (folder / "a.mp4").write_bytes(PNG)
    (folder / "b.mp4").touch()
    put(folder / "c.mp4")

    watcher = Watcher(studio.library, folder)
    first = look_until_still(watcher)
    told = caplog.text.count("is refused")
    later = look_until_still(watcher, 100), look_until_still(Watcher(studio.library, folder), 200)

    assert (first, told, later, titles(studio)) == (1, 2, (0, 0), ["c"])
    assert caplog.text.count("is refused") == 2
    put(folder / "a.mp4", b"now it is one")
    assert look_until_still(watcher, 300) == 1


def test_file_that_cannot_be_taken_now_is_tried_again_later(studio: Studio, folder: Path) -> None:
    """A full disk, a database that is away: these pass, and the others do not wait."""
    put(folder / "a.mp4")
    room = studio.library
    full = replace(room, reserve_bytes=studio.storage.free_bytes() * 2)
    watcher = Watcher(full, folder)
    assert look_until_still(watcher) == 0
    assert watcher.due == 62.0
    watcher._library = room

    failpoints.call("job.before_commit", _no_answer)
    try:
        assert (watcher.look(61), watcher.look(62)) == ([], [])
    finally:
        failpoints.call("job.before_commit", None)

    assert (watcher.due, watcher.look(121)) == (122.0, [])
    assert len(watcher.look(122)) == 1


def _no_answer() -> None:
    raise Unavailable("the connection is gone")


def test_what_is_no_film_is_left_out(studio: Studio, folder: Path, tmp_path: Path) -> None:
    """B-UP-27: the same as for a folder that is added by hand."""
    outside = put(tmp_path / "outside.mp4")
    put(folder / ".hidden.mp4")
    put(folder / "a.mp4.part")
    (folder / "program.ts").write_text("const film = false;\n")
    (folder / "out.mp4").symlink_to(outside)
    (folder / "loop.mp4").symlink_to(folder / "loop.mp4")
    os.mkfifo(folder / "pipe.mp4")
    os.close(os.open(os.fsencode(folder) + b"/\xff.mp4", os.O_CREAT | os.O_WRONLY))
    (Path(os.fsdecode(os.fsencode(folder) + b"/\xff.mp4"))).write_bytes(HEAD + b"a film")

    added = look_until_still(Watcher(studio.library, folder))

    assert (added, titles(studio)) == (1, ["?"])


def test_folder_that_goes_and_comes_back_is_watched_on(studio: Studio, folder: Path) -> None:
    watcher = Watcher(studio.library, folder)
    folder.rmdir()
    assert look_until_still(watcher) == 0

    put(folder / "a.mp4")

    assert look_until_still(watcher, 10) == 1


def test_folder_that_cannot_be_watched_is_refused(studio: Studio, tmp_path: Path) -> None:
    """Its own originals would come in again."""
    studio.storage.root.mkdir(exist_ok=True)
    for folder in (tmp_path / "missing", tmp_path, studio.storage.root, put(tmp_path / "a.mp4")):
        with pytest.raises(Invalid):
            Watcher(studio.library, folder)


def test_watcher_stops_between_two_films(studio: Studio, folder: Path) -> None:
    stop = threading.Event()
    watcher = Watcher(studio.library, folder, stop=stop)
    for name in ("a.mp4", "b.mp4"):
        put(folder / name, name.encode())
    watcher.look(0)
    failpoints.call("upload.after_db", stop.set)
    try:
        added = watcher.look(2)
    finally:
        failpoints.call("upload.after_db", None)

    assert (len(added), titles(studio)) == (1, ["a"])


@contextmanager
def watching(studio: Studio, folder: Path, pace: Pace) -> Iterator[threading.Thread]:
    stop = threading.Event()
    thread = threading.Thread(
        target=inbox.watch, args=(studio.library, folder), kwargs={"stop": stop, "pace": pace}
    )
    thread.start()
    try:
        yield thread
    finally:
        stop.set()
        thread.join(10)
        assert not thread.is_alive()


def test_films_come_in_by_themselves_while_a_folder_is_watched(
    studio: Studio, folder: Path
) -> None:
    """002-006: what is there at the start, and what is dropped later, also into a new folder."""
    put(folder / "a.mp4")

    with watching(studio, folder, Pace(settle=0.1, floor=3600)):
        until(lambda: titles(studio) == ["a"])
        put(folder / "b.mp4", b"another film")
        until(lambda: titles(studio) == ["a", "b"])
        put(folder / "new" / "c.mp4", b"a third film")
        until(lambda: titles(studio) == ["a", "b", "c"])


def test_folder_is_looked_at_now_and_then_where_there_are_no_events(
    studio: Studio, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object, **__: object) -> None:
        raise OSError("no space left for watches")

    monkeypatch.setattr("watchfiles.watch", fails)

    with watching(studio, folder, Pace(settle=0.1, floor=0.2)):
        put(folder / "a.mp4")
        until(lambda: titles(studio) == ["a"])
