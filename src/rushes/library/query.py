"""What somebody types into the search box → what has to be there. Pure: no database, no SQL.

    council votes        both words, anywhere in the text
    "council votes"      these words, in this order, side by side; also in “typographic” quotes
    vot*                 words that begin like this
    -rerun               not this word; also before a phrase or an entity
    @reuters  #vote2026  names and tags, with their sign
    url:example.org      an address, whole or by its host; also number: phone: emoji:
    url:                 any address

Whatever else is typed is text: no input is an error but one that is far too long.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import NamedTuple

from rushes.errors import Invalid
from rushes.library.indexing import entity_mark
from rushes.media import amounts, entities, terms
from rushes.media.entities import Kind
from rushes.media.text import clean

LONGEST = 500
MOST_CLAUSES = 64
QUOTES = str.maketrans(dict.fromkeys("\u201c\u201d\u201e\u201f\u00ab\u00bb\uff02", '"'))
"""As phones and word processors write them."""
SCHEME = re.compile(r"^(?i:https?|ftp)://(?:www\.)?(?=\w)")
"""What an address has in front where it is copied, and seldom where it is shown."""
NAMES = {"@": Kind.MENTION, "\uff20": Kind.MENTION, "#": Kind.HASHTAG, "\uff03": Kind.HASHTAG}


class Mode(StrEnum):
    """How words are compared."""

    WORDS = "words"
    EXACT = "exact"  # all words as one phrase
    SUBSTRING = "substring"  # also within words
    FUZZY = "fuzzy"  # also as a bad reading has them


class How(StrEnum):
    """How a word of the text may differ from the one that is asked for."""

    IS = "is"
    STARTS = "starts"
    ENDS = "ends"
    HAS = "has"
    NEAR = "near"


class Word(NamedTuple):
    text: str
    how: How = How.IS


@dataclass(frozen=True, slots=True)
class Clause:
    """Words that stand side by side, and marks; a text has all of it or, negated, not all."""

    words: tuple[Word, ...] = ()
    marks: tuple[str, ...] = ()
    negated: bool = False


class _Part(NamedTuple):
    """What stands between two spaces, or in quotes."""

    text: str
    negated: bool
    is_quoted: bool
    kind: Kind | None


_PART = re.compile(
    rf"(?P<minus>-?)(?:(?P<kind>{'|'.join(Kind)}):)?"
    r"""(?:"(?P<quoted>[^"]*)"?|(?P<plain>(?(kind)[^\s"]*|[^\s"]+)))"""
)


def parse(text: str, mode: Mode = Mode.WORDS) -> tuple[Clause, ...]:
    """Return what a text must have. Raises Invalid for what is too long, and nothing else.

    >>> [clause.words for clause in parse('council "votes today"')]
    ... # doctest: +NORMALIZE_WHITESPACE
    [(Word(text='council', how=<How.IS: 'is'>),),
     (Word(text='votes', how=<How.IS: 'is'>), Word(text='today', how=<How.IS: 'is'>))]
    """
    if len(text) > LONGEST:
        raise Invalid(
            f"the search has {len(text):,} characters; the limit is {LONGEST}",
            hint="search for a few words of the text",
        )
    typed = clean(text).translate(QUOTES)  # what is stored was cleaned as well
    clauses = [clause for part in _parts(typed) for clause in _clauses(part)]
    if mode is Mode.EXACT:
        clauses = _joined(clauses)
    if len(clauses) > MOST_CLAUSES:
        raise Invalid(f"the search has more than {MOST_CLAUSES} words", hint="leave some out")
    return tuple(dict.fromkeys(_compared(clause, mode) for clause in clauses))


def last_word(text: str) -> str | None:
    """Return the beginning of a word at the end of what was typed so far, with its sign.

    >>> last_word("votes @reu"), last_word("votes "), last_word("7:2")
    ('@reu', None, '2')
    """
    typed = text[-LONGEST:].rpartition(" ")[2].lstrip('-"')
    found = terms.split(typed)
    if not found or found[-1].end < len(typed.rstrip("*")):
        return None
    sign = entity_mark(NAMES[typed[0]], typed)[0] if typed[0] in NAMES and len(found) == 1 else ""
    return sign + found[-1].word


