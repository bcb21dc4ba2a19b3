"""Text as it was read: cleaned, normalised, and merged into the times at which it is seen.

A frame that was not kept looks like the last one that was. So a text is there from the first
frame that shows it until the next frame that was read and does not.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from rushes.media.language import detect

if TYPE_CHECKING:
    from rushes.media.ocr import Reading, Region

Box: TypeAlias = tuple[int, int, int, int]  # x, y, width, height in pixels of the frame

MAX_LENGTH = 1000
JOINERS = "\u200c\u200d"  # they shape letters and emoji; other format characters only hide things
SAME_LETTERS = str.maketrans({"0": "o", "1": "l", "i": "l", "|": "l", "!": "l", "5": "s", "8": "b"})
CERTAIN = 0.9  # two readings that are surer than this and differ are two texts
SLIPS = 16  # a slip of the engine per so many letters is the same text
LONGEST_SLIP = 200
CELL = 32  # pixels: text that moves further is another text
PER_CELL = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A text and the time for which it is seen. The box is that of its first frame."""

    start_ms: int
    end_ms: int
    text: str
    normalized: str
    hash: str
    confidence: float
    box: Box
    language: str


def clean(text: str) -> str:
    """Return the text without control characters, hidden marks and overrides, in one line.

    >>> clean("pay\\x00 \\u202eevil\\u202c\\n now")
    'pay evil now'
    """
    shown = text[: 4 * MAX_LENGTH]
    if not shown.isprintable():
        shown = shown.translate({ord(letter): _shown(letter) for letter in set(shown)})
    return " ".join(unicodedata.normalize("NFC", shown).split())[:MAX_LENGTH].rstrip()


def normalize(text: str) -> str:
    """Return the form in which texts are compared and searched.

    >>> normalize("  Große  ﬁlme\\u00a0IN Zürich ")
    'grosse filme in zürich'
    """
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return " ".join(folded.split())


def text_hash(normalized: str) -> str:
    return hashlib.blake2b(normalized.encode(), digest_size=16).hexdigest()


def distance(one: str, other: str, limit: int | None = None) -> int:
    """Count the letters to insert, delete or replace; more than `limit` may come as limit + 1.

    >>> distance("Council", "Counci1"), distance("", "abc"), distance("abcd", "wxyz", 1)
    (1, 3, 2)
    """
    bound = max(len(one), len(other)) if limit is None else limit
    if abs(len(one) - len(other)) > bound:
        return bound + 1
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        before, row[0] = row[0], i
        first, last = max(1, i - bound), min(len(other), i + bound)
        if first > 1:
            before, row[first - 1] = row[first - 1], bound + 1
        for j in range(first, last + 1):
            replaced = before + (letter != other[j - 1])
            before, row[j] = row[j], min(replaced, row[j] + 1, row[j - 1] + 1)
        if min(row[first - 1 : last + 1]) > bound:
            return bound + 1
    return min(row[-1], bound + 1)


def merge(readings: Iterable[Reading], end_ms: int) -> list[Span]:
    """Return when each text is seen, in order; `end_ms` is the end of the last frame.

    The readings come in order of time, those of all parts of a film one after the other: where
    a part or a batch ends makes no difference. A frame that could not be read is passed over.
    """
    merger = _Merger()
    for reading in readings:
        if reading.error is None:
            merger.add(reading)
    return merger.finish(end_ms)


@dataclass(slots=True)
class _Seen:
    """A text that the last frame showed. Compared by `best`, so it cannot drift step by step."""

    start_ms: int
    first_box: Box
    last_box: Box
    last_hash: str
    best: Region
    skeleton: str

    def again(self, region: Region, hash: str) -> None:
        self.last_box, self.last_hash = region.box, hash
        if region.confidence > self.best.confidence:
            self.best, self.skeleton = region, _skeleton(region.text)


