"""What makes a text findable: its terms beside it, and its words in the vocabulary of its owner.

Both are written in the transaction that writes the text, or that changes who may see it, so that a
search never finds what is gone and never misses what is there. The vocabulary holds the words of
videos that are not deleted, and nothing else: it is where other spellings come from.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Any, NamedTuple

from rushes.library.library import Library
from rushes.media import entities, terms, text
from rushes.media.entities import Entity, Kind
from rushes.media.source import Chapter
from rushes.store.database import Row, Transaction

BATCH, BATCHES = 500, 20
SAFE = "_"


class Source(StrEnum):
    """Where a text comes from."""

    SCREEN = "screen"  # read from the picture
    SUBTITLE = "subtitle"  # given by somebody, for a language
    EMBEDDED = "embedded"  # subtitles that were in the file
    CHAPTER = "chapter"
    TITLE = "title"
    TAG = "tag"
    FILE = "file"  # the name of the file


ABOUT = (Source.TITLE, Source.TAG, Source.FILE)
"""Texts about the whole video."""


class Line(NamedTuple):
    """A text that is to be found; what was not read from the picture is certain and has no box."""

    kind: Source
    start_ms: int
    end_ms: int
    text: str
    language: str = "und"
    confidence: float = 1.0
    box: text.Box = (0, 0, 0, 0)


class Target(NamedTuple):
    """Whose text it is; of a deleted video no word counts. `end_ms` None: not known yet."""

    asset_id: str
    owner: str
    is_live: bool
    end_ms: int | None = None


def put(tx: Transaction, asset_id: str, lines: Sequence[Line]) -> list[int]:
    """Write texts of an asset, found from now on, and return their ids in the same order."""
    target = _target(tx, asset_id)
    rows = [_row(target, line) for line in lines]
    added = tx.rows("add_spans", asset_id=asset_id, spans=rows) if rows else ()
    if target.is_live:
        _count(tx, target.owner, (row["terms"] for row in rows))
    return [row["id"] for row in added]


def drop(
    tx: Transaction, asset_id: str, kinds: Iterable[Source], *, language: str | None = None
) -> None:
    """Remove texts of these kinds."""
    which: dict[str, Any] = {"kinds": [{"kind": kind} for kind in kinds], "language": language}
    target = _target(tx, asset_id)
    if target.is_live:
        _discount(tx, target, **which)
    tx.run("drop_texts", asset_id=asset_id, **which)


def describe(tx: Transaction, asset_id: str) -> None:
    """Make a video findable by what is said about it: title, tags, the name of its file."""
    drop(tx, asset_id, ABOUT)
    [row] = tx.rows("asset", id=asset_id)
    put(tx, asset_id, _about(row))
    tx.run("set_asset_indexed", id=asset_id, version=terms.VERSION)


def put_chapters(tx: Transaction, asset_id: str, chapters: Iterable[Chapter]) -> None:
    """Make a video findable by the titles of its chapters; those it had are replaced."""
    drop(tx, asset_id, (Source.CHAPTER,))
    lines = [
        Line(Source.CHAPTER, one.start_ms, max(one.end_ms, one.start_ms + 1), title)
        for one in chapters
        if (title := text.clean(one.title))
    ]
    put(tx, asset_id, lines)


def hide(tx: Transaction, asset_id: str) -> None:
    """Take the words of a video that was just deleted out of the vocabulary."""
    _discount(tx, _target(tx, asset_id), kinds=[], language=None)


def show(tx: Transaction, asset_id: str) -> None:
    """Bring the words of a video that was just restored back."""
    rows = tx.rows("indexed_terms", asset_id=asset_id, kinds=[], language=None)
    _count(tx, _target(tx, asset_id).owner, (row["terms"] for row in rows))


def run_once(library: Library, *, batch: int = BATCH, batches: int = BATCHES) -> int:
    """Index some of what an older version of the terms was made for; returns how many texts.

    A database from before there was a search, or a new way to split text, is worked through in
    small transactions, while everything else goes on.
    """
    done = 0
    for _ in range(batches):
        worked = library.db.transact(lambda tx: _catch_up(tx, batch))
        done += worked
        if not worked:
            break
    return done


def start_anew(library: Library) -> None:
    """Mark everything as to be indexed again."""

    def work(tx: Transaction) -> None:
        tx.run("index_anew")
        tx.run("index_assets_anew")

    library.db.transact(work)


def terms_of(target: Target, line: Line) -> str:
    """Return what a text is found by: its words, the entities in it, and where it belongs."""
    marks = [mark for entity in entities.find(line.text) for mark in marks_of(entity)]
    return " ".join([*terms.words(line.text), *dict.fromkeys(marks), *_marks(target, line)])


def entity_mark(kind: str, value: str = "") -> str:
    """Return the term that stands for any entity of a kind, or for one of this value.

    >>> entity_mark("url", "Example.org/Menu"), entity_mark("mention", "@Ann"), entity_mark("url")
    (':url=example_org_menu', '@ann', ':url')
    """
    folded = terms.fold(value)
    if kind in (Kind.MENTION, Kind.HASHTAG) and folded:
        return folded[0] + _plain(folded[1:])
    return f":{kind}={_plain(folded)}" if value else f":{kind}"


def marks_of(entity: Entity) -> list[str]:
    """Return the terms of an entity: its kind, its value, and the part by which most people ask."""
    marks = [entity_mark(entity.kind), entity_mark(entity.kind, entity.normalized)]
    if entity.kind is Kind.URL:
        marks.append(entity_mark(entity.kind, entity.normalized.partition("/")[0]))
    if entity.kind is Kind.NUMBER:
        marks.append(entity_mark(entity.kind, entity.normalized.partition(" ")[0]))
    return marks


def owner_mark(owner: str) -> str:
    return f":o{_plain(owner[-12:])}"


def asset_mark(asset_id: str) -> str:
    return f":v{asset_id[-12:]}"


def kind_mark(kind: Source) -> str:
    return f":k={kind}"


def language_mark(language: str) -> str:
    return f":l={_plain(terms.fold(language))}"


def confidence_mark(confidence: float) -> str:
    """Return the term of the tenth that a confidence lies in.

    >>> confidence_mark(0.93), confidence_mark(1)
    (':c9', ':c10')
    """
    return f":c{int(confidence * 10)}"


EVERY = ":all"
"""A term that every text has."""


def _marks(target: Target, line: Line) -> Iterable[str]:
    return (
        EVERY,
        owner_mark(target.owner),
        asset_mark(target.asset_id),
        kind_mark(line.kind),
        language_mark(line.language),
        confidence_mark(line.confidence),
    )


def _plain(value: str) -> str:
    """Return a value as part of a term.

    >>> _plain("12.5 eur")
    '12_5_eur'
    """
    shown = (one if one.isalnum() or not one.isascii() else SAFE for one in value)
    return "".join(one for one in shown if not one.isspace())[: terms.LONGEST]


def _about(row: Row) -> list[Line]:
    tags = row["tags"]
    told = [
        (Source.TITLE, row["title"]),
        *((Source.TAG, tag) for tag in (json.loads(tags) if isinstance(tags, str) else tags)),
        (Source.FILE, row["filename"]),
    ]
    return [Line(kind, 0, 1, shown) for kind, words in told if (shown := text.clean(words))]


def _row(target: Target, line: Line) -> dict[str, Any]:
    normalized = text.normalize(line.text)
    return {
        "kind": line.kind,
        "start_ms": line.start_ms,
        "end_ms": _end_ms(target, line),
        "text": line.text,
        "normalized": normalized,
        "hash": text.text_hash(normalized),
        "confidence": line.confidence,
        **dict(zip(("x", "y", "width", "height"), line.box, strict=True)),
        "language": line.language,
        "terms": terms_of(target, line),
        "indexed": terms.VERSION,
    }


def _target(tx: Transaction, asset_id: str) -> Target:
    [row] = tx.rows("index_owner", id=asset_id)
    return Target(asset_id, row["owner"], row["deleted_at"] is None, row["duration_ms"])


def _end_ms(target: Target, line: Line) -> int:
    """Return when a text ends, which is with the film: cues and chapters often go on behind it."""
    end_ms = line.end_ms if target.end_ms is None else min(line.end_ms, target.end_ms)
    return end_ms if line.start_ms < end_ms else line.end_ms


def _count(tx: Transaction, owner: str, found_by: Iterable[str], *, sign: int = 1) -> None:
    """Count the words of these texts; with a negative sign, they are gone."""
    words = [_word(word, sign * n) for word, n in _counted(found_by)]
    if words:
        tx.run("count_words", owner=owner, words=words)
    if words and sign < 0:
        tx.run("drop_words", owner=owner, words=words)


def _discount(tx: Transaction, target: Target, **which: Any) -> None:
    rows = tx.rows("indexed_terms", asset_id=target.asset_id, **which)
    _count(tx, target.owner, (row["terms"] for row in rows), sign=-1)


def _counted(found_by: Iterable[str]) -> list[tuple[str, int]]:
    """Return in how many texts each word is; names count as words, with their sign."""
    counter: Counter[str] = Counter()
    for line in found_by:
        counter.update({term for term in line.split(" ") if not term.startswith(":")})
    return sorted(counter.items())


def _word(word: str, n: int) -> dict[str, object]:
    bones = terms.bones(word)
    return {"word": word, "bones": bones, "senob": bones[::-1], "n": n}


def _catch_up(tx: Transaction, batch: int) -> int:
    stale = tx.rows("stale_spans", version=terms.VERSION, n=batch)
    if stale:
        _index_spans(tx, stale)
        return len(stale)
    assets = tx.rows("stale_assets", version=terms.VERSION, n=batch // 10 or 1)
    for asset in assets:
        describe(tx, asset["id"])
        known = json.loads(asset["source"]) if asset["source"] else {"chapters": ()}
        put_chapters(tx, asset["id"], [Chapter(**one) for one in known["chapters"]])
    return len(assets)


def _index_spans(tx: Transaction, stale: Sequence[Row]) -> None:
    """Give texts new terms, and change the vocabulary by the difference."""
    fresh = {row["id"]: terms_of(_target_of(row), _line_of(row)) for row in stale}
    changed = [{"id": id, "terms": found_by} for id, found_by in fresh.items()]
    tx.run("set_terms", spans=changed, version=terms.VERSION)
    live = [row for row in stale if row["deleted_at"] is None]
    for owner in sorted({row["owner"] for row in live}):
        mine = [row for row in live if row["owner"] == owner]
        _count(tx, owner, (fresh[row["id"]] for row in mine))
        _count(tx, owner, (row["terms"] for row in mine if row["terms"]), sign=-1)


def _target_of(row: Row) -> Target:
    return Target(row["asset_id"], row["owner"], row["deleted_at"] is None)


def _line_of(row: Row) -> Line:
    kind = Source(row["kind"])
    return Line(kind, 0, 1, row["text"], row["language"], row["confidence"])
