"""The index and the texts change together, also when several change them at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Event

import pytest

from rushes.library import collect, edit, indexing, subtitles
from rushes.library.indexing import Line, Source
from rushes.store.database import Database, Transaction
from tests.conftest import empty
from tests.library.studio import Studio
from tests.waiting import until
from tests.world import sql

WAITING = (
    "SELECT pid FROM pg_stat_activity"
    " WHERE datname = current_database() AND wait_event_type = 'Lock'"
)
CUE = "1\n00:00:01,000 --> 00:00:02,000\n{}\n"


@pytest.fixture
def studio(postgres_database: Database, tmp_path: Path) -> Studio:
    """On PostgreSQL, which has more than one writer at a time."""
    empty(postgres_database)
    return Studio(postgres_database, tmp_path / "data")


@contextmanager
def meanwhile(
    studio: Studio, work: Callable[[Transaction], object]
) -> Iterator[Callable[..., Future[object]]]:
    """Do some work and do not commit it before something else waits for it."""
    release, done = Event(), Event()

    def hold(tx: Transaction) -> None:
        work(tx)
        done.set()
        assert release.wait(30)

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(studio.db.transact, hold)
        assert done.wait(30)

        def begin(deed: Callable[[], object]) -> Future[object]:
            begun = pool.submit(deed)
            until(lambda: sql(studio.db, WAITING))
            return begun

        try:
            yield begin
        finally:
            release.set()
        first.result(30)


def words(studio: Studio) -> dict[str, int]:
    rows = sql(studio.db, "SELECT word, n FROM vocabulary")
    return {row["word"]: row["n"] for row in rows}


def texts(studio: Studio, film: str) -> list[str]:
    rows = sql(studio.db, f"SELECT text FROM spans WHERE asset_id = '{film}' ORDER BY id")
    return [row["text"] for row in rows if row["text"] not in ("A film", "film.mp4")]


def say(studio: Studio, film: str, text: str) -> int:
    return subtitles.put(studio.library, film, "en", CUE.format(text).encode())


def test_subtitles_that_come_twice_at_once_are_there_once(studio: Studio):
    film = studio.add(title="A film").asset_id
    say(studio, film, "old words")

    def replace(tx: Transaction) -> None:
        indexing.drop(tx, film, (Source.SUBTITLE,), language="en")
        indexing.put(tx, film, [Line(Source.SUBTITLE, 0, 1_000, "first words", "en")])

    with meanwhile(studio, replace) as begin:
        second = begin(lambda: say(studio, film, "second words"))

    second.result(30)
    assert texts(studio, film) == ["second words"]
    assert words(studio) == {"a": 1, "film": 2, "mp4": 1, "second": 1, "words": 1}


def test_no_word_of_a_video_counts_that_is_deleted_while_it_gets_texts(studio: Studio):
    """B-SR-3."""
    film = studio.add(title="A film").asset_id

    def put(tx: Transaction) -> None:
        indexing.put(tx, film, [Line(Source.SCREEN, 0, 1_000, "platypus")])

    with meanwhile(studio, put) as begin:
        deleted = begin(lambda: edit.delete(studio.library, film))

    deleted.result(30)
    assert words(studio) == {}
    edit.restore(studio.library, film)
    assert words(studio) == {"a": 1, "film": 2, "mp4": 1, "platypus": 1}


def test_text_that_is_indexed_anew_while_its_video_is_deleted_does_not_count(studio: Studio):
    film = studio.add(title="A film").asset_id
    say(studio, film, "some words")
    for statement in ("UPDATE spans SET terms = '', indexed = 0", "DELETE FROM vocabulary"):
        sql(studio.db, statement)  # as before there was a search

    def delete(tx: Transaction) -> None:
        tx.rows("delete_asset", id=film)
        indexing.hide(tx, film)

    with meanwhile(studio, delete) as begin:
        indexed = begin(lambda: indexing.run_once(studio.library))

    indexed.result(30)
    assert words(studio) == {}
    assert sql(studio.db, "SELECT id FROM spans WHERE indexed = 0") == []


def test_video_that_is_restored_at_the_last_moment_keeps_all_that_it_has(studio: Studio):
    film = studio.add(title="A film").asset_id
    say(studio, film, "some words")
    edit.delete(studio.library, film, now=1)

    def restore(tx: Transaction) -> None:
        tx.rows("restore_asset", id=film)
        indexing.show(tx, film)

    with meanwhile(studio, restore) as begin:
        collected = begin(lambda: collect.run_once(studio.library))

    collected.result(30)
    assert texts(studio, film) == ["some words"]
    assert studio.asset(film).job_id
