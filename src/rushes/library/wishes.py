"""What people may choose for a film, read from their words."""

from __future__ import annotations

import re

from rushes.domain.graph import PRIORITIES, check_priority
from rushes.errors import Invalid

TIME = re.compile(r"(?:(?:(\d{1,3}):)?(\d{1,3}):)?(\d{1,6})(?:\.(\d{1,3}))?", re.ASCII)
LANGUAGE = re.compile(r"[a-z]{2,3}(-[A-Za-z0-9]{2,8})*")


def priority_of(text: str) -> int:
    """Return the number of a priority: 0 to 10, or a name."""
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
        raise Invalid("the list of qualities names none", hint="for example: 720p,480p")
    return names


def languages_of(text: str) -> tuple[str, ...]:
    """Return the languages in a list, as BCP 47 has them (`en`); three letters are fine, too."""
    names = parts(text)
    for name in names:
        if not LANGUAGE.fullmatch(name):
            raise Invalid(f"{name!r} is not a language", hint="for example: en,de")
    if not names:
        raise Invalid("the list of languages names none", hint="for example: en,de")
    return names


def time_of(text: str) -> int:
    """Return the milliseconds of a time in a film: seconds, or minutes and hours before them.

    >>> time_of("62.5"), time_of("1:02.5"), time_of("1:00:00")
    (62500, 62500, 3600000)
    """
    found = TIME.fullmatch(text.strip())
    if found is None:
        raise Invalid(f"{text[:40]!r} is not a time", hint="for example: 62.5, 1:02.5 or 1:00:02")
    hours, minutes, seconds, fraction = (part or "0" for part in found.groups())
    whole = (int(hours) * 60 + int(minutes)) * 60 + int(seconds)
    return whole * 1000 + int(fraction.ljust(3, "0"))


def parts(text: str) -> tuple[str, ...]:
    """Return what stands between the commas, each once.

    >>> parts("720p, 480p,,720p")
    ('720p', '480p')
    """
    return tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
