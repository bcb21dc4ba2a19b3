"""The worker: one loop that reports finished work and claims more, in one exchange.

Batching adapts by itself. Outcomes are sent when there are a hundred, when the oldest is
5 ms old, or at once when nothing else runs; the same exchange claims as many tasks as have
room. A hint or, at the latest, the poll starts a round when the worker was idle.

Where the engine serves several at once, so does the worker: while one exchange waits for the
database, and one for its disk, another reads its answer. After an answer was lost they go one
at a time, until the claims that it may have brought are handed back.
"""

from __future__ import annotations

import gc
import logging
import random
import threading
import time
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path

from rushes.domain.outcome import HandedBack, Outcome
from rushes.domain.task import Claim
from rushes.domain.worker import Mode
from rushes.errors import Conflict, RushesError
from rushes.stages.context import Stop, TaskContext
from rushes.stages.registry import Stage
from rushes.worker.heartbeat import Heartbeat
from rushes.worker.held import Held
from rushes.worker.lane import Lane
from rushes.worker.session import WorkerSession
from rushes.worker.timing import Timing

log = logging.getLogger(__name__)

FLUSH_COUNT = 100
FLUSH_AGE = 0.005
EXCHANGE_MOST = 1_000  # outcomes, so that a second exchange finds something to do meanwhile
GARBAGE = 20_000  # objects made before Python looks for cycles; a batch has thousands, and none
LONGEST = 60.0  # seconds without a look around
STUCK = 5.0  # seconds that stages get to notice that they must stop now


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """What one exchange is about: what is finished, how many tasks of which lane are wanted."""

    outcomes: list[Outcome]
    want: dict[str, int]
    hints: dict[str, int]
    strays: bool
    waits: bool


