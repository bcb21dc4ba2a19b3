"""Judges the search by the demo's film, of which every word and its time are known."""

from __future__ import annotations

from collections.abc import Iterator

from rushes.library.demo_check import TOLERANCE_MS
from rushes.library.search import Question, search
from rushes.store.database import Transaction

ASKED = {
    "ferry hamburg": (7_600, 10_000),
    '"now boarding"': (10_000,),
    "strasse": (3_000,),
    "@harbournews": (800,),
    "url:example.org": (7_600,),
    "hamburg -boarding": (7_600,),
}
"""What somebody types, and when the answers begin."""


def missed(tx: Transaction) -> list[str]:
    """Ask all of it, and say which answers are not those that are known."""
    return [problem for text, times in ASKED.items() for problem in _wrong(tx, text, times)]


def _wrong(tx: Transaction, text: str, times: tuple[int, ...]) -> Iterator[str]:
    found = sorted(hit.row["start_ms"] for hit in search(tx, Question(text=text, owner=None)).hits)
    right = len(found) == len(times) and all(
        abs(one - known) <= TOLERANCE_MS for one, known in zip(found, times, strict=True)
    )
    if not right:
        yield f"{text} was found at {found or 'no time'}, not at {list(times)} ms"
