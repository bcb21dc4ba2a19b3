"""Texts of a film as other programs take them: SubRip, WebVTT, CSV, JSON, lines. Pure.

Every text is a cue of its own, in the order of time. Several are on the screen at once, so cues
overlap; both formats allow it, and players stack them.
"""

from __future__ import annotations

import csv as comma_separated
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from html import escape
from typing import Any

from rushes.library.indexing import ABOUT

Texts = Iterable[Mapping[str, Any]]
"""What `store.assets.texts` returns, or hits of a search as values."""

SIDES = ("x", "y", "width", "height")
COLUMNS = (
    *("asset_id", "title", "source", "start", "end", "start_ms", "end_ms", "text", "language"),
    *("confidence", *SIDES, "url"),
)
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""Also the wide ones, which a spreadsheet in East Asia takes for the same."""


def srt(texts: Texts) -> str:
    """Return the texts as SubRip. It knows no escape, so an arrow in a text is made another."""
    cues = (
        f"{number}\n{_stamp(text['start_ms'], ',')} --> {_stamp(text['end_ms'], ',')}\n"
        f"{_line(text['text']).replace('-->', '→')}\n"
        for number, text in enumerate(_timed(texts), 1)
    )
    return "\n".join(cues)


def vtt(texts: Texts) -> str:
    """Return the texts as WebVTT."""
    cues = (
        f"{number}\n{_stamp(text['start_ms'], '.')} --> {_stamp(text['end_ms'], '.')}\n"
        f"{escape(_line(text['text']), quote=False)}\n"
        for number, text in enumerate(_timed(texts), 1)
    )
    return "\n".join(["WEBVTT\n", *cues])


def records(texts: Texts) -> list[dict[str, object]]:
    """Return the texts as values for JSON; the box is in pixels of the original."""
    return [
        {
            "start_ms": text["start_ms"],
            "end_ms": text["end_ms"],
            "text": text["text"],
            "language": text["language"],
            "confidence": text["confidence"],
            "box": {side: text[side] for side in SIDES},
            "entities": [_entity(entity) for entity in text["entities"]],
        }
        for text in texts
    ]


def csv(texts: Texts) -> str:
    """Return the texts as a table, with the columns that they have.

    A spreadsheet would run a cell that begins like a formula: such a text gets a quote before it.
    """
    rows = [_cells(text) for text in texts]
    columns = [name for name in COLUMNS if not rows or name in rows[0]]
    written = io.StringIO()
    table = comma_separated.DictWriter(written, columns, extrasaction="ignore")
    table.writeheader()
    table.writerows(rows)
    return written.getvalue()


def as_json(texts: Texts) -> str:
    """Return the texts as one JSON object."""
    return json.dumps({"items": [dict(text) for text in texts]}, ensure_ascii=False)


def lines(texts: Texts) -> list[str]:
    """Return a line for each text: from when to when, and what it says."""
    return [
        f"{moment(text['start_ms'])}-{moment(text['end_ms'])}  {_line(text['text'])}"
        for text in texts
    ]


def moment(milliseconds: int) -> str:
    """Return a moment of a film as people write it.

    >>> moment(2_000), moment(3_723_450)
    ('0:02.0', '1:02:03.4')
    """
    minutes, rest = divmod(milliseconds, 60_000)
    hours, minutes = divmod(minutes, 60)
    start = f"{hours}:{minutes:02}" if hours else f"{minutes}"
    return f"{start}:{rest // 1000:02}.{rest % 1000 // 100}"


def _timed(texts: Texts) -> Iterator[Mapping[str, Any]]:
    """Yield the texts that are seen or said at a time, and not those about the whole film."""
    return (text for text in texts if text.get("source") not in ABOUT)


def _cells(text: Mapping[str, Any]) -> dict[str, object]:
    times = {name: moment(text[f"{name}_ms"]) for name in ("start", "end")}
    box = {**dict.fromkeys(SIDES), **(text["box"] or {})} if "box" in text else {}
    told = {**times, **text, **box}
    return {
        name: _harmless(value) if isinstance(value, str) else value for name, value in told.items()
    }


def _harmless(cell: str) -> str:
    """Return a cell that no spreadsheet takes for a formula.

    >>> _harmless("=cmd()"), _harmless("a=b")
    ("'=cmd()", 'a=b')
    """
    return f"'{cell}" if cell.startswith(FORMULA) else cell


def _stamp(milliseconds: int, point: str) -> str:
    minutes, rest = divmod(milliseconds, 60_000)
    hours, minutes = divmod(minutes, 60)
    return f"{hours:02}:{minutes:02}:{rest // 1000:02}{point}{rest % 1000:03}"


def _line(text: str) -> str:
    """Return a text on one line: an empty one would end its cue."""
    return " ".join(text.split())


def _entity(entity: Mapping[str, Any]) -> dict[str, object]:
    names = ("kind", "value", "normalized", "begins", "ends")
    return {name: entity[name] for name in names}


FORMATS: dict[str, Callable[[Texts], str]] = {"csv": csv, "srt": srt, "vtt": vtt, "json": as_json}
