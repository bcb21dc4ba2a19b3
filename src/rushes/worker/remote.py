"""The session of a worker that has nothing but the address of a server and a key.

The same words as `local.py`, over HTTP. A claim is a long poll, so that work begins as soon as it
is there; another connection reports meanwhile. After an answer was lost the worker says which
claims it knows of, and the server takes the others back.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeVar

from rushes.domain.outcome import Beat, Exchange, Outcome
from rushes.domain.room import Room
from rushes.domain.task import Claim
from rushes.domain.worker import Usage
from rushes.errors import Conflict, Forbidden, LeaseLost, Unauthenticated
from rushes.stages.files import Files
from rushes.stages.process import Execution
from rushes.wire.http import Http
from rushes.worker.cache import Cache
from rushes.worker.far_files import FarFiles
from rushes.worker.patience import Patience
from rushes.worker.protocol import (
    MOST,
    MOST_LINES,
    About,
    Alive,
    Answer,
    Ask,
    Ended,
    Leave,
    Line,
    Orders,
    Record,
    Results,
    Run,
    Sign,
)
from rushes.worker.session import Pulse

T = TypeVar("T")

PATIENCE = Patience(600.0)
WAIT_S = 20.0
SHORTEST_S = 0.5
"""A long poll that ends sooner without work is not followed at once."""
LOOK_S = 0.2


class Dismissed(Conflict):
    """The server does not know this worker any more."""


@dataclass(slots=True)
class _State:
    held: list[int] | None = None  # to be told after an answer was lost
    interruptions: int = 0
    has_room: bool = True  # as the server knows it


@dataclass(frozen=True, slots=True)
class RemoteSession:
    http: Http
    owner: str
    cache: Cache
    reserve_bytes: int = 0
    patience: Patience = PATIENCE
    _state: _State = field(default_factory=_State)
    waits: ClassVar[bool] = True

    def exchange(self, outcomes: Sequence[Outcome], want: Mapping[str, int]) -> Exchange:
        is_poll = bool(want) and not outcomes and self._state.held is None
        ask = Ask(
            owner=self.owner,
            want=dict(want),
            outcomes=[Ended.of(outcome) for outcome in outcomes],
            held=self._state.held,
            wait=WAIT_S if is_poll else 0,
        )
        answer = self._poll(ask) if is_poll else self._asked(ask)
        self._state.held = None
        return Exchange(
            refused=frozenset(answer.refused),
            claims=[task.value(self.owner) for task in answer.tasks],
        )

    def beat(self, beats: Sequence[Beat], usage: Usage | None = None) -> Pulse:
        room = Room(self.cache.free_bytes(), self.reserve_bytes)
        is_news = not room.is_enough or room.is_enough is not self._state.has_room
        told = Alive(
            owner=self.owner,
            tasks=[Sign.of(beat) for beat in beats],
            **(room._asdict() if is_news else {}),
            **(usage._asdict() if usage else {}),
        )
        orders = _known(lambda: self.http.ask("/worker/heartbeat", told, Orders))
        self._state.has_room = room.is_enough
        return Pulse(mode=orders.mode, gone=orders.gone)

    def results(self, claim: Claim) -> list[dict[str, Any]]:
        found = self.patience(lambda: self.http.ask("/worker/results", _about(claim), Results))
        return [one.model_dump() for one in found.items]

    def files(self, claim: Claim) -> Files:
        return FarFiles(self.http, claim, self.cache, patience=self.patience)

    def record(
        self, claim: Claim, executions: Iterable[Execution], logs: list[dict[str, object]]
    ) -> None:
        body = Record(
            **_about(claim).model_dump(),
            executions=[Run.of(one) for one in executions][-MOST:],
            logs=[Line.of(line) for line in logs[-MOST_LINES:]],
        )
        try:
            _known(lambda: self.http.tell("/worker/record", body))
        except LeaseLost:  # nobody wants to know any more
            return

    def hand_back_strays(self, held: Iterable[int]) -> None:
        self._state.held = list(held)

    def interrupt(self) -> None:
        self._state.interruptions += 1

    def leave(self) -> None:
        _known(lambda: self.http.tell("/worker/leave", Leave(owner=self.owner)))

    def _asked(self, ask: Ask) -> Answer:
        return _known(lambda: self.http.ask("/worker/claim", ask, Answer, wait_s=ask.wait))

    def _poll(self, ask: Ask) -> Answer:
        """Wait for work until it is not wanted any more: what comes later is taken back."""
        began, answer = time.monotonic(), Future[Answer]()
        interruptions = self._state.interruptions
        threading.Thread(
            target=_fulfil, args=(answer, lambda: self._asked(ask)), daemon=True
        ).start()
        while True:
            try:
                found = answer.result(LOOK_S)
            except TimeoutError:
                if self._state.interruptions > interruptions:
                    return Answer()
                continue
            if not found.tasks:
                time.sleep(max(0.0, SHORTEST_S - (time.monotonic() - began)))
            return found


def _fulfil(answer: Future[T], call: Callable[[], T]) -> None:
    try:
        answer.set_result(call())
    except BaseException as error:  # noqa: BLE001  (raised where it is waited for)
        answer.set_exception(error)


def _known(call: Callable[[], T]) -> T:
    """Return an answer; a worker whose key is not good any more has to stop."""
    try:
        return call()
    except (Unauthenticated, Forbidden) as error:
        raise Dismissed(error.message) from error


def _about(claim: Claim) -> About:
    return About(owner=claim.owner, task_id=claim.id, lease_epoch=claim.epoch)
