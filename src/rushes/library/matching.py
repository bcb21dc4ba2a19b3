"""Clauses → what each database's index is asked, and how well a text that it gave answers. Pure.

Both databases are asked for the same terms. Everything that only one of them could do, or that they
would do differently, is decided here, over the terms of each text: so the same texts come in the
same order from both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from rushes.library.indexing import EVERY

Choice = Mapping[str, int]
"""The words that do for one that was asked for, and how far off each is."""


class Wanted(NamedTuple):
    """A clause whose words are known: for each place, the words that do.

    `parts` are what of these words was asked for; '' stands for all of it.
    """

    choices: tuple[Choice, ...]
    marks: tuple[str, ...] = ()
    negated: bool = False
    parts: tuple[str, ...] = ()


class Fit(NamedTuple):
    """How well a text answers; smaller is better. `off`: letters; `gap`: words in between."""

    off: int
    gap: int


class Grammar(NamedTuple):
    """How one database's index is asked."""

    quote: Callable[[str], str]
    both: str
    either: str
    phrase: Callable[[Sequence[str]], str]
    without: Callable[[str, str], str]


def ask(grammar: Grammar, wanted: Sequence[Wanted], among: Iterable[Sequence[str]] = ()) -> str:
    """Return the question; `among` are groups of terms of which a text has one each.

    >>> council = Wanted(({"council": 0}, {"votes": 0}), ("@reuters",))
    >>> ask(FTS5, [council]), ask(TSQUERY, [council], [[":c9", ":c10"]])
    ('"@reuters" AND "council votes"', "'@reuters' & ('council' <-> 'votes') & (':c9' | ':c10')")
    """
    positive = [part for one in wanted if not one.negated for part in _parts(grammar, one)]
    positive += [_any(grammar, group) for group in among]
    query = grammar.both.join(positive or [grammar.quote(EVERY)])
    for one in wanted:
        if one.negated and not _is_left(one):
            query = grammar.without(query, grammar.both.join(_parts(grammar, one)))
    return query


def judge(wanted: Sequence[Wanted]) -> Callable[[str], Fit | None]:
    """Return what tells how well a text answers, by its terms; None if it does not after all."""
    positive = [one for one in wanted if one.choices and not one.negated]
    if len(positive) > 1 or any(map(_is_choice, wanted)):
        return lambda found_by: _fit(wanted, found_by)
    return lambda _: Fit(0, 0)  # the index has said all there is to say


def chosen(wanted: Sequence[Wanted], words: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Yield the places of the words that answer, and the part that was asked for."""
    for one in wanted:
        if one.choices and not one.negated:
            for place, _ in _places(one, words):
                yield from enumerate(one.parts, place)


def _fit(wanted: Sequence[Wanted], found_by: str) -> Fit | None:
    terms = found_by.split(" ")
    off = gap = 0
    last: list[int] | None = None
    for one in wanted:
        if one.negated:
            if _is_left(one) and _places(one, terms):
                return None
            continue
        if not one.choices:
            continue
        places = _places(one, terms)
        if not places:
            return None
        off += min(far for _, far in places)
        starts = [place for place, _ in places]
        if last is not None:
            gap += _gap(last, starts)
        last = [place + len(one.choices) - 1 for place in starts]
    return Fit(off, gap)


def _places(one: Wanted, words: Sequence[str]) -> list[tuple[int, int]]:
    """Return where the words of a clause stand side by side, and how far off they are there."""
    first, *others = one.choices
    found = []
    for place, word in enumerate(words):
        if word not in first:
            continue
        far = first[word]
        for step, choice in enumerate(others, 1):
            other = words[place + step] if place + step < len(words) else ""
            if other not in choice:
                break
            far += choice[other]
        else:
            found.append((place, far))
    return found


def _gap(before: Sequence[int], after: Sequence[int]) -> int:
    """Return how many words stand between two clauses at the least; the other way round is more."""
    return min(
        there - here - 1 if there > here else here - there + 1 for here in before for there in after
    )


def _is_choice(one: Wanted) -> bool:
    return any(len(choice) > 1 for choice in one.choices)


def _is_left(one: Wanted) -> bool:
    """Whether a phrase must not be there of which an index knows only the words: `_fit` decides."""
    return len(one.choices) > 1 and _is_choice(one)


def _parts(grammar: Grammar, one: Wanted) -> list[str]:
    marks = [grammar.quote(mark) for mark in one.marks]
    if not one.choices:
        return marks
    if _is_choice(one):
        return [*marks, *(_any(grammar, choice) for choice in one.choices)]
    return [*marks, grammar.phrase([word for choice in one.choices for word in choice])]


def _any(grammar: Grammar, terms: Iterable[str]) -> str:
    return f"({grammar.either.join(map(grammar.quote, terms))})"


def _quoted(term: str) -> str:
    return '"' + term.replace('"', '""') + '"'


def _lexeme(term: str) -> str:
    return "'" + term.replace("\\", "\\\\").replace("'", "''") + "'"


FTS5 = Grammar(
    quote=_quoted,
    both=" AND ",
    either=" OR ",
    phrase=lambda words: _quoted(" ".join(words)),
    without=lambda query, other: f"({query}) NOT ({other})",
)
# cast to tsquery, which takes lexemes as they are: nothing is parsed as text
TSQUERY = Grammar(
    quote=_lexeme,
    both=" & ",
    either=" | ",
    phrase=lambda words: f"({' <-> '.join(map(_lexeme, words))})",
    without=lambda query, other: f"{query} & !({other})",
)
