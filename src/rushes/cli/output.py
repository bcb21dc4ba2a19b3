"""How commands speak: results on stdout, everything else on stderr, colours only on a terminal.

Text from jobs may come from anywhere, so control characters never reach the terminal.
"""

from __future__ import annotations

import json
import os
import re
import sys
import unicodedata
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

import typer

from rushes.errors import RushesError

ICONS = {"queued": "⏳", "running": "🔄", "completed": "✅", "failed": "❌", "killed": "🛑"}
COLOURS = {
    "queued": "bright_black",
    "running": "blue",
    "completed": "green",
    "failed": "red",
    "killed": "yellow",
}
LIKE = {"pending": "queued", "processing": "running", "ready": "completed"}
"""The words for videos that look like one for jobs."""
NUMBER = re.compile(r"[\d.,/]+( \S+)*")  # also with a unit: `3 s ago`, `40 %`, `1/3`
UNITS = (("day", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1_000))

_allowed = True


def colours(allowed: bool) -> None:
    """Allow colours or not; they still need a terminal and no NO_COLOR."""
    global _allowed  # noqa: PLW0603  (one command per process: its output is one place)
    _allowed = allowed and not os.environ.get("NO_COLOR")


def say(*lines: str) -> None:
    for line in lines:
        typer.echo(line)


def say_json(value: object, **more: object) -> None:
    """Print one object; indented for a person, on one line for a program."""
    indent = 2 if sys.stdout.isatty() else None
    typer.echo(json.dumps(plain(value, **more), ensure_ascii=False, indent=indent))


def say_line(value: object, **more: object) -> None:
    """Print one object of a stream: always one line."""
    typer.echo(json.dumps(plain(value, **more), ensure_ascii=False))


def plain(value: object, **more: object) -> object:
    """Return a model, or what is plain already, as JSON has it; `more` are members to add."""
    told = value.model_dump(mode="json") if hasattr(value, "model_dump") else value
    return {**more, **told} if isinstance(told, dict) and more else told


def note(line: str) -> None:
    """Say something that is not the result: progress, a remark."""
    typer.echo(line, err=True)


def tell_error(error: RushesError, *, as_json: bool, about: str | None = None) -> None:
    """Print a deliberate error: a line with its code, and what to do about it."""
    from rushes.api.problems import code_of, problem

    if as_json:
        typer.echo(json.dumps(problem(error), ensure_ascii=False), err=True)
        return
    start = styled("error:", "red", err=True) + (f" {about}:" if about else "")
    for line in error.message.splitlines() or [""]:
        typer.echo(f"{start} {printable(line)} ({code_of(error)})", err=True)
    if error.hint:
        typer.echo(f"hint: {printable(error.hint)}", err=True)


def tell_usage(error: typer.TyperException, *, as_json: bool) -> None:
    """Print what is wrong with the command line itself."""
    context = getattr(error, "ctx", None)
    command = context.command_path if context else "rushes"
    if type(error).__name__ == "NoArgsIsHelpError":
        typer.echo(error.format_message(), err=True)
        return
    usage = RushesError(error.format_message(), hint=f"{command} --help shows how it is used")
    usage.code, usage.status = "USAGE", 400  # type: ignore[misc]
    tell_error(usage, as_json=as_json)


def styled(text: str, colour: str, *, err: bool = False) -> str:
    stream = sys.stderr if err else sys.stdout
    return typer.style(text, fg=colour) if _allowed and stream.isatty() else text


def is_coloured() -> bool:
    return _allowed


def status_word(status: str) -> str:
    """Return the status of a job or a video: icon, word and, on a terminal, colour; never alone."""
    look = LIKE.get(status, status)
    return f"{ICONS[look]} {styled(status, COLOURS[look])}"


def table(
    headers: Sequence[str], rows: Iterable[Sequence[object]], *, indent: str = ""
) -> list[str]:
    """Return the lines of a table; numbers stand on the right, empty columns are left out."""
    cells = [[_cell(value) for value in row] for row in rows]
    shown = [index for index in range(len(headers)) if any(row[index] for row in cells)]
    right = {
        index for index in shown if all(not row[index] or row[index][0].isdigit() for row in cells)
    }
    widths = {index: max(width(row[index]) for row in [list(headers), *cells]) for index in shown}
    return [
        indent
        + "  ".join(
            _padded(row[index], widths[index], right=index in right) for index in shown
        ).rstrip()
        for row in [list(headers), *cells]
    ]


def width(text: str) -> int:
    """Return how many columns a terminal gives to `text`.

    >>> width("⏳ ab"), width("\\x1b[31mab\\x1b[0m")
    (5, 2)
    """
    plain, inside = 0, False
    for character in text:
        if inside or character == "\x1b":
            inside = character != "m"
            continue
        plain += 2 if unicodedata.east_asian_width(character) in "WF" else 1
    return plain


def printable(text: str) -> str:
    """Return `text` without what could steer a terminal.

    >>> printable("a\\x1b[2Jb")
    'a�[2Jb'
    """
    return "".join(character if character.isprintable() else "�" for character in text)


def shortened(text: str, limit: int) -> str:
    """Return `text` on one line of at most `limit` characters."""
    line = " ".join(text.split())
    return printable(line if len(line) <= limit else line[: limit - 1] + "…")


def duration(milliseconds: int) -> str:
    """Return a length of time in the largest unit that fits.

    >>> duration(900), duration(61_000), duration(7_200_000), duration(180_000_000)
    ('0 s', '1 min', '2 h', '2 days')
    """
    for unit, length in UNITS:
        if milliseconds >= length or unit == "s":
            n = max(0, milliseconds) // length
            return f"{n} {unit}{'s' if unit == 'day' and n != 1 else ''}"
    raise AssertionError("unreachable")


def lasted(milliseconds: int) -> str:
    """Return how long something took, in two units at most.

    >>> lasted(4_940), lasted(192_000), lasted(3_720_000)
    ('4.9 s', '3 min 12 s', '1 h 2 min')
    """
    seconds = max(0, milliseconds) // 1000
    if seconds < 60:
        return f"{milliseconds / 1000:.1f} s"
    if seconds < 3600:
        return f"{seconds // 60} min {seconds % 60} s"
    return f"{seconds // 3600} h {seconds % 3600 // 60} min"


def now() -> datetime:
    return datetime.now(UTC)


def between(start: datetime, end: datetime) -> int:
    """Return the milliseconds between two moments."""
    return round((end - start).total_seconds() * 1000)


def clock(moment: datetime) -> str:
    """Return a moment as people read it, in UTC.

    >>> clock(datetime(2026, 1, 1, 12, tzinfo=UTC))
    '2026-01-01 12:00:00.000'
    """
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(" ", "milliseconds")


def plural(n: int, word: str) -> str:
    """Return a number with its noun.

    >>> plural(1, "task"), plural(1200, "task")
    ('1 task', '1,200 tasks')
    """
    return f"{n:,} {word}{'' if n == 1 else 's'}"


def _cell(value: object) -> str:
    return "" if value is None else f"{value:,}" if isinstance(value, int) else str(value)


def _padded(text: str, columns: int, *, right: bool) -> str:
    blank = " " * (columns - width(text))
    return blank + text if right else text + blank
