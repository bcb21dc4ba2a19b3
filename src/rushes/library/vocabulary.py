"""Which words of the library do for one that somebody asks for: as it is, in part, or misread."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import NamedTuple

from rushes.library.query import How, Word
from rushes.media import terms
from rushes.store.database import Transaction

MOST = 256  # words that stand for one
MOST_NEAR = 64
SHORTEST_PART = 3  # what the index of parts knows
END = "\U0010ffff"  # behind every word that begins like the one before it
ONE_OFF, TWO_OFF = 4, 9  # letters from which on a word may be misread once, twice


class Choices(NamedTuple):
    """Words and how far off they are; `n` is how many texts have one of them at most.

    `cut`: there are more than were looked at.
    """

    words: dict[str, int]
    n: int
    cut: bool = False


def choices(tx: Transaction, word: Word, owner: str | None) -> Choices:
    """Return the words of the library that do for this one; the commonest, if there are many."""
    if word.how is How.IS:
        return Choices({word.text: 0}, _count(tx, [word.text], owner))
    if word.how is How.NEAR:
        return _near(tx, word.text, owner)
    if word.how is How.STARTS:
        found = starting(tx, word.text, owner, MOST + 1)
    else:
        found = _having(tx, word.text, owner)
        if word.how is How.ENDS:
            found = {one: n for one, n in found.items() if one.endswith(word.text)}
    kept = dict(islice(found.items(), MOST))
    far = {one: int(one != word.text) for one in kept}
    return Choices(far, sum(kept.values()), cut=len(found) > MOST)


def starting(tx: Transaction, start: str, owner: str | None, n: int) -> dict[str, int]:
    """Return words that begin like this, the commonest first, and how many texts have each."""
    rows = tx.rows("words_starting", start=start, end=start + END, owner=owner, n=n)
    return {row["word"]: int(row["n"]) for row in rows}


def _having(tx: Transaction, part: str, owner: str | None) -> dict[str, int]:
    statement = "words_with" if len(part) >= SHORTEST_PART else "words_with_short"
    rows = tx.rows(statement, part=part, glob=f"*{part}*", owner=owner, n=8 * MOST)
    return {row["word"]: int(row["n"]) for row in rows if row["word"][0] not in "@#"}


def _near(tx: Transaction, word: str, owner: str | None) -> Choices:
    """Return the words that this one may be a reading of, the nearest first."""
    bones = terms.bones(word)
    limit = (len(bones) >= ONE_OFF) + (len(bones) >= TWO_OFF)
    ranges = {
        name: bound
        for start, value in _ends(bones, limit).items()
        for name, bound in ((start, value), (f"{start}_end", value + END))
    }
    lengths = {"shortest": len(bones) - limit, "longest": len(bones) + limit}
    rows = tx.rows("words_near", **ranges, **lengths, owner=owner)
    found = [(slips(bones, row["bones"], limit), -int(row["n"]), row["word"]) for row in rows]
    near = sorted(one for one in found if one[0] <= limit and one[2][0] not in "@#")
    words = {word: 0} | {one: far + 1 for far, _, one in near[:MOST_NEAR] if one != word}
    return Choices(words, _count(tx, words, owner), cut=len(near) > MOST_NEAR)


def _count(tx: Transaction, words: Iterable[str], owner: str | None) -> int:
    """Return how many texts have one of these words at most."""
    [row] = tx.rows("count_texts", words=[{"word": word} for word in words], owner=owner)
    return int(row["n"])


def _ends(bones: str, limit: int) -> dict[str, str]:
    """Return how the bones of words begin or end that may be meant; ends are read from behind.

    One slip is in one half of a word: the other half is right, and so is half of that half. Of two
    slips, the first or the last third is asked to be free.
    """
    size = len(bones) // (limit + 1)
    if limit != 1:
        head, tail = bones[:size], bones[::-1][:size]
        return {
            **dict.fromkeys(("head", "longer_head", "short_head"), head),
            **dict.fromkeys(("tail", "longer_tail", "short_tail"), tail),
        }
    first, last = size // 2, size + (len(bones) - size) // 2
    return {
        "head": bones[:size],
        "longer_head": bones[:last],
        "short_head": bones[:first],
        "tail": bones[size:][::-1],
        "longer_tail": bones[first:][::-1],
        "short_tail": bones[last:][::-1],
    }


def slips(one: str, other: str, limit: int) -> int:
    """Count the letters to insert, delete or replace, up to `limit`, at most 2; more is any more.

    >>> slips("council", "counci1", 1), slips("cuoncil", "council", 2), slips("", "abc", 2)
    (1, 2, 3)
    """
    if one == other:
        return 0
    start, shorter = 0, min(len(one), len(other))
    while start < shorter and one[start] == other[start]:
        start += 1
    end = 0
    while end < shorter - start and one[-1 - end] == other[-1 - end]:
        end += 1
    one, other = one[start : len(one) - end], other[start : len(other) - end]
    if len(one) < len(other):
        one, other = other, one
    if not other or len(one) == 1:
        return len(one)
    return 2 if limit == 2 and _is_two(one, other) else limit + 1


def _is_two(longer: str, shorter: str) -> bool:
    """Whether two slips make one of the other, of words that begin and end differently.

    Each end needs a slip, so there is none between them.
    """
    inner, more = longer[1:-1], len(longer) - len(shorter)
    if more == 0:
        return inner == shorter[1:-1] or longer[1:] == shorter[:-1] or longer[:-1] == shorter[1:]
    return inner in (shorter[1:], shorter[:-1]) if more == 1 else inner == shorter