def _parts(text: str) -> Iterator[_Part]:
    for found in _PART.finditer(text):
        yield _Part(
            text=found["quoted"] or found["plain"] or "",
            negated=bool(found["minus"]),
            is_quoted=found["quoted"] is not None,
            kind=Kind(found["kind"]) if found["kind"] else None,
        )


def _clauses(part: _Part) -> Iterator[Clause]:
    if part.kind is not None:
        yield Clause(marks=(_mark(part.kind, part.text),), negated=part.negated)
        return
    found = terms.words(part.text if part.is_quoted else SCHEME.sub("", part.text))
    if not found:
        return
    names = () if part.is_quoted else tuple(_names(part.text))
    if names and len(found) == 1:
        yield Clause(marks=names, negated=part.negated)
        return
    words = [Word(word) for word in found]
    if not part.is_quoted and part.text.endswith("*"):
        words[-1] = Word(found[-1], How.STARTS)
    yield Clause(tuple(words), names, part.negated)


def _names(text: str) -> Iterator[str]:
    """Yield the marks of names and tags; what has a sign is asked for with it."""
    for entity in entities.find(text):
        if entity.kind in (Kind.MENTION, Kind.HASHTAG):
            yield entity_mark(entity.kind, entity.normalized)


def _mark(kind: Kind, value: str) -> str:
    """Return the mark of an entity as somebody types it."""
    if not terms.words(value):
        return entity_mark(kind)
    found = [entity for entity in entities.find(value) if entity.kind is kind]
    if found and found[0].value == value.strip():
        return entity_mark(kind, found[0].normalized)
    if kind is Kind.NUMBER and re.fullmatch(r"[\d.,' ]+", value):
        value = amounts.normalized(f"{value} %").partition(" ")[0]
    if kind in (Kind.MENTION, Kind.HASHTAG) and value[0] not in NAMES:
        value = ("@" if kind is Kind.MENTION else "#") + value
    return entity_mark(kind, value)


def _joined(clauses: Sequence[Clause]) -> list[Clause]:
    """Make one phrase of all words that are wanted."""
    wanted = [clause for clause in clauses if clause.words and not clause.negated]
    others = [clause for clause in clauses if not clause.words or clause.negated]
    if not wanted:
        return others
    words = tuple(word for clause in wanted for word in clause.words)
    marks = tuple(mark for clause in wanted for mark in clause.marks)
    return [Clause(words, marks), *others]


def _compared(clause: Clause, mode: Mode) -> Clause:
    """Say of each word how it is compared."""
    if mode is Mode.FUZZY:
        words = [
            Word(word, How.NEAR) if how is How.IS else Word(word, how) for word, how in clause.words
        ]
    elif mode is Mode.SUBSTRING:
        words = _within(clause.words)
    else:
        words = list(clause.words)
    return replace(clause, words=tuple(_paired(words)))


def _within(words: tuple[Word, ...]) -> list[Word]:
    """A phrase begins within its first word and ends within its last."""
    if len(words) < 2:
        return [Word(word.text, How.HAS) for word in words]
    first, *middle, last = words
    if terms.is_paired(first.text):  # pairs overlap: there is nothing before them
        return list(words)
    return [Word(first.text, How.ENDS), *middle, Word(last.text, How.STARTS)]


def _paired(words: Sequence[Word]) -> Iterator[Word]:
    """Yield the words; of those that are stored in pairs a single character is part of a pair.

    It may go on where the clause has no other word beside it: behind, before, or on both sides.
    """
    for place, word in enumerate(words):
        if len(word.text) > 1 or not terms.is_paired(word.text):
            yield word
        elif len(words) == 1:
            yield Word(word.text, How.HAS)
        elif place == 0:
            yield Word(word.text, How.ENDS)
        else:
            yield Word(word.text, How.STARTS) if place == len(words) - 1 else word
