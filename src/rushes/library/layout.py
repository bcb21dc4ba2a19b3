"""Lays published films out as plain files, so that a folder plays without a server.

    assets/{asset}/master.m3u8            the version to watch
    assets/{asset}/v{n}/master.m3u8       one version, and its files beside it

Files are hard links to where they lie; playlists are replaced by rename, and only after every
file that they name is there: whoever polls them never sees a hole. A counter in the database says
what is still to be laid out, so a process that dies on the way is made up for by the next one.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path

from rushes.domain.artifact import name_of
from rushes.errors import NotFound
from rushes.library import playback
from rushes.library.library import Library
from rushes.media.rendition import MASTER
from rushes.storage.local import bring
from rushes.store import assets
from rushes.store.database import Transaction

log = logging.getLogger(__name__)

BATCH = 100
LOCK = "layout"
"""A process that was held up must not put an older playlist in the place of a newer one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """A version as it is to be seen in the folder."""

    asset_id: str
    version: int
    links: dict[str, str]
    playlists: dict[str, str]
    is_current: bool
    is_closed: bool


def run_once(library: Library) -> int:
    """Lay out what has changed. Returns how many versions."""
    with library.storage.locked(LOCK) as is_ours:
        if not is_ours:
            return 0
        changed = library.db.read(lambda tx: tx.rows("versions_to_lay_out", n=BATCH))
        return sum(_update(library, row["asset_id"], row["n"], row["changes"]) for row in changed)


def _update(library: Library, asset_id: str, version: int, changes: int) -> bool:
    """Lay one version out. One that cannot be must not keep the others waiting."""
    try:
        _lay_out(library, library.db.read(partial(_order, asset_id=asset_id, version=version)))
    except (OSError, NotFound, ValueError) as error:
        _complain(asset_id, version, str(error))
        return False
    library.db.transact(
        lambda tx: tx.run("laid_out", asset_id=asset_id, n=version, changes=changes)
    )
    return True


@lru_cache(maxsize=1_000)
def _complain(asset_id: str, version: int, why: str) -> None:
    """Say it once: the next pass, which meets it again, is half a second away."""
    log.warning("version %s of %s cannot be laid out: %s", version, asset_id, why)


def _order(tx: Transaction, asset_id: str, version: int) -> Order:
    seen = playback.view(tx, asset_id, version)
    files = tx.rows("artifacts", asset_id=asset_id, version=version)
    prefix = name_of(asset_id, version, "")
    return Order(
        asset_id=asset_id,
        version=version,
        links={row["name"]: row["key"] for row in files if row["name"].startswith(prefix)},
        playlists=playback.playlists(seen) if seen else {},
        is_current=assets.get(tx, asset_id).watchable == version,
        is_closed=seen is not None and seen.closed,
    )


def _lay_out(library: Library, order: Order) -> None:
    storage = library.storage
    links = {storage.path(name): storage.path(key) for name, key in order.links.items()}
    for target, source in links.items():
        if not target.exists():
            bring(source, target)
    folder = storage.root / name_of(order.asset_id, order.version, "")
    playlists = {folder / name: text for name, text in order.playlists.items()}
    if order.is_current and MASTER in order.playlists:
        master = from_above(order.playlists[MASTER], order.version)
        playlists[folder.parent / MASTER] = master
    for target, text in playlists.items():
        _replace(target, text)
    if order.is_closed:  # a version that still grows is laid out again after a power cut
        storage.seal(list(playlists))
        storage.sync_way_to(*links)


def from_above(master: str, version: int) -> str:
    """Return the master playlist as it reads one folder further up."""
    lines = master.replace('URI="', f'URI="v{version}/').splitlines()
    return (
        "\n".join(f"v{version}/{line}" if line[:1] not in ("", "#") else line for line in lines)
        + "\n"
    )


def _replace(target: Path, text: str) -> None:
    """Write a playlist so that a reader sees the old one or the new one, never half of it."""
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(target.name + ".part")
    part.write_text(text, "utf-8")
    part.replace(target)
