"""Finds the films among the files and folders that a person names, and says what it leaves out.

A file that is named is taken whatever it is called: its content decides. In a folder a film must
be called like one. Nothing but a regular file is ever opened: a pipe would wait for ever.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rushes.errors import Permanent, RushesError

EXTENSIONS = frozenset(
    (
        *("3g2", "3gp", "asf", "avi", "divx", "f4v", "flv", "m2t", "m2ts", "m4v", "mkv", "mov"),
        *("mp4", "mpe", "mpeg", "mpg", "mts", "mxf", "ogm", "ogv", "ts", "vob", "webm", "wmv"),
    )
)
HEAD_BYTES = 256
HIDDEN = "hidden"
BELOW = "in a folder below; --recursive takes it, too"
NAMED = "not called like a film"
KINDS = (
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISDIR, "a link to a folder"),
    (lambda mode: not stat.S_ISREG(mode), "a device"),
)
CODES = {
    errno.ENOENT: "SOURCE_MISSING",
    errno.ENOTDIR: "SOURCE_MISSING",
    errno.ENAMETOOLONG: "SOURCE_MISSING",
    errno.EACCES: "STORAGE_DENIED",
    errno.EPERM: "STORAGE_DENIED",
    errno.EROFS: "STORAGE_DENIED",
    errno.ENOSPC: "DISK_FULL",
    errno.EDQUOT: "DISK_FULL",
}


@dataclass(slots=True)
class Intake:
    """What was found: films to add, what was left out and why, what cannot be had at all."""

    films: list[Path] = field(default_factory=list)
    skipped: dict[str, list[Path]] = field(default_factory=dict)
    refused: list[tuple[Path, RushesError]] = field(default_factory=list)


def gather(paths: Sequence[Path], *, recursive: bool = False) -> Intake:
    """Look at what was named, in this order; what is wrong with one does not stop the others."""
    intake = Intake()
    for path in paths:
        try:
            if path.is_dir():
                _from_folder(intake, path, recursive=recursive)
            else:
                _from_name(intake, path)
        except OSError as error:
            intake.refused.append((path, refusal(error)))
    return intake


def refusal(error: OSError) -> Permanent:
    """Return what the system said about a file as an error of our own."""
    code = CODES.get(error.errno or 0, "STORAGE_DENIED")
    if code == "SOURCE_MISSING":
        return Permanent("there is no such file", error_code=code)
    return Permanent(f"it cannot be read: {error.strerror or error}", error_code=code)


def _from_name(intake: Intake, path: Path) -> None:
    if stat.S_ISREG(path.stat().st_mode) and _is_text(path):
        error = Permanent("this is text, not a film", error_code="SOURCE_UNSUPPORTED")
        intake.refused.append((path, error))
    else:
        intake.films.append(path)


def _from_folder(intake: Intake, root: Path, *, recursive: bool) -> None:
    found, left_out = len(intake.films), 0
    known: dict[tuple[int, int], Path] = {}
    for path, objection in _entries(root, root.resolve(), recursive=recursive):
        reason = objection or _known(path, known)
        if reason is None:
            intake.films.append(path)
        else:
            intake.skipped.setdefault(reason, []).append(path)
            left_out += 1
    if len(intake.films) == found:
        seen = f"; {left_out} entries were left out" if left_out else ""
        hint = None if recursive else "--recursive looks into the folders below, too"
        error = Permanent(
            f"no film is in this folder{seen}", error_code="SOURCE_MISSING", hint=hint
        )
        intake.refused.append((root, error))


def _known(path: Path, known: dict[tuple[int, int], Path]) -> str | None:
    """Say that a file was found before under another name, or that it has just gone."""
    try:
        status = path.stat()
    except OSError as error:
        return refusal(error).message
    first = known.setdefault((status.st_dev, status.st_ino), path)
    return None if first is path else f"the same file as {first.name}"


def _entries(folder: Path, root: Path, *, recursive: bool) -> Iterator[tuple[Path, str | None]]:
    """Yield what is in a folder, each with why it is left out; None for what may be a film."""
    with os.scandir(folder) as entries:
        ordered = sorted(entries, key=lambda entry: entry.name)
    for entry in ordered:
        path = folder / entry.name
        if entry.name.startswith("."):
            yield path, HIDDEN
        elif not entry.is_dir(follow_symlinks=False):
            yield path, _objection(path, root)
        elif not recursive:
            yield path, BELOW
        else:
            yield from _below(path, root)


def _below(folder: Path, root: Path) -> Iterator[tuple[Path, str | None]]:
    try:
        yield from _entries(folder, root, recursive=True)
    except OSError as error:
        yield folder, refusal(error).message


def _objection(path: Path, root: Path) -> str | None:
    try:
        target = path.resolve(strict=True)
        mode = target.stat().st_mode
    except (OSError, RuntimeError):  # RuntimeError: links that lead to each other
        return "a link that leads nowhere"
    if not target.is_relative_to(root):
        return "a link that leads out of the folder"
    for is_kind, reason in KINDS:
        if is_kind(mode):
            return reason
    if path.suffix[1:].lower() not in EXTENSIONS:
        return NAMED
    return "text, not a film" if _is_text(target) else None


def _is_text(path: Path) -> bool:
    """Whether a file begins with plain text: `.ts` is also what programs are called."""
    try:
        with path.open("rb") as file:
            head = file.read(HEAD_BYTES)
    except OSError:
        return False  # adding it says what is wrong
    return bool(head) and head.isascii() and all(byte > 31 or byte in b"\t\r\n" for byte in head)
