"""What nobody needs any more goes, each kind after its own time, and nothing else does."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from rushes.library import collect, layout
from rushes.library.collect import Collected
from rushes.library.library import Library
from rushes.library.retranscode import Again, retranscode
from rushes.storage.local import LocalStorage
from rushes.store import assets
from tests.library.shelf import check_film, folder, holes
from tests.library.studio import Studio

HOUR, DAY = timedelta(hours=1), timedelta(days=1)


def test_superseded_version_goes_after_its_time(studio: Studio):
    """000-076, 000-077, 000-079: names first, then files; what the new version shares stays."""
    film = two_versions(studio)
    shared = keys(studio, film, 1) & keys(studio, film, 2)
    old = keys(studio, film, 1) - shared
    age(studio.library, 2 * DAY)

    collected = collect.run_once(studio.library, now=later(HOUR))

    assert collected == Collected(versions=1, attempts=2)
    assert keys(studio, film, 1) == set()
    assert not any((studio.storage.root / key).exists() for key in old)
    assert shared
    check_film(studio.library, film, 2)
    assert [path.name for path in folder(studio.library, film).iterdir()] == ["v2", "master.m3u8"]


def test_film_whose_first_version_is_gone_can_still_be_made_anew(studio: Studio):
    """000-075: with all its qualities, not with those of the last time."""
    film = two_versions(studio)
    collect.run_once(studio.library, now=later(HOUR))

    retranscode(studio.library, film, Again())
    studio.finish()

    layout.run_once(studio.library)
    check_film(studio.library, film, 3)
    made = studio.db.read(lambda tx: assets.qualities(tx, film, 3))
    assert [quality.quality for quality in made] == ["480p", "360p"]


def test_superseded_version_is_kept_for_those_who_watch_it(studio: Studio):
    film = two_versions(studio)
    age(studio.library, 2 * DAY)

    collected = collect.run_once(studio.library, now=later(HOUR - timedelta(seconds=5)))

    assert collected == Collected()
    check_film(studio.library, film, 1)


def test_names_go_before_files(studio: Studio, monkeypatch: pytest.MonkeyPatch):
    """001-021: dies as soon as the names are gone; the next pass takes the files."""
    film = two_versions(studio)
    old = keys(studio, film, 1) - keys(studio, film, 2)
    age(studio.library, 2 * DAY)
    monkeypatch.setattr(LocalStorage, "remove", die)
    with pytest.raises(KeyboardInterrupt):
        collect.run_once(studio.library, now=later(HOUR))
    monkeypatch.undo()
    names, files = keys(studio, film, 1), [studio.storage.existing(key) for key in old]

    collected = collect.run_once(studio.library, now=later(HOUR))

    assert (names, collected) == (set(), Collected(attempts=2))
    assert not any(path.exists() for path in files)
    assert not (folder(studio.library, film) / "v1").exists()
    check_film(studio.library, film, 2)


def test_old_version_stays_until_the_folder_shows_the_new_one(studio: Studio):
    film = two_versions(studio, laid_out=False)

    collected = collect.run_once(studio.library, now=later(HOUR))

    assert collected == Collected()
    assert holes(folder(studio.library, film)) == []


@pytest.mark.parametrize("beside", ["720p/00000.m4s", ".cache/odd name"])
def test_files_of_a_dead_attempt_go(studio: Studio, beside: str):
    """000-143: what a lost worker wrote is cleaned up."""
    film = studio.add().asset_id
    studio.finish()
    left = leave(studio, film, "99-1", beside)
    age(studio.library, 2 * DAY)

    collected = collect.run_once(studio.library)

    assert collected == Collected(attempts=1)
    assert not left.exists()
    layout.run_once(studio.library)
    check_film(studio.library, film, 1)


def test_file_without_a_name_goes_and_its_neighbours_stay(studio: Studio):
    film = studio.add().asset_id
    held = studio.do("probe") and studio.do("transcode", 0)
    left = leave(studio, film, f"{held.id}-{held.epoch}", "480p/rest")
    studio.finish()
    age(studio.library, 2 * DAY)

    collected = collect.run_once(studio.library)

    assert (collected.attempts, left.exists()) == (1, False)
    layout.run_once(studio.library)
    check_film(studio.library, film, 1)


def test_files_of_a_live_attempt_stay_however_old_they_are(studio: Studio):
    film = studio.add().asset_id
    studio.do("probe")
    held = studio.take("transcode", 0)
    result = studio.encoded(held)
    age(studio.library, 30 * DAY)

    collected = collect.run_once(studio.library)

    assert collected == Collected()
    assert studio.end(held, result)
    studio.finish()
    layout.run_once(studio.library)
    check_film(studio.library, film, 1)


def test_deleted_film_is_purged_after_its_time(studio: Studio):
    film, other = (studio.add(content).asset_id for content in (b"one", b"two"))
    studio.finish()
    layout.run_once(studio.library)
    studio.db.transact(lambda tx: tx.run("delete_asset", id=film))
    soon = collect.run_once(studio.library, now=later(30 * DAY - timedelta(seconds=5)))
    there = studio.asset(film)

    collected = collect.run_once(studio.library, now=later(30 * DAY))

    assert (soon, there.id, collected) == (Collected(), film, Collected(assets=1))
    assert left_of(studio, film) == []
    check_film(studio.library, other, 1)
    assert studio.storage.existing(studio.asset(other).source_key)


def test_restored_film_is_not_purged(studio: Studio):
    film = studio.add().asset_id
    studio.finish()
    for statement in ("delete_asset", "restore_asset"):
        studio.db.transact(lambda tx, statement=statement: tx.run(statement, id=film))  # type: ignore[misc]

    collected = collect.run_once(studio.library, now=later(31 * DAY))

    assert collected == Collected()
    layout.run_once(studio.library)
    check_film(studio.library, film, 1)


def test_purge_that_dies_on_the_way_is_finished_by_the_next_pass(
    studio: Studio, monkeypatch: pytest.MonkeyPatch
):
    film = studio.add().asset_id
    studio.finish()
    layout.run_once(studio.library)
    studio.db.transact(lambda tx: tx.run("delete_asset", id=film))
    monkeypatch.setattr(LocalStorage, "remove", die)
    with pytest.raises(KeyboardInterrupt):
        collect.run_once(studio.library, now=later(30 * DAY))
    monkeypatch.undo()
    age(studio.library, 2 * DAY)

    collect.run_once(studio.library)

    assert left_of(studio, film) == []


def test_original_that_was_never_committed_goes_after_its_time(studio: Studio):
    film = studio.add().asset_id
    stray = studio.storage.path("originals/01890000-0000-7000-8000-000000000000/source.mp4")
    stray.parent.mkdir(parents=True)
    stray.write_bytes(b"half a film")
    young = collect.run_once(studio.library)
    age(studio.library, 2 * DAY)

    collected = collect.run_once(studio.library)

    assert (young, collected) == (Collected(), Collected(originals=1))
    assert not stray.exists()
    assert studio.storage.existing(studio.asset(film).source_key)


def test_what_somebody_else_put_into_the_folder_stays(studio: Studio):
    notes = [
        studio.storage.root / name
        for name in (
            "originals/notes/a.txt",
            "assets/b.txt",
            "objects/c/d.txt",
            "objects/e/f/g.txt",
        )
    ]
    for path in notes:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("mine")
    age(studio.library, 30 * DAY)

    assert collect.run_once(studio.library) == Collected()

    assert all(path.exists() for path in notes)


def test_nothing_younger_than_its_grace_is_touched(studio: Studio):
    film = studio.add().asset_id
    studio.finish()
    left = leave(studio, film, "99-1", "480p/00000.m4s")
    age(studio.library, DAY - timedelta(minutes=1))

    assert collect.run_once(studio.library) == Collected()

    assert left.exists()


def test_graces_are_those_of_the_library(studio: Studio):
    film = studio.add().asset_id
    studio.finish()
    left = leave(studio, film, "99-1", "480p/00000.m4s")
    age(studio.library, timedelta(seconds=2))

    collected = collect.run_once(replace(studio.library, keep_abandoned=timedelta(seconds=1)))

    assert (collected.attempts, left.exists()) == (1, False)


def test_nothing_is_collected_while_somebody_relies_on_the_files(studio: Studio):
    film = two_versions(studio)
    age(studio.library, 2 * DAY)

    with studio.storage.locked(collect.LOCK):
        collected = collect.run_once(studio.library, now=later(HOUR))

    assert collected == Collected()
    check_film(studio.library, film, 1)


def two_versions(studio: Studio, *, laid_out: bool = True) -> str:
    """A film whose 480p was made anew; all else is shared."""
    film = studio.add().asset_id
    studio.finish()
    layout.run_once(studio.library)
    retranscode(studio.library, film, Again(qualities=("480p",)))
    studio.finish()
    if laid_out:
        layout.run_once(studio.library)
    return film


def keys(studio: Studio, film: str, version: int) -> set[str]:
    rows = studio.db.read(lambda tx: tx.rows("artifacts", asset_id=film, version=version))
    return {row["key"] for row in rows}


def leave(studio: Studio, film: str, attempt: str, name: str) -> Path:
    """Leave a file in the folder of an attempt that nobody committed."""
    path = studio.storage.root / "objects" / film / attempt / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"rest")
    return path


def age(library: Library, by: timedelta) -> None:
    """Let all files look as if they had been written so long ago."""
    then = time.time() - by.total_seconds()
    for path in library.storage.root.rglob("*"):
        os.utime(path, (then, then))


def later(by: timedelta) -> int:
    return int((time.time() + by.total_seconds()) * 1000)


def left_of(studio: Studio, film: str) -> list[str]:
    """What is left of a film: files and rows."""
    found = [str(path) for path in studio.storage.root.glob(f"*/{film}")]
    for statement in ("versions", "spans", "entities"):
        rows = studio.db.read(lambda tx, name=statement: tx.rows(name, asset_id=film))  # type: ignore[misc]
        found += [statement for _ in rows]
    return found + [name for version in (1, 2) for name in keys(studio, film, version)]


def die(*_: object) -> None:
    raise KeyboardInterrupt
