"""A library of many texts on one database: filled as the pipeline fills it, then asked."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from statistics import quantiles
from typing import NamedTuple

from bench.search.corpus import SPANS_PER_VIDEO, Corpus, Question
from rushes.library import indexing, search
from rushes.library.query import Mode
from rushes.store.database import Database, Transaction
from rushes.store.ids import new_id

WARM_UP = 5


class Times(NamedTuple):
    """Of some questions, in ms."""

    p50: float
    p95: float


class Shelf:
    def __init__(self, db: Database, corpus: Corpus) -> None:
        self._db = db
        self._corpus = corpus
        self._videos = 0

    def fill(self, spans: int) -> float:
        """Write videos until there are so many spans; returns how many were written a second."""
        wanted = spans // SPANS_PER_VIDEO
        written = (wanted - self._videos) * SPANS_PER_VIDEO
        spent = 0.0
        for number in range(self._videos, wanted):
            lines = self._corpus.video(number)
            began = time.perf_counter()
            self._db.transact(lambda tx, n=number, lines=lines: _add(tx, n, lines))  # type: ignore[misc]
            spent += time.perf_counter() - began
        self._videos = wanted
        return written / spent if spent else 0.0

    def ask(self, mode: Mode, questions: Iterable[Question]) -> Times:
        """Time the search, with the page of fifty hits that somebody sees."""

        def one(question: Question) -> None:
            asked = search.Question(text=question.text, mode=mode, owner=None)
            self._db.read(lambda tx: search.search(tx, asked, limit=50))

        return timed(one, questions)

    def scan(self, questions: Iterable[Question]) -> Times:
        """Time what needs no index at all: every text is looked at."""

        def one(question: Question) -> None:
            _run(
                self._db,
                "SELECT id, text FROM spans WHERE normalized LIKE '%{}%' LIMIT 1000",
                question.like,
            )

        return timed(one, questions, warm_up=0)

    def settle(self) -> None:
        """Let the database do what it would have done by itself overnight."""
        _run(
            self._db,
            "VACUUM ANALYZE spans" if self._db.dialect == "postgres" else "PRAGMA optimize",
        )
        if self._db.dialect == "postgres":
            _run(self._db, "VACUUM ANALYZE vocabulary")

    def index_mb(self) -> float:
        """Return how much disk the search takes besides the texts."""
        if self._db.dialect == "postgres":
            text = (
                "SELECT sum(pg_column_size(lexemes) + pg_column_size(terms)) / 1e6"
                " + pg_relation_size('spans_found') / 1e6"
                " + pg_total_relation_size('vocabulary') / 1e6 AS mb FROM spans"
            )
        else:
            text = (
                "SELECT (SELECT sum(pgsize) FROM dbstat WHERE name LIKE 'spans_fts%'"
                " OR name LIKE '%vocabulary%') / 1e6"
                " + (SELECT sum(length(CAST(terms AS BLOB))) FROM spans) / 1e6 AS mb"
            )
        try:
            return float(_run(self._db, text)[0]["mb"])
        except Exception:  # noqa: BLE001  (this SQLite cannot tell the size of its tables)
            return float("nan")


def timed(
    one: Callable[[Question], None], questions: Iterable[Question], warm_up: int = WARM_UP
) -> Times:
    asked = list(questions)
    for question in asked[:warm_up]:
        one(question)
    times = []
    for question in asked:
        began = time.perf_counter()
        one(question)
        times.append((time.perf_counter() - began) * 1000)
    cuts = quantiles(times, n=100, method="inclusive")
    return Times(round(cuts[49], 1), round(cuts[94], 1))


def _add(tx: Transaction, number: int, lines: list[indexing.Line]) -> None:
    asset_id = new_id()
    tx.run(
        "add_asset",
        id=asset_id,
        owner="",
        title=f"Video {number}",
        tags=[],
        filename=f"{number}.mp4",
        source_key="x",
        bytes=1,
        sha256="0" * 64,
    )
    indexing.put(tx, asset_id, lines)


def _run(db: Database, text: str, *words: str) -> list[dict[str, object]]:
    sql = text.format(*words)
    if db.dialect == "sqlite":
        return [dict(row) for row in db._writer.execute(sql).fetchall()]  # type: ignore[attr-defined]
    with db.connect() as connection:  # type: ignore[attr-defined]
        connection.execute("SET enable_seqscan = on")
        cursor = connection.execute(sql)
        return list(cursor.fetchall()) if cursor.description else []
