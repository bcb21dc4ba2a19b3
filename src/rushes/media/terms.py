"""Splits text into the terms by which it is found: the one function behind every index.

What is stored and what is asked for pass through here, in the same words on every database. A term
is a word without case, width and accents; an emoji; or, where words have no spaces between them,
a pair of neighbouring characters. Terms hold letters, digits, marks and emoji, nothing else.
Whoever changes what comes out raises VERSION: everything is then indexed anew.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from rushes.media.entities import PICTURE, SELECTOR, SKIN
from rushes.media.text import SAME_LETTERS

VERSION = 2
LONGEST = 64
JOINERS = "\u200c\u200d"
# accents; the points of Hebrew; the vowel signs of Arabic, and the line that only stretches a word
ACCENTS = re.compile(
    "[\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7"
    "\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed]+"
)
# letters with a stroke or joined: Unicode does not take them apart
PLAIN = str.maketrans(
    {
        "ø": "o",
        "ł": "l",
        "đ": "d",
        "ð": "d",
        "þ": "th",
        "æ": "ae",
        "œ": "oe",
        "\u0131": "i",
        "ħ": "h",
    }
)
# written without spaces, or with endings that grow onto words: Han, kana and Hangul; Thai and Lao,
# Burmese, Khmer
PAIRED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\ua9e0-\ua9ff\uaa60-\uaa7f"
    "\u1100-\u11ff\u3040-\u30ff\u3131-\u318e\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f"
    "\uac00-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff\u3005-\u3007]"
)
READ_ALIKE = (("rn", "m"), ("vv", "w"))

_WORD = re.compile(r"[^\W_]+")
# Latin, Greek, Cyrillic and their signs: every word is a run of `\w`, without the `_`
_ALPHABETS = re.compile(
    "[\x00-\u02ff\u0370-\u0482\u048a-\u052f\u1e00-\u1fff\u2010-\u2027\u20a0-\u20bf]*"
)
_ASCII = re.compile(r"[A-Za-z0-9]+")
_EMOJI = re.compile(f"(?x:{PICTURE})")
_LOOKS = re.compile(f"{SELECTOR}|(?<!^){SKIN}")


class Term(NamedTuple):
    """A term, and the characters of the text that it stands for."""

    word: str
    start: int
    end: int


class _Letter(NamedTuple):
    """A character with the marks upon it, folded; it may have become several, or none."""

    folded: str
    start: int
    end: int


def split(text: str) -> list[Term]:
    """Return the terms of a text, in order.

    >>> [term.word for term in split("Café 7: Straße, 東京都 👍🏽 don't")]
    ['cafe', '7', 'strasse', '東京', '京都', '👍', 'don', 't']
    """
    if text.isascii():
        return [
            Term(found[0][:LONGEST].lower(), found.start(), found.end())
            for found in _ASCII.finditer(text)
        ]
    if _ALPHABETS.fullmatch(text):
        found = ((_kept(one[0]), one.start(), one.end()) for one in _WORD.finditer(text))
        return [Term(word[:LONGEST], start, end) for word, start, end in found if word]
    return [term for run in _runs(text) for term in _terms(run)]


def words(text: str) -> list[str]:
    """Return the words of the terms alone."""
    return [term.word for term in split(text)]


def fold(text: str) -> str:
    """Return text without case, width, accents, and signs of vowels that are often left out.

    >>> fold("ＦÜＲ Ångström"), fold("ﬁlm"), fold("Ёлка"), fold("שָׁלוֹם")
    ('fur angstrom', 'film', 'елка', 'שלום')
    """
    if text.isascii():
        return text.lower()
    wide = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    bare = ACCENTS.sub("", unicodedata.normalize("NFD", wide))
    return unicodedata.normalize("NFC", bare).translate(PLAIN)


def bones(word: str) -> str:
    """Return a word without the differences that readers of pictures overlook.

    >>> bones("counci1") == bones("council"), bones("modern") == bones("modem"), bones("1958")
    (True, True, '1958')
    """
    if not any(map(str.isalpha, word)):
        return word  # a number is what it is
    plain = word.translate(SAME_LETTERS)
    for seen, meant in READ_ALIKE:
        plain = plain.replace(seen, meant)
    return plain


def is_paired(word: str) -> bool:
    """Whether a word is of characters that are stored in pairs."""
    return PAIRED.match(word) is not None


def _runs(text: str) -> Iterator[list[_Letter]]:
    """Yield the letters that stand together; an emoji stands alone."""
    run: list[_Letter] = []
    position = 0
    for emoji in (*_EMOJI.finditer(text), None):
        end = emoji.start() if emoji else len(text)
        for letter in _letters(text, position, end):
            if letter is not None:
                run.append(letter)
            elif run:
                yield run
                run = []
        if run:
            yield run
            run = []
        if emoji is not None:
            position = emoji.end()
            yield [_Letter(_LOOKS.sub("", emoji[0]), emoji.start(), position)]


def _letters(text: str, start: int, end: int) -> Iterator[_Letter | None]:
    """Yield each letter with its marks, and None for what stands between words."""
    while start < end:
        after = start + 1
        if not _is_letter(text[start]):
            yield None
        else:
            while after < end and _is_mark(text[after]):
                after += 1
            yield _Letter(_kept(text[start:after]), start, after)
        start = after


def _terms(run: list[_Letter]) -> Iterator[Term]:
    """Yield the words of a run, and the pairs where it has no words."""
    word: list[_Letter] = []
    paired: list[_Letter] = []
    for letter in (*run, None):
        is_pair = letter is not None and is_paired(letter.folded)
        if word and (letter is None or is_pair):
            folded = "".join(part.folded for part in word)
            if folded:
                yield Term(folded[:LONGEST], word[0].start, word[-1].end)
            word = []
        if paired and not is_pair:
            yield from _pairs(paired)
            paired = []
        if letter is not None:
            (paired if is_pair else word).append(letter)


def _pairs(run: list[_Letter]) -> Iterator[Term]:
    letters = [_Letter(char, one.start, one.end) for one in run for char in one.folded]
    if len(letters) == 1:
        yield Term(*letters[0])
    for one, other in pairwise(letters):
        yield Term(one.folded + other.folded, one.start, other.end)


@lru_cache(maxsize=10_000)
def _kept(text: str) -> str:
    """Return what a word or a letter is folded to, without what no term may hold."""
    return "".join(filter(_is_letter, fold(text)))


@lru_cache(maxsize=10_000)
def _is_letter(character: str) -> bool:
    return unicodedata.category(character)[0] in "LMN"


@lru_cache(maxsize=10_000)
def _is_mark(character: str) -> bool:
    """Whether a character belongs to the one before; so do the voicing marks of half-wide kana."""
    is_joined = character in JOINERS or character in "\uff9e\uff9f"
    return is_joined or unicodedata.category(character)[0] == "M"
