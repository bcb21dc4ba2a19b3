"""The worker that sends a request: it speaks for itself alone."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from fastapi import Depends, Request

from rushes.api.context import Context, context_of, guarded, origin_of
from rushes.domain.person import Origin
from rushes.errors import Forbidden, Unauthenticated
from rushes.library import fleet
from rushes.library.deliveries import Held
from rushes.library.fleet import Hand
from rushes.library.library import Library
from rushes.worker.protocol import About

HINT = "rushes worker join registers this machine"


class Caller(NamedTuple):
    here: Context
    hand: Hand
    origin: Origin

    @property
    def library(self) -> Library:
        return self.here.library

    def owner(self, given: str) -> str:
        """Return the owner that it speaks for. Raises Forbidden if that is another worker."""
        if given.partition("#")[0] != self.hand.name:
            fleet.note_foreign(self.library.db, self.hand, given, origin=self.origin)
            raise Forbidden("this key is another worker's")
        return given

    def held(self, body: About) -> Held:
        return Held(owner=self.owner(body.owner), task_id=body.task_id, epoch=body.lease_epoch)


def caller_of(request: Request) -> Caller:
    """Return who sends a request. Raises Unauthenticated for anybody but a worker."""
    here = context_of(request)
    scheme, _, text = request.headers.get("authorization", "").partition(" ")

    def check() -> Hand:
        found = fleet.check_hand(here.library.db, text.strip())
        if scheme.lower() != "bearer" or found is None:
            raise Unauthenticated("the key of the worker is not valid", hint=HINT)
        return found

    return Caller(here, guarded(request, check), origin_of(request))


AtWork = Annotated[Caller, Depends(caller_of)]
