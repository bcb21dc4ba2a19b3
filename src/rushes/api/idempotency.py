"""`Idempotency-Key`: a request that is sent again is answered as the first time, for 24 hours.

A key belongs to whoever sends it, and to one method and path. With another body it is refused, and
while the first request is at work, too. What failed is not kept: it may be tried again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Annotated, TypeVar, cast

from fastapi import Depends, Request, Response
from fastapi.routing import APIRoute
from pydantic import BaseModel

from rushes.api.context import Who, context_of
from rushes.engine.engine import millis
from rushes.errors import Conflict, Invalid, KeyReused
from rushes.store.database import Database, Row, Transaction

HEADER = "idempotency-key"
REPLAYED = "Idempotency-Replayed"
LONGEST = 255
ABANDONED = timedelta(minutes=1)
KEPT = timedelta(hours=24)

T = TypeVar("T", bound=BaseModel)


class InProgress(Conflict):
    code = "IDEMPOTENCY_IN_PROGRESS"


@dataclass(frozen=True, slots=True)
class Runner:
    """Does the work of one request, unless it was done before. No key: always.

    Its route turns what was made into an answer, the first time and again: so the status and the
    place to look are those of the first time.
    """

    db: Database
    place: dict[str, str]
    fingerprint: str
    route: APIRoute
    response: Response

    def __call__(self, work: Callable[[], T], *, secret: frozenset[str] = frozenset()) -> T:
        """Return what the work makes. Fields that are `secret` are not kept, and null next time."""
        if not self.place["key"]:
            return work()
        known = self.db.transact(self._begin)
        if known is not None:
            return cast("T", self._again(known))
        try:
            done = work()
        except BaseException:
            self.db.transact(lambda tx: tx.run("drop_reply", **self.place))
            raise
        body = done.model_copy(update=dict.fromkeys(secret)).model_dump_json()
        status = self.route.status_code or 200
        self.db.transact(lambda tx: tx.run("end_reply", **self.place, status=status, body=body))
        return done

    def about(self, text: str) -> Runner:
        """Tell requests apart by this, and not by a body with a password in it."""
        return replace(self, fingerprint=_digest(text.encode()))

    def _begin(self, tx: Transaction) -> Row | None:
        """Take the key; return what is known of it if somebody has it."""
        tx.run("drop_old_replies", keep_ms=millis(KEPT))
        asked = {**self.place, "fingerprint": self.fingerprint}
        if tx.rows("begin_reply", **asked, abandoned_ms=millis(ABANDONED)):
            return None
        [known] = tx.rows("reply", **self.place)
        return known

    def _again(self, known: Row) -> BaseModel:
        if known["fingerprint"] != self.fingerprint:
            raise KeyReused("this idempotency key was used for another request")
        if known["status"] is None:
            raise InProgress("the first request with this key is still at work", retry_after=2)
        self.response.headers[REPLAYED] = "true"
        made: type[BaseModel] = self.route.response_model
        return made.model_validate_json(known["body"])


async def once_of(request: Request, response: Response, who: Who) -> Runner:
    """Read the key and what it stands for."""
    key = request.headers.get(HEADER, "").strip().strip('"')
    if len(key) > LONGEST or not (key.isascii() and key.isprintable()):
        raise Invalid(f"an idempotency key is plain text of at most {LONGEST} characters")
    place = {
        "principal": f"{who.owner}/{who.name}",
        "method": request.method,
        "path": request.url.path,
        "key": key,
    }
    body = await request.body() if key else b""
    db, route = context_of(request).library.db, request.scope["route"]
    return Runner(db, place, _digest(body), route, response)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


Once = Annotated[Runner, Depends(once_of)]
