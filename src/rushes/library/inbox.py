"""Films that lie on this machine: imported by their path, or dropped into a folder.

Both come through the door of all others (`upload.py`) and leave the file where it is. What became
of a file in a watched folder is remembered with its size and time, also across restarts: it is
read once, and a film that was deleted does not come back.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import NamedTuple

from rushes.domain.failure import clean
from rushes.domain.person import LOCAL, Principal, Scope
from rushes.errors import DuplicateOf, Invalid, NotFound, Permanent, RushesError
from rushes.library import upload
from rushes.library.folder import CODES, entries, refusal
from rushes.library.incoming import Wish
from rushes.library.library import Library
from rushes.library.upload import Added
from rushes.store import uploads
from rushes.store.uploads import Look

log = logging.getLogger(__name__)

ANY = Wish()
PASSING = frozenset(CODES.values())
"""What may be otherwise a minute later."""


class Pace(NamedTuple):
    """A file must be unchanged for `settle` seconds; `floor` is how often all is looked at."""

    settle: float = 2.0
    floor: float = 60.0
    clock: Callable[[], float] = time.monotonic


PACE = Pace()


def allowed(path: Path, roots: Sequence[Path], *, is_admin: bool = False) -> Path:
    """Return where a file really is, if it is inside one of the roots.

    Whether one that is not exists is told to admins alone.
    """
    shown = clean(str(path), 500)
    try:
        real = path.resolve(strict=True)
        is_regular = real.is_file()
    except (OSError, RuntimeError, ValueError) as error:  # also: a link to itself, a NUL
        raise NotFound(f"there is no file {shown} to import") from error
    if not path.is_absolute() or not any(real.is_relative_to(root.resolve()) for root in roots):
        if is_admin:
            known = ", ".join(map(str, roots)) or "none is set"
            raise Invalid(f"{shown} is outside the folders to import from", hint=f"these: {known}")
        raise NotFound(f"there is no file {shown} to import")
    if not is_regular:
        raise Invalid(f"{shown} is not a regular file")
    return real


def import_path(
    library: Library,
    principal: Principal,
    path: Path,
    wish: Wish,
    roots: Sequence[Path],
    *,
    now: int | None = None,
) -> Added:
    """Bring in a film that lies inside one of the roots; `size` of the wish does not matter."""
    real = allowed(path, roots, is_admin=principal.may(Scope.ADMIN))
    if real.is_relative_to(library.storage.root.resolve()):  # films of other people
        raise NotFound(f"there is no file {clean(str(path), 500)} to import")
    wish = replace(wish, filename=wish.filename or path.name).tidy()
    try:
        return upload.add(library, wish.upload(real, principal.owner), now=now)
    except OSError as error:
        raise refusal(error) from error


def watch(
    library: Library,
    folder: Path,
    *,
    stop: Event,
    principal: Principal = LOCAL,
    wish: Wish = ANY,
    pace: Pace = PACE,
) -> None:
    """Add the films that are dropped into a folder, or into one below, until `stop` is set.

    Event driven; it also looks at the start and now and then, for disks without events.
    """
    watcher = Watcher(library, folder, principal=principal, wish=wish, pace=pace, stop=stop)
    watcher.look(pace.clock())
    due = -math.inf  # at once again: something may have come before the events did
    for is_changed in _wakes(watcher.folder, stop, pace.settle):
        now = pace.clock()
        if is_changed or now >= min(due, watcher.due):
            watcher.look(now)
            due = now + pace.floor


def watchable(library: Library, folder: Path) -> Path:
    """Return where a folder really is. Raises Invalid for one that cannot be watched."""
    if not folder.is_dir():
        raise Invalid(f"{folder} is not a folder", hint="make it, or name another one to watch")
    real, data = folder.resolve(), library.storage.root.resolve()
    if real.is_relative_to(data) or data.is_relative_to(real):
        raise Invalid(f"{folder} and the data folder lie in each other", hint="watch another one")
    return real


class Waiting(NamedTuple):
    """A file as it was seen, and when it may be taken if it still is like that."""

    look: Look
    due: float


class Watcher:
    """What is known of a folder between two looks."""

    def __init__(
        self,
        library: Library,
        folder: Path,
        *,
        principal: Principal = LOCAL,
        wish: Wish = ANY,
        pace: Pace = PACE,
        stop: Event | None = None,
    ) -> None:
        self.folder = watchable(library, folder)
        self._library, self._owner, self._wish = library, principal.owner, wish
        self._pace, self._stop = pace, stop or Event()
        self._waiting: dict[Path, Waiting] = {}
        self._done: dict[Path, Look] = {}

    @property
    def due(self) -> float:
        """When the next file may be taken."""
        return min((one.due for one in self._waiting.values()), default=math.inf)

    def look(self, now: float) -> list[Added]:
        """Look at everything once, and take what has stopped growing."""
        films = dict(self._films())
        self._done = {path: seen for path, seen in self._done.items() if films.get(path) == seen}
        before, self._waiting = self._waiting, {}
        added = []
        for path, seen in films.items():
            known = before.get(path)
            if path in self._done or self._stop.is_set():
                continue
            if known is None or known.look != seen:
                self._waiting[path] = Waiting(seen, now + self._pace.settle)
            elif now < known.due:
                self._waiting[path] = known
            else:
                added += self._take(path, known.look, now)
        return added

    def _films(self) -> Iterator[tuple[Path, Look]]:
        try:
            for path, objection in entries(self.folder, self.folder, recursive=True):
                if objection is not None:
                    log.debug("%r is left out: %s", str(path), objection)
                    continue
                with suppress(FileNotFoundError):
                    status = path.stat()
                    yield path, Look(status.st_size, status.st_mtime_ns)
        except OSError as error:
            log.warning("%r cannot be looked at: %s", str(self.folder), error.strerror)

    def _take(self, path: Path, look: Look, now: float) -> list[Added]:
        """Deal with a file for good, or put it off. No error of one is in the way of the others."""
        try:
            return self._deal_with(path, look)
        except (RushesError, OSError) as error:
            log.warning("%r cannot be taken now: %s", str(path), error)
            self._waiting[path] = Waiting(look, now + self._pace.floor)
            return []

    def _deal_with(self, path: Path, look: Look) -> list[Added]:
        db, added = self._library.db, []
        asset_id = error_code = None
        if not db.read(lambda tx: uploads.is_done(tx, self._owner, path, look)):
            try:
                added = [upload.add(self._library, self._wish.upload(path, self._owner))]
                asset_id = added[0].asset_id
                log.info("%r was added as %s", str(path), asset_id)
            except DuplicateOf as error:
                asset_id = str(error.detail["asset_id"])
                log.info("%r is in the library as %s", str(path), asset_id)
            except (Invalid, Permanent) as error:
                error_code = getattr(error, "error_code", error.code)
                if error_code in PASSING:
                    raise
                log.warning("%r is refused: %s", str(path), error)
            ids = {"asset_id": asset_id, "error_code": error_code}
            db.transact(lambda tx: uploads.note(tx, self._owner, path, look, **ids))
        self._done[path] = look
        return added


def _wakes(folder: Path, stop: Event, timeout: float) -> Iterator[bool]:
    """Return whenever something has changed, and else after every `timeout` seconds."""
    import watchfiles

    try:
        for changes in watchfiles.watch(
            folder,
            watch_filter=None,
            stop_event=stop,
            rust_timeout=int(timeout * 1000),
            yield_on_timeout=True,
            raise_interrupt=False,
            ignore_permission_denied=True,
        ):
            yield bool(changes)
    except (OSError, RuntimeError) as error:  # RuntimeError: what watchfiles makes of others
        log.warning("%r gives no events, so it is looked at now and then: %s", str(folder), error)
        while not stop.wait(timeout):
            yield False
