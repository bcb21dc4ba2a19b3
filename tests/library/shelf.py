"""Looks at films that are laid out as files, as a player would."""

from __future__ import annotations

import re
from pathlib import Path

from rushes.library import playback
from rushes.library.library import Library
from rushes.media.check import check_set

URI = re.compile(r'URI="([^"]*)"|^([^#\s].*)$', re.MULTILINE)


def folder(library: Library, film: str) -> Path:
    return library.storage.root / "assets" / film


def named(playlist: Path) -> set[str]:
    """What a playlist names."""
    return {quoted or line for quoted, line in URI.findall(playlist.read_text())}


def holes(top: Path) -> list[str]:
    """What the playlists of a folder name that is not there."""
    return [
        f"{playlist}: {name}"
        for playlist in top.rglob("*.m3u8")
        for name in named(playlist)
        if not (playlist.parent / name).is_file()
    ]


def check_film(library: Library, film: str, version: int) -> None:
    """Raise unless a version that is complete is laid out whole."""
    seen = library.db.read(lambda tx: playback.view(tx, film, version))
    assert seen is not None
    assert seen.closed
    top = folder(library, film) / f"v{version}"
    files = [path for path in top.rglob("*") if path.is_file()]
    sizes = {path.relative_to(top).as_posix(): path.stat().st_size for path in files}
    texts = {name: (top / name).read_text() for name in sizes if name.endswith(".m3u8")}
    assert texts.keys() == playback.playlists(seen).keys()
    check_set(seen.grid, seen.renditions, sizes, texts)
    assert holes(folder(library, film)) == []
