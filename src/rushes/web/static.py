"""The files of the page, read once: each with its type and, where it helps, packed.

All their URLs carry one tag that is made of all their contents, so a browser may keep them for
ever, and a new release never mixes with what an old one left there. As modules name each other
relatively, the tag stands in one place only: in the shell.
"""

from __future__ import annotations

import gzip
import hashlib
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).parent / "static"
ENTRY = "main.js"
SHELL = "shell.html"
TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".webp": "image/webp",
    ".woff2": "font/woff2",
}
PACKED = frozenset({".css", ".js", ".mjs", ".svg"})
IMPORT = re.compile(r"""^(?:import|export)\b[^"'();]*["'](\.[^"']+)["']""", re.MULTILINE)


class File(NamedTuple):
    body: bytes
    packed: bytes | None
    type: str


class Files(NamedTuple):
    """What is in the folder; `tag` changes with any of it."""

    tag: str
    by_name: dict[str, File]


@cache
def files() -> Files:
    """Read the folder. The packing is done once and takes some tens of milliseconds."""
    found = {path.relative_to(FOLDER).as_posix(): path for path in sorted(FOLDER.rglob("*.*"))}
    digest = hashlib.sha256()
    by_name = {}
    for name, path in found.items():
        body = path.read_bytes()
        digest.update(name.encode() + b"\0" + hashlib.sha256(body).digest())
        packed = gzip.compress(body, mtime=0) if path.suffix in PACKED else None
        by_name[name] = File(body, packed, TYPES[path.suffix])
    return Files(digest.hexdigest()[:12], by_name)


def needed(name: str = ENTRY) -> list[str]:
    """Return a module and all that it imports at once: a browser is told of them beforehand."""
    return list(dict.fromkeys(_imports(name, set())))


def _imports(name: str, seen: set[str]) -> Iterator[str]:
    if name in seen:
        return
    seen.add(name)
    yield name
    for other in IMPORT.findall(files().by_name[name].body.decode()):
        yield from _imports(_beside(name, other), seen)


def _beside(name: str, other: str) -> str:
    """Return the name that a module means by a relative one.

    >>> _beside("parts/icon.js", "../root.js")
    'root.js'
    """
    return (FOLDER / name).parent.joinpath(other).resolve().relative_to(FOLDER.resolve()).as_posix()
