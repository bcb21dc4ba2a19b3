"""Finds the moment: what somebody typed → texts with their times, the best first.

The index gives at most CANDIDATES texts, the newest first; which of them answer, and how well, is
decided here (`matching.py`), so that both databases say the same. Nobody's text is seen by another
owner: the owner is part of every question, and asked of the asset besides.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import ceil, prod
from typing import Any, NamedTuple

from rushes.domain.asset import Asset
from rushes.errors import Invalid
from rushes.library import matching, vocabulary
from rushes.library.indexing import (
    ABOUT,
    Source,
    asset_mark,
    confidence_mark,
    kind_mark,
    language_mark,
    marks_of,
    owner_mark,
)
from rushes.library.matching import FTS5, TSQUERY, Fit, Wanted
from rushes.library.query import Clause, How, Mode, last_word, parse
from rushes.media import entities, terms
from rushes.media.sample import frame_name
from rushes.media.terms import Term
from rushes.store import assets
from rushes.store.database import Row, Transaction

CANDIDATES = 1_000
LOOKED_AT = 20_000
NEAR = 5
UNREAD = 20
FEW = 4 * CANDIDATES  # texts that are fetched at once
ALL = 1 << 40  # blocks
BLOCK = 14  # bits: as in rushes_lexemes of 0008_search.sql
PARTS = {How.HAS, How.STARTS, How.ENDS}
CURSOR = re.compile(r"(?:\d{1,15}\.){12}[0-9a-f-]{36}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is searched, and where. `owner` None: everybody's. Times are of the videos."""

    text: str
    mode: Mode = Mode.WORDS
    owner: str | None
    asset_id: str | None = None
    language: str | None = None
    kind: Source | None = None
    min_confidence: float = 0.0
    since: int | None = None
    until: int | None = None


class Hit(NamedTuple):
    """A text that answers; `offsets` are the characters that do, from and up to."""

    row: Row
    offsets: list[tuple[int, int]]


class Answer(NamedTuple):
    """Hits in order, those of a video together. `cut`: there are more than were ranked."""

    hits: list[Hit]
    moments: int
    videos: dict[str, int]
    cut: bool
    next_cursor: str | None


class _Ranked(NamedTuple):
    fit: Fit
    unsure: int
    age: int
    asset_id: str
    start_ms: int
    id: int


class _Place(NamedTuple):
    """Where a page ended: the last hit, and the best one of its video, which orders the videos.

    Told by what they are and not by how many came before, so that nothing is left out when texts
    that were shown are gone by then. Texts after `newest` do not count.
    """

    newest: int
    best: _Ranked
    last: _Ranked


def search(
    tx: Transaction, question: Question, *, limit: int = 50, cursor: str | None = None
) -> Answer:
    """Return the hits of one page. Raises Invalid for a question or a cursor that is none."""
    place = None if cursor is None else _read(cursor)
    newest = _newest(tx, place)
    wanted, cut, share = _wanted(tx, question, newest)
    blocks = _blocks(share, newest)
    ranked, more = _ranked(tx, question, wanted, newest, blocks) if wanted else ([], False)
    videos = Counter(one.asset_id for one in ranked)
    shown = _shown(ranked, place) if place else 0
    page = ranked[shown : shown + limit]
    has_more = bool(page) and shown + len(page) < len(ranked)
    return Answer(
        hits=_hits(tx, page, question, wanted or ()),
        moments=len(ranked),
        videos=dict(videos),
        cut=cut or more,
        next_cursor=_written(newest, ranked, page[-1]) if has_more else None,
    )


def near(tx: Transaction, question: Question) -> list[Hit]:
    """Return what a question may have meant that nothing answers: texts that may be misread."""
    if question.mode is Mode.FUZZY:
        return []
    return search(tx, replace(question, mode=Mode.FUZZY), limit=NEAR).hits


def unread(tx: Transaction, question: Question) -> list[Asset]:
    """Return videos whose text cannot be found yet, newest first: at most UNREAD, and one more."""
    where = {"owner": question.owner, "asset_id": question.asset_id}
    return [assets.from_row(row) for row in tx.rows("unread_assets", **where, n=UNREAD + 1)]


def suggest(tx: Transaction, text: str, *, owner: str | None, limit: int = 10) -> list[str]:
    """Return how the last word may go on, the commonest first."""
    start = last_word(text)
    return list(vocabulary.starting(tx, start, owner, limit)) if start else []


