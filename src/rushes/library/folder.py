"""What is in a folder: which entries may be films, and why the others are not.

In a folder a film must be called like one. Nothing but a regular file is ever opened: a pipe would
wait for ever. A link is followed only where it stays inside.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from rushes.errors import Permanent
from rushes.media import magic

EXTENSIONS = frozenset(
    (
        *("3g2", "3gp", "asf", "avi", "divx", "f4v", "flv", "m2t", "m2ts", "m4v", "mkv", "mov"),
        *("mp4", "mpe", "mpeg", "mpg", "mts", "mxf", "ogm", "ogv", "ts", "vob", "webm", "wmv"),
    )
)
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


def entries(folder: Path, root: Path, *, recursive: bool) -> Iterator[tuple[Path, str | None]]:
    """Yield what is in a folder, each with why it is left out; None for what may be a film."""
    with os.scandir(folder) as found:
        ordered = sorted(found, key=lambda entry: entry.name)
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


def refusal(error: OSError) -> Permanent:
    """Return what the system said about a file as an error of our own."""
    code = CODES.get(error.errno or 0, "STORAGE_DENIED")
    if code == "SOURCE_MISSING":
        return Permanent("there is no such file", error_code=code)
    return Permanent(f"it cannot be read: {error.strerror or error}", error_code=code)


def _below(folder: Path, root: Path) -> Iterator[tuple[Path, str | None]]:
    try:
        yield from entries(folder, root, recursive=True)
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
            return magic.text(file.read(magic.HEAD_BYTES))
    except OSError:
        return False  # adding it says what is wrong
