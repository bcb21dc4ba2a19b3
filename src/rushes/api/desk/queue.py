"""The kinds of tasks: how much waits of each; pause and resume them. Only for admins."""

from __future__ import annotations

from dataclasses import dataclass

from rushes.api import models
from rushes.api.models import Page
from rushes.domain.person import HERE, Origin, Principal, Scope
from rushes.engine import operator
from rushes.errors import NotFound
from rushes.library import audit
from rushes.library.library import Library
from rushes.store import queue
from rushes.store.database import Row, Transaction


@dataclass(frozen=True, slots=True)
class Queue:
    library: Library
    who: Principal
    origin: Origin = HERE

    def list(self) -> Page[models.Kind]:
        """Return every kind that this program knows, or that the database holds."""
        self.who.need(Scope.ADMIN)

        def work(tx: Transaction) -> Page[models.Kind]:
            depths = queue.depths(tx)
            pauses = {row["kind"]: row for row in tx.rows("pauses")}
            names = sorted({*self.library.engine.kinds, *depths, *pauses})
            return Page(
                items=[
                    self._view(name, depths.get(name, queue.EMPTY), pauses.get(name))
                    for name in names
                ]
            )

        return self.library.db.read(work)

    def pause(self, kind: str, *, reason: str | None = None) -> models.Kind:
        """Claim no more tasks of a kind; those that run go on."""
        self.who.need(Scope.ADMIN)
        note = audit.noting(self.who, "kind.pause", self.origin)
        operator.pause(self.library.engine, kind, by=self.who.name, reason=reason, note=note)
        return self._show(kind)

    def resume(self, kind: str) -> models.Kind:
        """Claim tasks of a kind again."""
        self.who.need(Scope.ADMIN)
        note = audit.noting(self.who, "kind.resume", self.origin)
        was_paused = operator.resume(self.library.engine, kind, by=self.who.name, note=note)
        if not was_paused and kind not in self.library.engine.kinds:
            raise NotFound(f"there is no kind {kind!r}", hint="rushes queue list shows them")
        return self._show(kind)

    def _show(self, kind: str) -> models.Kind:
        return next(found for found in self.list().items if found.kind == kind)

    def _view(self, name: str, depth: queue.Depth, pause: Row | None) -> models.Kind:
        known = self.library.engine.kinds.get(name)
        return models.Kind(
            kind=name,
            lane=known.lane if known else None,
            ready=depth.ready,
            running=depth.running,
            paused=pause is not None,
            paused_by=pause["paused_by"] if pause else None,
            paused_reason=pause["reason"] if pause else None,
            paused_at=pause["at"] if pause else None,
        )