def heatmap(
    tx: Transaction, asset: Asset, *, bins: int, question: Question | None
) -> tuple[list[int], list[int]]:
    """Return how many texts there are in each part of a film, and how many of them answer."""
    rows = tx.rows("timed_spans", asset_id=asset.id)
    duration = asset.duration_ms or max((row["end_ms"] for row in rows), default=1)
    hits: Sequence[Row] = ()
    if question is not None:
        hits = [hit.row for hit in search(tx, question, limit=CANDIDATES).hits]
    timed = [row for row in hits if row["kind"] not in ABOUT]
    return _binned(rows, bins, duration), _binned(timed, bins, duration)


def _binned(rows: Sequence[Row], bins: int, duration: int) -> list[int]:
    """Count in each bin the texts that are seen within it."""
    changes = [0] * (bins + 1)
    for row in rows:
        first = min(bins - 1, row["start_ms"] * bins // duration)
        last = min(bins - 1, (row["end_ms"] - 1) * bins // duration)
        changes[first] += 1
        changes[last + 1] -= 1
    counts, now = [], 0
    for change in changes[:bins]:
        now += change
        counts.append(now)
    return counts


def _newest(tx: Transaction, place: _Place | None) -> int:
    """Return the newest text that counts."""
    newest: int = tx.rows("newest_span")[0]["id"]
    return newest if place is None else min(newest, place.newest)


def _shown(ranked: Sequence[_Ranked], place: _Place) -> int:
    """Return how many of these came before, or with, the place where a page ended."""
    best = None
    for number, one in enumerate(ranked):
        if best is None or one.asset_id != best.asset_id:
            best = one
        if (best, one) > (place.best, place.last):
            return number
    return len(ranked)


def _written(newest: int, ranked: Sequence[_Ranked], last: _Ranked) -> str:
    best = next(one for one in ranked if one.asset_id == last.asset_id)
    numbers = [(*one.fit, one.unsure, one.start_ms, one.id) for one in (best, last)]
    return ".".join(map(str, (newest, -last.age, *numbers[0], *numbers[1], last.asset_id)))


def _read(cursor: str) -> _Place:
    if not CURSOR.fullmatch(cursor):
        raise Invalid("this cursor is none of ours", hint="begin again without one")
    *words, asset_id = cursor.split(".")
    newest, created_at, *numbers = map(int, words)
    best, last = (
        _Ranked(Fit(off, gap), unsure, -created_at, asset_id, start_ms, id)
        for off, gap, unsure, start_ms, id in (numbers[:5], numbers[5:])
    )
    return _Place(newest, best, last)


def _wanted(
    tx: Transaction, question: Question, texts: int
) -> tuple[list[Wanted] | None, bool, float]:
    """Return the clauses with the words that do; None if one has none and nothing can answer.

    Also whether there would have been more words, and which share of all texts answers if words
    know nothing of each other.
    """
    tx.run("let_bitmaps")
    tx.run("limit_time")
    found, cut = [], False
    shares: dict[tuple[str, ...], float] = {}
    for clause in parse(question.text, question.mode):
        chosen = [vocabulary.choices(tx, word, question.owner) for word in clause.words]
        cut = cut or any(one.cut for one in chosen)
        if not clause.negated:
            shares |= {(*one.words,): one.n / max(texts, one.n, 1) for one in chosen}
        if all(one.words for one in chosen):
            words = tuple(one.words for one in chosen)
            parts = tuple(word.text if word.how in PARTS else "" for word in clause.words)
            found.append(Wanted(words, clause.marks, clause.negated, parts))
        elif not clause.negated:
            return None, cut, 0.0
    return found or None, cut, prod(shares.values())


def _blocks(share: float, texts: int) -> int:
    """Return of how many blocks to ask first, so that those have candidates enough, or ALL.

    The newest block has begun only, and words are not spread evenly: it is one, and some, more.
    """
    if share * texts <= FEW:
        return ALL
    return 1 + ceil(1.2 * CANDIDATES / (share * (1 << BLOCK)))


def _ranked(
    tx: Transaction, question: Question, wanted: Sequence[Wanted], newest: int, blocks: int
) -> tuple[list[_Ranked], bool]:
    """Return the candidates that answer, the best first and each video's together."""
    kept: list[_Ranked] = []
    more = False
    judge = matching.judge(wanted)
    for row in _candidates(tx, question, wanted, newest, blocks):
        if len(kept) == CANDIDATES or row is None:
            more = True
            break
        fit = judge(row["terms"])
        if fit is not None:
            unsure = 10 - int(row["confidence"] * 10)
            kept.append(
                _Ranked(
                    fit, unsure, -row["created_at"], row["asset_id"], row["start_ms"], row["id"]
                )
            )
    kept.sort()
    by_video: dict[str, list[_Ranked]] = {}
    for one in kept:
        by_video.setdefault(one.asset_id, []).append(one)
    return [one for together in by_video.values() for one in together], more


def _candidates(
    tx: Transaction, question: Question, wanted: Sequence[Wanted], newest: int, blocks: int
) -> Iterator[Row | None]:
    """Yield what the index has, the newest first; None when it has more than may be looked at.

    Some blocks after the other, and ever more of them at a time: a word that every second text has
    is answered by the first. What few texts have needs no blocks.
    """
    filters = _filters(question)
    high, looked_at = newest, 0
    while high > 0:
        top = high >> BLOCK
        bottom = max(0, top - blocks + 1)
        within = [] if blocks == ALL else [[f":b{one}" for one in range(bottom, top + 1)]]
        rows = tx.rows(
            "search_spans",
            match=matching.ask(FTS5, wanted, filters.marks),
            query=matching.ask(TSQUERY, wanted, filters.marks),
            within=matching.ask(TSQUERY, [], within),
            low=bottom << BLOCK,
            high=high,
            n=CANDIDATES + 1,
            **filters.columns,
        )
        yield from rows
        looked_at += len(rows)
        if looked_at > LOOKED_AT:
            yield None
        if len(rows) > CANDIDATES:
            high = rows[-1]["id"] - 1
        else:
            high, blocks = (bottom << BLOCK) - 1, blocks * 3


class _Filters(NamedTuple):
    """What a text must be besides: as terms, which are fast, and as columns, which are certain."""

    marks: list[list[str]]
    columns: dict[str, Any]


def _filters(question: Question) -> _Filters:
    marks = []
    if question.owner is not None:
        marks.append([owner_mark(question.owner)])
    if question.asset_id is not None:
        marks.append([asset_mark(question.asset_id)])
    if question.language is not None:
        marks.append([language_mark(question.language)])
    if question.kind is not None:
        marks.append([kind_mark(question.kind)])
    if question.min_confidence >= 0.1:
        tenth = int(question.min_confidence * 10)
        marks.append([confidence_mark(one / 10) for one in range(tenth, 11)])
    names = ("owner", "asset_id", "language", "kind", "min_confidence", "since", "until")
    return _Filters(marks, {name: getattr(question, name) for name in names})


def _hits(
    tx: Transaction, page: Sequence[_Ranked], question: Question, wanted: Sequence[Wanted]
) -> list[Hit]:
    asked = [{"id": one.id, "frame": frame_name(one.start_ms)} for one in page]
    rows = {row["id"]: row for row in tx.rows("found_spans", wanted=asked)} if page else {}
    clauses = parse(question.text, question.mode)
    return [
        Hit(row, _offsets(row["text"], wanted, clauses))
        for one in page
        if (row := rows.get(one.id)) is not None
    ]


def _offsets(
    text: str, wanted: Sequence[Wanted], clauses: Sequence[Clause]
) -> list[tuple[int, int]]:
    """Return the characters that answer: words, and the entities that were asked for."""
    split = terms.split(text)
    chosen = matching.chosen(wanted, [term.word for term in split])
    found = [_within(split[place], part) for place, part in chosen]
    if any(clause.marks and not clause.negated for clause in clauses):
        found += _marked(text, clauses)
    return _merged(sorted(found))


def _within(term: Term, part: str) -> tuple[int, int]:
    """Return where a part of a term stands, if its characters are those of the text."""
    if not part or len(term.word) != term.end - term.start:
        return term.start, term.end
    start = term.start + term.word.find(part)
    return start, start + len(part)


def _marked(text: str, clauses: Sequence[Clause]) -> Iterator[tuple[int, int]]:
    asked = {mark for clause in clauses if not clause.negated for mark in clause.marks}
    for entity in entities.find(text):
        if asked.intersection(marks_of(entity)):
            yield entity.start, entity.end


def _merged(found: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return ranges in order that do not touch."""
    merged: list[tuple[int, int]] = []
    for start, end in found:
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged
