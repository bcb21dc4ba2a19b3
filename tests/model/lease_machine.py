"""The lease machine of one task: workers, network, recovery, operator and faults, step by step.

Every change of state goes through the real table (`after`), every guard reads its sources there
(`RULES`), and the real `may_retry` decides on retries: a wrong table breaks the model.
No step is ever forced, so a worker that sleeps past its lease (SIGSTOP, a suspended machine, a
slow network) is simply one of the interleavings. Timers hold what is left of them, which keeps
time unbounded and the worlds few. `Told` is what an observer knows; no rule reads it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rushes.domain.retry import may_retry
from rushes.domain.task import RULES, Actor, Move, State, after
from rushes.errors import IllegalTransition
from tests.model.explorer import Step
from tests.model.lease_world import (
    OUR_RULES,
    POISON,
    Answer,
    Check,
    Lapse,
    LeaseStep,
    Process,
    Report,
    Row,
    Rules,
    Says,
    Setting,
    Told,
    World,
)


@dataclass(frozen=True, slots=True)
class Machine:
    """Everything that may happen next, in a setting and under some rules."""

    setting: Setting
    rules: Rules = OUR_RULES

    def start(self) -> World:
        processes = tuple(Process(f"{name}1") for name in "abc"[: self.setting.workers])
        return World(Row(), processes, self.setting.budget)

    def steps(self, world: World) -> Iterator[LeaseStep]:
        yield from self._time(world)
        yield from _orchestrator(world)
        for place, process in enumerate(world.processes):
            if not process.alive:
                yield self._restart(world, place)
            else:
                yield from self._work(world, place) if process.epoch else self._idle(world, place)
                yield from self._faults(world, place)
        yield from self._network(world)
        yield from self._recovery(world)
        yield from self._operator(world)

    def _time(self, world: World) -> Iterator[LeaseStep]:
        row = world.row
        lease_left = self.setting.lease if _holder_is_hung(world) else _tick(row.lease_left)
        later = row._replace(
            lease_left=lease_left,
            stall_left=_tick(row.stall_left),
            wait_left=max(row.wait_left - 1, 0),
        )
        if later != row:
            yield Step("time passes", world._replace(row=later))

    def _idle(self, world: World, place: int) -> Iterator[LeaseStep]:
        process = world.processes[place]
        if place and not self._was_claimed(world):
            return
        if world.budget.hand_backs and world.row.owner == process.owner:
            yield self._hand_back_stray(world, process)
        if self.rules.pops_first and not process.popped:
            if world.hint:
                popped = _put(world, place, process._replace(popped=True))
                yield Step(f"{process.owner} pops the queue", popped._replace(hint=False))
        elif _allows(Move.CLAIM, world.row):
            yield from self._claim(world, place)
        elif process.popped:
            idle = _put(world, place, Process(process.owner))
            yield Step(f"{process.owner} finds nothing to claim", idle)

    def _claim(self, world: World, place: int) -> Iterator[LeaseStep]:
        row, owner = world.row, world.processes[place].owner
        label = f"{owner} claims epoch {row.epoch + 1}"
        claimed = _put(world, place, Process(owner, epoch=row.epoch + 1))
        yield _moved(
            claimed._replace(told=world.told._replace(runs=world.told.runs + 1)),
            Move.CLAIM,
            label,
            row._replace(
                epoch=row.epoch + 1,
                attempt=row.attempt + 1,
                owner=owner,
                lease_left=self.setting.lease,
                stall_left=self.setting.stall,
            ),
        )
        if world.budget.failovers:
            spent = claimed.budget._replace(failovers=claimed.budget.failovers - 1)
            yield Step(
                f"{label}, which a failover forgets", claimed._replace(budget=spent), helps=False
            )

    def _hand_back_stray(self, world: World, process: Process) -> LeaseStep:
        """Give back a claim that the process never heard of, or no longer knows."""
        spent = world.budget._replace(hand_backs=world.budget.hand_backs - 1)
        stray = Report(Says.HAND_BACK, process.owner, world.row.epoch)
        label = f"{process.owner} does not know epoch {world.row.epoch}"
        return self._accept(world._replace(budget=spent), stray, Move.HAND_BACK, label)

    def _was_claimed(self, world: World) -> bool:
        """Until then workers differ in name only, so whoever claims first may be called `a`."""
        return world.row.epoch > 0 or world.budget.failovers < self.setting.budget.failovers

    def _work(self, world: World, place: int) -> Iterator[LeaseStep]:
        process = world.processes[place]
        if self._is_current(world.row, process.owner, process.epoch, Move.EXTEND):
            yield from self._extend(world, process)
        else:
            idle = _put(world, place, Process(process.owner))
            yield Step(f"{process.owner} hears that epoch {process.epoch} is lost", idle)
        if not process.hung and len(world.reports) < self.setting.in_flight:
            yield from _report(world, place)

    def _extend(self, world: World, process: Process) -> Iterator[LeaseStep]:
        name = f"{process.owner}/{process.epoch}"
        renewed = world.row._replace(lease_left=self.setting.lease)
        if renewed != world.row:
            yield _moved(world, Move.EXTEND, f"{name} heartbeats", renewed)
        if not process.hung:
            ahead = renewed._replace(stall_left=self.setting.stall, losses=0)
            told = world._replace(told=world.told._replace(lost=0))
            if ahead != world.row or told != world:
                yield _moved(told, Move.EXTEND, f"{name} saves a checkpoint", ahead)

    def _faults(self, world: World, place: int) -> Iterator[LeaseStep]:
        process, budget = world.processes[place], world.budget
        if budget.crashes:
            spent = budget._replace(crashes=budget.crashes - 1)
            dead = _put(world, place, Process(process.owner, alive=False))._replace(budget=spent)
            if self.setting.embedded:  # its reports are calls of its own, and die with it
                dead = dead._replace(reports=())
            yield Step(f"kill -9 {process.owner}", dead, helps=False)
        if process.epoch:
            idle = _put(world, place, Process(process.owner))
            yield Step(f"{process.owner} forgets epoch {process.epoch}", idle, helps=False)
        if process.epoch and budget.hangs and not process.hung:
            spent = budget._replace(hangs=budget.hangs - 1)
            hung = _put(world, place, process._replace(hung=True))._replace(budget=spent)
            yield Step(f"{process.owner} hangs", hung, helps=False)

    def _restart(self, world: World, place: int) -> LeaseStep:
        dead = world.processes[place].owner
        owner = f"{dead[0]}{int(dead[1:]) + 1}"
        alive = _put(world, place, Process(owner))
        if self.setting.embedded and world.row.owner == dead:
            verdict = self._verdict(world.row, Move.EXPIRE, by_restart=True)
            return self._lose(alive, Move.EXPIRE, verdict, f"{owner} starts", by_restart=True)
        return Step(f"{owner} starts", alive)

    def _network(self, world: World) -> Iterator[LeaseStep]:
        for report in dict.fromkeys(world.reports):
            label = f"{report.says} of {report.owner}/{report.epoch} arrives"
            others = list(world.reports)
            others.remove(report)
            yield self._receive(world._replace(reports=tuple(others)), report, label)
            if world.budget.duplicates:
                spent = world.budget._replace(duplicates=world.budget.duplicates - 1)
                step = self._receive(
                    world._replace(budget=spent), report, f"{label}, its answer is lost"
                )
                yield step._replace(helps=False)

    def _receive(self, world: World, report: Report, label: str) -> LeaseStep:
        move = self._decide(world.row, report.says)
        if self._is_current(world.row, report.owner, report.epoch, move):
            return self._accept(world, report, move, label)
        again = (
            self.rules.answers_again
            and (report.says, world.row.state) == (Says.COMPLETE, State.DONE)
            and (report.owner, report.epoch) == (world.row.last_owner, world.row.epoch)
        )
        label = f"{label}: {'accepted already' if again else 'lease lost'}"
        return Step(label, world, fact=Answer(report, accepted=again))

    def _accept(self, world: World, report: Report, move: Move, label: str) -> LeaseStep:
        row, told = _released(world.row), world.told
        match move:
            case Move.COMPLETE:
                row = row._replace(last_owner=report.owner)
                told = told._replace(accepted=(*told.accepted, (report.owner, report.epoch)))
            case Move.RETRY:
                row = row._replace(wait_left=self.setting.backoff, losses=0)
                told = told._replace(lost=0)
            case Move.HAND_BACK:
                row = row._replace(attempt=row.attempt - 1)
                told = told._replace(runs=told.runs - 1)
        step = _moved(world._replace(told=told), move, f"{label}: {move}", row)
        return step._replace(fact=Answer(report, accepted=True))

    def _decide(self, row: Row, says: Says) -> Move:
        match says:
            case Says.COMPLETE:
                return Move.COMPLETE
            case Says.HAND_BACK:
                return Move.HAND_BACK
            case Says.PERMANENT:
                return Move.FAIL
            case Says.RETRYABLE:
                attempt = row.attempt + self.rules.counts_from_one
                left = may_retry(
                    attempt=attempt, max_attempts=self.setting.max_attempts, retryable=True
                )
                return Move.RETRY if left else Move.FAIL

    def _is_current(self, row: Row, owner: str, epoch: int, move: Move) -> bool:
        """The guard of every write by a worker."""
        checks = self.rules.report_checks
        same_owner = row.owner == owner or (
            row.owner is not None and not self.rules.owners_are_unique
        )
        return (
            (Check.STATE not in checks or _allows(move, row))
            and (Check.OWNER not in checks or same_owner)
            and (Check.EPOCH not in checks or row.epoch == epoch)
        )

    def _recovery(self, world: World) -> Iterator[LeaseStep]:
        """Read and write are two steps, so that everything can happen between them."""
        if len(world.lapses) < self.setting.leaders:
            for cause in self._lapsed(world):
                lapse = Lapse(cause, world.row.epoch, self._verdict(world.row, cause))
                if self.rules.decides_at_the_write:
                    lapse = lapse._replace(verdict=None)
                lapses = tuple(sorted((*world.lapses, lapse)))
                yield Step(f"recovery reads: {cause}", world._replace(lapses=lapses))
        for lapse in dict.fromkeys(world.lapses):
            others = list(world.lapses)
            others.remove(lapse)
            yield self._recover(world._replace(lapses=tuple(others)), lapse)

    def _recover(self, world: World, lapse: Lapse) -> LeaseStep:
        checks = self.rules.recovery_checks
        guard_holds = (
            (Check.STATE not in checks or _allows(lapse.cause, world.row))
            and (Check.EPOCH not in checks or world.row.epoch == lapse.epoch)
            and (Check.TIMER not in checks or lapse.cause in self._lapsed(world))
        )
        if not guard_holds:
            return Step(f"recovery writes: {lapse.cause} changes no row", world)
        verdict = lapse.verdict or self._verdict(world.row, lapse.cause)
        return self._lose(world, lapse.cause, verdict, "recovery writes")

    def _lapsed(self, world: World) -> list[Move]:
        """Return why recovery would take the task from its worker now."""
        row, moves = world.row, []
        if row.lease_left == 0 and not (self.rules.needs_offline and _owner_is_online(world)):
            moves.append(Move.EXPIRE)
        if row.stall_left == 0 and self.rules.has_stall_timer:
            moves.append(Move.TIME_OUT)
        return moves

    def _verdict(self, row: Row, cause: Move, *, by_restart: bool = False) -> Move:
        """Return the move for a task that lost its worker: its cause, or EXHAUST."""
        is_lost = cause is Move.EXPIRE and row.losses + 1 >= POISON
        is_poison = is_lost and self.rules.has_poison_rule
        is_spent = row.attempt >= self.setting.max_attempts
        costs = self.rules.loss_costs_an_attempt and not by_restart
        return Move.EXHAUST if is_poison or (is_spent and costs) else cause

    def _lose(
        self, world: World, cause: Move, verdict: Move, label: str, *, by_restart: bool = False
    ) -> LeaseStep:
        row, told = _released(world.row), world.told
        if cause is Move.EXPIRE:
            row = row._replace(losses=row.losses + 1)
            told = told._replace(lost=told.lost + 1)
        if verdict is not Move.EXHAUST:
            gives_back = by_restart or not self.rules.loss_costs_an_attempt
            row = row._replace(attempt=row.attempt - gives_back)
            told = told._replace(runs=told.runs - by_restart)
        return _moved(world._replace(told=told), verdict, f"{label}: {verdict}", row)

    def _operator(self, world: World) -> Iterator[LeaseStep]:
        row, budget = world.row, world.budget
        if budget.kills and _allows(Move.KILL, row):
            spent = budget._replace(kills=budget.kills - 1)
            killed = world._replace(budget=spent, told=world.told._replace(killed=True))
            if self.rules.kill_fences:
                yield _moved(killed, Move.KILL, "operator kills", _released(row))
            else:
                yield Step("operator kills, which is noted for later", killed, helps=False)
        if budget.requeues and _allows(Move.REQUEUE, row):
            spent = budget._replace(requeues=budget.requeues - 1)
            fresh = world._replace(budget=spent, told=Told())
            yield _moved(
                fresh, Move.REQUEUE, "operator requeues", row._replace(attempt=0, losses=0)
            )


def _orchestrator(world: World) -> Iterator[LeaseStep]:
    if _allows(Move.ADVANCE, world.row) and not world.row.wait_left:
        yield _moved(world, Move.ADVANCE, "orchestrator advances", world.row)


def _report(world: World, place: int) -> Iterator[LeaseStep]:
    process, budget = world.processes[place], world.budget
    for says in Says:
        cost = 1 if says is Says.HAND_BACK else 0
        if budget.hand_backs < cost:
            continue
        sent = _put(world, place, Process(process.owner))
        report = Report(says, process.owner, process.epoch)
        yield Step(
            f"{process.owner}/{process.epoch} sends: {says}",
            sent._replace(
                reports=tuple(sorted((*world.reports, report))),
                budget=budget._replace(hand_backs=budget.hand_backs - cost),
            ),
        )


def _moved(world: World, move: Move, label: str, row: Row) -> LeaseStep:
    """Change the task's state: the only place that does. What the table forbids changes nothing."""
    helps = RULES[move].actor is not Actor.OPERATOR
    try:
        state = after(move, row.state)
    except IllegalTransition:
        return Step(f"{label}, which the table forbids", world, move, helps=helps)
    hint = world.hint or state is State.READY
    return Step(label, world._replace(row=row._replace(state=state), hint=hint), move, helps=helps)


def _allows(move: Move, row: Row) -> bool:
    return row.state in RULES[move].source


def _released(row: Row) -> Row:
    return row._replace(owner=None, lease_left=None, stall_left=None, wait_left=0)


def _put(world: World, place: int, process: Process) -> World:
    before, others = world.processes[:place], world.processes[place + 1 :]
    return world._replace(processes=(*before, process, *others))


def _tick(left: int | None) -> int | None:
    return max(left - 1, 0) if left else left


def _holder_is_hung(world: World) -> bool:
    """A hung run does nothing, but the heartbeat of its process keeps the lease."""
    row = world.row
    return any(
        process.hung and (process.owner, process.epoch) == (row.owner, row.epoch)
        for process in world.processes
    )


def _owner_is_online(world: World) -> bool:
    """Whether a worker of that name is seen, whichever its incarnation."""
    name = (world.row.owner or " ")[0]
    return any(process.alive and process.owner[0] == name for process in world.processes)
