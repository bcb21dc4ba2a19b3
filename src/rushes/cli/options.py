"""Options that several commands take, and what their texts stand for."""

from __future__ import annotations

import re
from typing import Annotated

import typer

from rushes.errors import Invalid

LANGUAGE = re.compile(r"[a-z]{2,3}(-[A-Za-z0-9]{2,8})*")

VideoId = Annotated[
    str,
    typer.Argument(
        metavar="ID",
        help="A video: any unique beginning or end of its id, or @last for the newest.",
    ),
]
Priority = Annotated[
    str, typer.Option(metavar="P", help="0 to 10, 10 first; or low, normal, high, urgent.")
]
Qualities = Annotated[
    str | None, typer.Option(metavar="LIST", help="Only these qualities, such as 720p,480p.")
]
NoWait = Annotated[
    bool, typer.Option("--no-wait", help="Only put the work into the queue; do none of it here.")
]


def priority_of(text: str) -> int:
    """Return the number of a priority: 0 to 10, or a name."""
    from rushes.domain.graph import PRIORITIES, check_priority

    if text in PRIORITIES:
        return PRIORITIES[text]
    if not text.isascii() or not text.isdigit():
        raise Invalid(f"{text!r} is not a priority", hint=f"0 to 10, or {', '.join(PRIORITIES)}")
    check_priority(int(text))
    return int(text)


def qualities_of(text: str | None) -> tuple[str, ...] | None:
    """Return the names in a list of qualities. A small film has one below the usual ones."""
    from rushes.media.ladder import CAPS, SMALLEST_PX

    if text is None:
        return None
    known = {f"{side}p" for side in (*CAPS, *range(SMALLEST_PX, min(CAPS), 2))}
    for name in (names := parts(text)):
        if name not in known:
            usual = ", ".join(f"{side}p" for side in CAPS)
            raise Invalid(f"{name!r} is not a quality", hint=f"the usual ones: {usual}")
    if not names:
        raise Invalid("--qualities names none", hint="for example: --qualities 720p,480p")
    return names


def languages_of(text: str) -> tuple[str, ...]:
    """Return the languages in a list, as BCP 47 has them (`en`); three letters are fine, too."""
    names = parts(text)
    for name in names:
        if not LANGUAGE.fullmatch(name):
            raise Invalid(f"{name!r} is not a language", hint="for example: --languages en,de")
    if not names:
        raise Invalid("--languages names none", hint="for example: --languages en,de")
    return names


def parts(text: str) -> tuple[str, ...]:
    """Return what stands between the commas, each once.

    >>> parts("720p, 480p,,720p")
    ('720p', '480p')
    """
    return tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
