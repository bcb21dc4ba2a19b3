"""Workers: who is there, what they do; drain, disable and resume them. Only for admins."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from rushes.api import models, tokens, views
from rushes.api.models import Page
from rushes.domain.graph import MAX_NAME
from rushes.domain.person import HERE, Origin, Principal, Scope
from rushes.domain.worker import Worker
from rushes.engine import operator
from rushes.engine.engine import Engine, millis
from rushes.errors import Invalid
from rushes.library import audit, fleet
from rushes.library.library import Library
from rushes.store import workers
from rushes.store.database import Row, Transaction


@dataclass(frozen=True, slots=True)
class Workers:
    library: Library
    who: Principal
    origin: Origin = HERE

    def list(self) -> Page[models.Worker]:
        """Return every worker, by name."""
        self.who.need(Scope.ADMIN)

        def work(tx: Transaction) -> Page[models.Worker]:
            (found, now), held = workers.list_all(tx), workers.held(tx)
            return Page(items=[self._view(worker, now, held) for worker in found])

        return self.library.db.read(work)

    def show(self, text: str) -> models.Worker:
        """Return the worker of this name, or of an id that begins like this."""
        self.who.need(Scope.ADMIN)
        return self.library.db.read(
            lambda tx: self._view(workers.find(tx, text), workers.now(tx), workers.held(tx))
        )

    def drain(self, text: str) -> models.Worker:
        """Let a worker finish or hand back what it holds, and take nothing new."""
        return self._change(text, operator.drain, "worker.drain")

    def disable(self, text: str) -> models.Worker:
        """Keep a worker from working until it is resumed, also when it starts again."""
        return self._change(text, operator.disable, "worker.disable")

    def resume(self, text: str) -> models.Worker:
        """Let a drained or disabled worker work again."""
        return self._change(text, operator.resume_worker, "worker.resume")

    def invite(self, *, kinds: Sequence[str] = (), expires_in: int = 900) -> tokens.JoinToken:
        """Make a token with which one machine may join as a worker."""
        self._check_kinds(kinds)
        life = timedelta(seconds=expires_in)
        token = fleet.invite(self.library.db, self.who, kinds=kinds, life=life, origin=self.origin)
        return tokens.JoinToken(
            token=token, expires_in=expires_in, kinds=sorted(set(kinds)) or None
        )

    def keys(self, text: str) -> Page[tokens.WorkerKey]:
        """Return the keys of a worker that are good."""
        name = self.show(text).name
        found = fleet.list_keys(self.library.db, self.who, name)
        return Page(items=[_key(one) for one in found])

    def add_key(self, text: str, *, kinds: Sequence[str] = ()) -> tokens.NewWorkerKey:
        """Give a worker another key; the others stay good until they are revoked."""
        name = self.show(text).name
        self._check_kinds(kinds)
        made = fleet.add_key(self.library.db, self.who, name, kinds=kinds, origin=self.origin)
        return tokens.NewWorkerKey(
            worker_id=made.worker_id, worker=made.name, kinds=_words(made.kinds), api_key=made.text
        )

    def revoke_key(self, text: str, key_id: str | None = None) -> tokens.Revoked:
        """End one key of a worker, or all of them, at once."""
        name = self.show(text).name
        gone = fleet.revoke_key(self.library.db, self.who, name, key_id, origin=self.origin)
        return tokens.Revoked(key_ids=gone)

    def _check_kinds(self, kinds: Sequence[str]) -> None:
        """Refuse a kind that no job has: a worker for it would wait for ever."""
        self.who.need(Scope.ADMIN)
        known = self.library.engine.kinds
        for kind in kinds:
            if kind not in known:
                words = ", ".join(sorted(known))
                raise Invalid(f"{kind[:MAX_NAME]!r} is not a kind of task", hint=f"known: {words}")

    def _change(
        self, text: str, act: Callable[[Engine, str, operator.Note], None], action: str
    ) -> models.Worker:
        worker_id = self.show(text).worker_id
        act(self.library.engine, worker_id, audit.noting(self.who, action, self.origin))
        return self.show(worker_id)

    def _view(self, found: Worker, now: int, held: Mapping[str, Sequence[Row]]) -> models.Worker:
        offline_after = millis(self.library.engine.limits.offline_after)
        holds = held.get(found.owner, ())
        return views.worker(found, now=now, offline_after=offline_after, holds=holds)


def _key(found: fleet.WorkerKey) -> tokens.WorkerKey:
    same = ("worker", "created_at", "expires_at", "used_at")
    values = {name: getattr(found, name) for name in same}
    return tokens.WorkerKey(**values, key_id=found.id, kinds=_words(found.kinds))


def _words(kinds: frozenset[str] | None) -> list[str] | None:
    return sorted(kinds) if kinds else None