class Worker:
    """Runs until `drain` is called. All counters are guarded by `_news`."""

    def __init__(
        self,
        session: WorkerSession,
        stages: Mapping[str, Stage],
        lanes: Mapping[str, int],
        *,
        timing: Timing | None = None,
        scratch_root: Path | None = None,
        exchanges: int = 1,
    ) -> None:
        self._session = session
        self._stages = stages
        self._timing = timing or Timing()
        self._scratch_root = scratch_root
        self._lanes = {
            name: Lane(name, slots, short=_all_short(stages, name)) for name, slots in lanes.items()
        }
        self._held = Held()
        self._news = threading.Condition()
        self._outcomes: list[Outcome] = []
        self._oldest = 0.0
        self._silent: list[int] = []  # finished without an outcome: lost or killed
        self._next_poll = 0.0
        self._pause_until = 0.0
        self._exchanges = exchanges
        self._in_flight = 0
        self._waits = False  # an exchange stays until there is work
        self._failures = 0
        self._strays = False  # an answer was lost, and with it, perhaps, claims
        self._mode = Mode.ACTIVE
        self._stopping = False
        self._forced = False
        self._defect: Exception | None = None
        self.replaced: str | None = None
        self._heartbeat = Heartbeat(
            session,
            self._held,
            timing=self._timing,
            on_mode=self._obey,
            on_replaced=self._give_up,
        )

    def run(self) -> None:
        """Work until told to stop; then hand back what is left and say goodbye."""
        gc.set_threshold(GARBAGE)  # at Python's 700 its collector takes a quarter of our time
        for lane in self._lanes.values():
            lane.start(self._stages, self._finished)
        self._heartbeat.start()
        others = [
            threading.Thread(target=self._beside, name=f"rushes-exchange-{number}", daemon=True)
            for number in range(1, self._exchanges)
        ]
        for thread in others:
            thread.start()
        self._rounds()
        for thread in others:
            thread.join()
        if self._defect is not None:
            raise self._defect
        self._close()

    def _rounds(self) -> None:
        while (batch := self._next()) is not None:
            self._round(batch)

    def _beside(self) -> None:
        """The same in another thread. What nobody expected ends the worker from here as well."""
        try:
            self._rounds()
        except Exception as error:  # noqa: BLE001  (raised again by `run`)
            self._defect = error
            self.drain()

    def hint(self, lanes: Set[str] | None = None) -> None:
        """There may be work, in these lanes or in any. Called from any thread."""
        with self._news:
            for lane in self._lanes.values():
                if lanes is None or lane.name in lanes:
                    lane.hint()
            self._news.notify()

    def drain(self) -> None:
        """Stop: finish, or stop at the next checkpoint. The second call does not wait."""
        with self._news:
            self._forced = self._stopping
            self._stopping = True
            self._news.notify_all()
        self._session.interrupt()
        self._held.stop_all(Stop.NOW if self._forced else Stop.DRAIN)

    def _next(self) -> Batch | None:
        """Sleep until there is something to exchange. None: the worker is to stop."""
        with self._news:
            while not self._stopping:
                due = self._due_at()
                now = time.monotonic()
                if due <= now:
                    return self._prepare()
                self._news.wait(due - now)
        return None

    def _due_at(self) -> float:
        if self._strays and self._in_flight:
            return time.monotonic() + LONGEST
        due = self._claim_at()
        if self._outcomes or self._silent:
            busy = sum(lane.outstanding for lane in self._lanes.values())
            flush = len(self._outcomes) >= FLUSH_COUNT or not busy
            due = min(due, 0.0 if flush else self._oldest + FLUSH_AGE)
        return max(due, self._pause_until)

    def _claim_at(self) -> float:
        """When to ask for work: at once while a lane had some, else at the next poll."""
        roomy = [lane for lane in self._lanes.values() if lane.has_room()]
        if self._mode is not Mode.ACTIVE or not roomy or self._waits:
            return time.monotonic() + LONGEST
        return self._next_poll if all(lane.dry for lane in roomy) else 0.0

    def _round(self, batch: Batch) -> None:
        """One exchange: send what is finished, ask for as much as there is room for."""
        claims: Sequence[Claim] = []
        try:
            self._before_report(batch)
            if batch.outcomes or batch.want:
                claims = self._session.exchange(batch.outcomes, batch.want).claims
        except Conflict as error:
            self._give_up(error.message)
        except RushesError as error:
            self._failed_round(batch, error)
        else:
            self._failures = 0
            self._held.drop(outcome.id for outcome in batch.outcomes)
            self._accept(batch, claims)
        with self._news:
            self._in_flight -= 1
            self._waits = self._waits and not batch.waits
            self._news.notify()

    def _prepare(self) -> Batch:
        """Take what is finished and make room for what is asked for; called with the lock held."""
        self._in_flight += 1
        outcomes, self._outcomes = self._outcomes[:EXCHANGE_MOST], self._outcomes[EXCHANGE_MOST:]
        silent, self._silent = self._silent, []
        self._held.drop(silent)
        if self._next_poll <= time.monotonic():
            self._look_everywhere()
        want: dict[str, int] = {}
        hints = {lane.name: lane.hints for lane in self._lanes.values()}
        if self._mode is Mode.ACTIVE and not self._stopping:
            for lane in self._lanes.values():
                n = min(EXCHANGE_MOST, lane.want(with_report=bool(outcomes)))
                if n > 0:
                    want[lane.name] = n
                    lane.outstanding += n
        waits = self._session.waits and bool(want) and not outcomes
        self._waits = self._waits or waits
        return Batch(outcomes=outcomes, want=want, hints=hints, strays=self._strays, waits=waits)

    def _look_everywhere(self) -> None:
        """Any empty lane may have work again."""
        self._next_poll = (
            time.monotonic() + random.uniform(0.8, 1.2) * self._timing.poll.total_seconds()
        )
        for lane in self._lanes.values():
            lane.dry = False

    def _before_report(self, batch: Batch) -> None:
        """Keep what goes with an outcome: logs, programs run, the last checkpoint."""
        if batch.strays:
            self._session.hand_back_strays([context.claim.id for context in self._held.all()])
            self._strays = False
        for outcome in batch.outcomes:
            context = self._held.get(outcome.id)
            if context is None:
                continue
            if context.executions or context.logs:
                self._session.record(context.claim, context.executions, context.logs)
                context.executions, context.logs = [], []
            if isinstance(outcome, HandedBack) and context.has_news():
                self._session.beat([context.beat()])

    def _failed_round(self, batch: Batch, error: RushesError) -> None:
        """Keep the outcomes and try later: whether they were accepted is not known."""
        self._failures += 1
        wait = _pause_s(self._failures) * random.uniform(0.5, 1)
        level = logging.WARNING if self._failures == 1 else logging.DEBUG
        log.log(level, "the engine does not answer, next try in %.1f s: %s", wait, error)
        with self._news:
            self._strays = True
            for name, asked in batch.want.items():
                self._lanes[name].outstanding -= asked
            self._outcomes = batch.outcomes + self._outcomes
            self._oldest = time.monotonic()
            self._pause_until = time.monotonic() + wait
        self._session.interrupt()

    def _accept(self, batch: Batch, claims: Sequence[Claim]) -> None:
        contexts = [self._context(claim) for claim in claims]
        self._held.add(contexts)
        got: dict[str, int] = dict.fromkeys(batch.want, 0)
        for context in contexts:
            got[self._lane_of(context).name] += 1
        with self._news:
            for name, asked in batch.want.items():
                self._lanes[name].filled(asked, got[name], hints=batch.hints[name])
                self._lanes[name].outstanding -= asked - got[name]
        for context in contexts:
            self._lane_of(context).put(context)

    def _context(self, claim: Claim) -> TaskContext:
        return TaskContext(
            claim,
            scratch_root=self._scratch_root,
            results=self._session.results,
            files=self._session.files(claim),
            on_save=self._heartbeat.soon,
        )

    def _lane_of(self, context: TaskContext) -> Lane:
        return self._lanes[self._stages[context.claim.kind].kind.lane]

    def _finished(self, lane: Lane, context: TaskContext, outcome: Outcome | None) -> None:
        """Called by a slot when a task has ended, one way or another."""
        with self._news:
            lane.finished()
            self._keep(context, outcome)
            count = len(self._outcomes) + len(self._silent)
            if count == 1 or count >= FLUSH_COUNT or not lane.outstanding:
                self._news.notify()

    def _keep(self, context: TaskContext, outcome: Outcome | None) -> None:
        if not self._outcomes and not self._silent:
            self._oldest = time.monotonic()
        if outcome is None:
            self._silent.append(context.claim.id)
        else:
            self._outcomes.append(outcome)

    def _obey(self, mode: Mode) -> None:
        """Take what the operator asks: no new work while drained or disabled."""
        if mode is self._mode:
            return
        with self._news:
            self._mode = mode
            self._news.notify()
        if mode is not Mode.ACTIVE:
            log.info("this worker is %s", mode)

    def _give_up(self, why: str) -> None:
        """Another process works under this name: stop without a word."""
        self.replaced = why
        self.drain()
        self.drain()

    def _close(self) -> None:
        """Hand back what was not started, wait for what runs, hand back the rest."""
        for lane in self._lanes.values():
            self._hand_back(lane, lane.clear())
        self._settle(self._timing.drain.total_seconds())
        self._held.stop_all(Stop.NOW)
        self._settle(STUCK)
        ended = {outcome.id for outcome in self._outcomes}
        self._outcomes += [
            HandedBack(context.claim.id, context.claim.epoch)
            for context in self._held.all()
            if context.claim.id not in ended and context.stopped is Stop.NOW
        ]
        self._heartbeat.stop()
        for lane in self._lanes.values():
            lane.close()
        if self.replaced is None:
            self._last_words()

    def _hand_back(self, lane: Lane, contexts: Sequence[TaskContext]) -> None:
        with self._news:
            lane.outstanding -= len(contexts)
            self._outcomes += [
                HandedBack(context.claim.id, context.claim.epoch) for context in contexts
            ]

    def _settle(self, seconds: float) -> None:
        """Report what ends meanwhile, until nothing runs or time is out."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            with self._news:
                running = sum(lane.outstanding for lane in self._lanes.values())
                if running and not self._outcomes and not self._forced:
                    self._news.wait(min(0.5, deadline - time.monotonic()))
            if self._outcomes and time.monotonic() >= self._pause_until:
                self._report()
            elif not running or (self._forced and seconds > STUCK):
                return
            elif self._pause_until > time.monotonic() or self._forced:
                time.sleep(0.02)

    def _report(self) -> None:
        with self._news:
            batch = self._prepare()
        self._round(batch)

    def _last_words(self) -> None:
        try:
            if self._outcomes:
                self._report()
            self._session.leave()
        except RushesError as error:
            log.warning("nobody heard that this worker stops: %s", error)


def _all_short(stages: Mapping[str, Stage], lane: str) -> bool:
    kinds = [stage.kind for stage in stages.values() if stage.kind.lane == lane]
    return bool(kinds) and all(kind.short for kind in kinds)


def _pause_s(failures: int) -> float:
    """Return how long to wait after so many failures in a row.

    >>> [_pause_s(failures) for failures in (1, 3, 5_000)]
    [0.2, 0.8, 5.0]
    """
    return min(5.0, 0.1 * (1 << min(failures, 10)))