class _Merger:
    def __init__(self) -> None:
        self._seen: list[_Seen] = []
        self._spans: list[Span] = []
        self._t_ms = -1

    def add(self, reading: Reading) -> None:
        if reading.t_ms <= self._t_ms:
            raise ValueError(f"the frame at {reading.t_ms} ms comes after {self._t_ms} ms")
        self._t_ms = reading.t_ms
        gone = _Gone(self._seen)
        hashes = [text_hash(normalize(region.text)) for region in reading.regions]
        # equal texts first: one that only looks alike must not take the place of the real one
        now = [gone.take_equal(hash) for hash in hashes]
        for number, region in enumerate(reading.regions):
            seen = now[number] or gone.take_near(region)
            if seen is None:
                box, skeleton = region.box, _skeleton(region.text)
                seen = _Seen(reading.t_ms, box, box, hashes[number], region, skeleton)
            seen.again(region, hashes[number])
            now[number] = seen
        self._end(gone.left(), reading.t_ms)
        self._seen = [seen for seen in now if seen]

    def finish(self, end_ms: int) -> list[Span]:
        self._end(self._seen, max(end_ms, self._t_ms + 1))
        return sorted(self._spans, key=lambda span: (span.start_ms, span.box[1], span.box[0]))

    def _end(self, texts: Iterable[_Seen], t_ms: int) -> None:
        self._spans += (_span(seen, t_ms) for seen in texts)


class _Gone:
    """The texts of the last frame that the present one has not shown yet."""

    def __init__(self, seen: list[_Seen]) -> None:
        self._all = seen
        self._taken: set[int] = set()
        self._by_hash: dict[str, deque[_Seen]] = defaultdict(deque)
        self._by_place: dict[tuple[int, int], list[_Seen]] | None = None
        for text in seen:
            self._by_hash[text.last_hash].append(text)

    def take_equal(self, hash: str) -> _Seen | None:
        same = self._by_hash.get(hash)
        return self._take(same.popleft()) if same else None

    def take_near(self, region: Region) -> _Seen | None:
        """Take the text that stood here if this is another reading of it."""
        if self._by_place is None:
            self._by_place = defaultdict(list)
            for text in self.left():
                self._by_place[_cell(text.last_box)].append(text)
        for text in self._around(region.box):
            if id(text) not in self._taken and _alike(text, region):
                return self._take(text)
        return None

    def left(self) -> list[_Seen]:
        return [text for text in self._all if id(text) not in self._taken]

    def _around(self, box: Box) -> Iterator[_Seen]:
        assert self._by_place is not None
        x, y = _cell(box)
        for place in ((x + dx, y + dy) for dy in (0, -1, 1) for dx in (0, -1, 1)):
            yield from self._by_place.get(place, ())[:PER_CELL]

    def _take(self, text: _Seen) -> _Seen:
        self._taken.add(id(text))
        return text


def _span(seen: _Seen, end_ms: int) -> Span:
    normalized = normalize(seen.best.text)
    return Span(
        start_ms=seen.start_ms,
        end_ms=end_ms,
        text=seen.best.text,
        normalized=normalized,
        hash=text_hash(normalized),
        confidence=seen.best.confidence,
        box=seen.first_box,
        language=detect(seen.best.text),
    )


def _alike(seen: _Seen, region: Region) -> bool:
    """Tell a slip of the engine from a text that changed. Numbers change; they do not slip."""
    slack = min(CELL, min(seen.last_box[3], region.box[3]) // 4)
    if any(abs(a - b) > slack for a, b in zip(seen.last_box, region.box, strict=True)):
        return False
    one, other = seen.skeleton, _skeleton(region.text)
    if one == other or one.startswith(other) or other.startswith(one):
        return one == other != ""  # a text that grows is being typed
    limit = max(len(one), len(other)) // SLIPS
    return (
        0 < limit <= LONGEST_SLIP // SLIPS
        and min(seen.best.confidence, region.confidence) < CERTAIN
        and re.findall(r"\d", seen.best.text) == re.findall(r"\d", region.text)
        and distance(one, other, limit) <= limit
    )


def _skeleton(text: str) -> str:
    """Return the letters without what engines mix up: accents, spaces, marks, 1 and l.

    >>> _skeleton("Counci1, né à 12:59") == _skeleton("Council ne a 12:59")
    True
    """
    plain = unicodedata.normalize("NFKD", normalize(text))
    return "".join(map(_bones, plain.split()))


def _bones(word: str) -> str:
    if not any(map(str.isalpha, word)):
        return word  # a number stays what it is
    return "".join(filter(str.isalnum, word.translate(SAME_LETTERS)))


def _cell(box: Box) -> tuple[int, int]:
    return box[0] // CELL, box[1] // CELL


def _shown(character: str) -> str:
    category = unicodedata.category(character)
    if category in {"Cc", "Zl", "Zp"}:
        return " " if character.isspace() else ""
    hidden = category in {"Cs", "Co", "Cn"} or (category == "Cf" and character not in JOINERS)
    return "" if hidden else character
