"""What every part of the library needs: the engine, the storage, and a few numbers."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta

from rushes.domain.room import GB
from rushes.engine.engine import Engine
from rushes.media.source import Caps
from rushes.storage.local import LocalStorage
from rushes.store.database import Database


@dataclass(frozen=True, slots=True, kw_only=True)
class Library:
    engine: Engine
    storage: LocalStorage
    caps: Caps = field(default_factory=Caps)
    reserve_bytes: int = GB
    keep_superseded: timedelta = timedelta(hours=1)
    keep_deleted: timedelta = timedelta(days=30)
    keep_abandoned: timedelta = timedelta(hours=24)
    keep_clips: timedelta = timedelta(days=30)
    longest_clip: timedelta = timedelta(minutes=30)

    @property
    def db(self) -> Database:
        return self.engine.db
