"""The claims of one worker, from the moment they are given until their outcome is accepted.

A task that is finished but not yet reported is still held: its lease is renewed until the
engine has heard of it.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable

from rushes.stages.context import Stop, TaskContext


class Held:
    def __init__(self) -> None:
        self._contexts: dict[int, TaskContext] = {}
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._contexts)

    def add(self, contexts: Iterable[TaskContext]) -> None:
        with self._lock:
            self._contexts.update((context.claim.id, context) for context in contexts)

    def drop(self, ids: Iterable[int]) -> None:
        with self._lock:
            for id in ids:
                self._contexts.pop(id, None)

    def get(self, id: int) -> TaskContext | None:
        return self._contexts.get(id)

    def all(self) -> list[TaskContext]:
        with self._lock:
            return list(self._contexts.values())

    def stop_all(self, why: Stop) -> None:
        for context in self.all():
            context.stop(why)
