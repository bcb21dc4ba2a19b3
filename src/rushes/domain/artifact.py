"""Files and their names. A name says what a file is; a key says where it lies.

Names follow from asset, version and part alone, so that a task that runs again makes the same
ones. Keys hold the task and its epoch: a stale worker writes where nobody looks. A file is
there when a row maps its name to a key, and not before.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_PART = r"[A-Za-z0-9_-][A-Za-z0-9._-]*"
_KEY = re.compile(rf"{_PART}(/{_PART})+")
SOURCES = ("objects/", "originals/")
ASIDE = ("frames", "text")
"""What a version is made with but does not play: kept apart from what it is made of."""


class Artifact(NamedTuple):
    """A file that an attempt made. A stage names the part (`720p/00003.m4s`); see `name_of`.

    A tuple, because a result may list thousands of them.
    """

    name: str
    key: str
    bytes: int
    sha256: str


def is_key(text: str) -> bool:
    """Whether `text` is a relative path of plain names: no `..`, nothing hidden, nothing odd.

    >>> is_key("objects/a/7-1/720p/00001.m4s"), is_key("objects/../x"), is_key("/etc/passwd")
    (True, False, False)
    """
    return len(text) <= 500 and _KEY.fullmatch(text) is not None


def is_source(key: str) -> bool:
    """Whether a task may read a file: what came in and what tasks made, not what is laid out.

    >>> is_source("objects/a/7-1/poster.jpg"), is_source("assets/a/v1/poster.jpg")
    (True, False)
    """
    return is_key(key) and key.startswith(SOURCES)


def source_key(asset_id: str, extension: str) -> str:
    """Where the original lies. It is never changed, and never deleted by itself."""
    return f"originals/{asset_id}/source{extension}"


def attempt_folder(asset_id: str, task_id: int, epoch: int) -> str:
    """Where one attempt of a task writes its files."""
    return f"objects/{asset_id}/{task_id}-{epoch}"


def clip_name(asset_id: str, clip_id: str) -> str:
    """Return the name of a clip. It is of no version: it stays when the film is made anew."""
    return f"clips/{asset_id}/{clip_id}.mp4"


def name_of(asset_id: str, version: int, part: str) -> str:
    """Return the name of a part of a version, as in playlists and on the wire.

    >>> name_of("a", 1, "720p/00003.m4s"), name_of("a", 1, "frames/000012300.jpg")
    ('assets/a/v1/720p/00003.m4s', 'frames/a/v1/000012300.jpg')
    """
    top, _, rest = part.partition("/")
    if top in ASIDE:
        return f"{top}/{asset_id}/v{version}/{rest}"
    return f"assets/{asset_id}/v{version}/{part}"
