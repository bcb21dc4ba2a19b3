"""What must hold of the lease machine, the rules that hold it, and the defects that do not.

    python -m tests.model.lease     prints one table: our rules first, then each seeded defect

A defect counts as found only when the invariant that it is meant to break is broken.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

from rushes.domain.task import FINAL, RULES, Move, State
from tests.model.explorer import STUCK, Finding, explore
from tests.model.lease_machine import Machine
from tests.model.lease_world import (
    POISON,
    Budget,
    Check,
    LeaseStep,
    Report,
    Rules,
    Says,
    Setting,
    World,
)

OFF_TABLE = "a state changes only as the table allows"
LEASE_SHAPE = "a lease is set exactly while the task runs"
EPOCH_GROWS = "the epoch grows by one at each claim and never else"
FINAL_STAYS = "done stays done, and what else is final changes only by a requeue"
ATTEMPTS_BOUND = "attempts stay between 0 and max_attempts"
RUNS_BOUND = "a series has at most max_attempts runs"
LOSSES_BOUND = "no task is lost more than three times in a row"
ALL_RUNS_USED = "a task is given up on its last attempt or when poisoned, not before"
ONE_COMPLETION = "a series has at most one accepted completion"
KILLED_STAYS_UNDONE = "a killed task never becomes done"
OTHERS_REFUSED = "no report of another process is accepted"
STALE_REFUSED = "no report of an earlier claim is accepted"
SAME_ANSWER = "a completion sent twice is answered twice the same"
LIVE_LEASE_KEPT = "recovery takes only what ran out of its time"


@dataclass(frozen=True, slots=True)
class LeaseModel(Machine):
    """The machine with its judge."""

    def is_settled(self, world: World) -> bool:
        return world.row.state in FINAL

    def broken(self, world: World, step: LeaseStep) -> list[str]:
        if step.move is None and step.fact is None and step.world.row is world.row:
            return []
        return [name for name, holds in INVARIANTS.items() if not holds(self.setting, world, step)]


def _table_is_followed(setting: Setting, world: World, step: LeaseStep) -> bool:
    before, state = world.row.state, step.world.row.state
    if step.move is None:
        return before is state
    return before in RULES[step.move].source and state is RULES[step.move].target


def _lease_is_set_while_running(setting: Setting, world: World, step: LeaseStep) -> bool:
    row = step.world.row
    is_running = row.state is State.RUNNING
    return is_running == (row.owner is not None) == (row.lease_left is not None)


def _epoch_counts_claims(setting: Setting, world: World, step: LeaseStep) -> bool:
    return step.world.row.epoch == world.row.epoch + (step.move is Move.CLAIM)


def _final_stays(setting: Setting, world: World, step: LeaseStep) -> bool:
    row = world.row
    may_change = row.state not in FINAL or (
        row.state is not State.DONE and step.move is Move.REQUEUE
    )
    return may_change or step.world.row == row


def _attempts_are_bounded(setting: Setting, world: World, step: LeaseStep) -> bool:
    return 0 <= step.world.row.attempt <= setting.max_attempts


def _runs_are_bounded(setting: Setting, world: World, step: LeaseStep) -> bool:
    return step.world.told.runs <= setting.max_attempts


def _losses_are_bounded(setting: Setting, world: World, step: LeaseStep) -> bool:
    return step.world.told.lost <= POISON


def _all_runs_are_used(setting: Setting, world: World, step: LeaseStep) -> bool:
    report, told = _believed_report(step), step.world.told
    is_wanted = report is not None and report.says is Says.PERMANENT
    gives_up = step.world.row.state is State.ERROR is not world.row.state and not is_wanted
    return not gives_up or told.runs == setting.max_attempts or told.lost == POISON


def _completion_is_accepted_once(setting: Setting, world: World, step: LeaseStep) -> bool:
    return len(step.world.told.accepted) <= 1


def _killed_stays_undone(setting: Setting, world: World, step: LeaseStep) -> bool:
    return not (step.world.told.killed and step.world.row.state is State.DONE)


def _report_is_of_the_owner(setting: Setting, world: World, step: LeaseStep) -> bool:
    report = _believed_report(step)
    return report is None or report.owner == world.row.owner


def _report_is_of_the_last_claim(setting: Setting, world: World, step: LeaseStep) -> bool:
    report = _believed_report(step)
    return report is None or report.epoch == world.row.epoch


def _believed_report(step: LeaseStep) -> Report | None:
    """Return the report that made this move, if one did."""
    return step.fact.report if step.move and step.fact else None


def _answer_is_the_same(setting: Setting, world: World, step: LeaseStep) -> bool:
    if step.fact is None or step.fact.report.says is not Says.COMPLETE:
        return True
    sender = (step.fact.report.owner, step.fact.report.epoch)
    return step.fact.accepted or sender not in world.told.accepted


def _live_lease_is_kept(setting: Setting, world: World, step: LeaseStep) -> bool:
    if step.move not in {Move.EXPIRE, Move.TIME_OUT, Move.EXHAUST}:
        return True
    row = world.row
    owner_died = any(
        process.owner == row.owner and not process.alive for process in world.processes
    )
    return row.lease_left == 0 or row.stall_left == 0 or owner_died


INVARIANTS: dict[str, Callable[[Setting, World, LeaseStep], bool]] = {
    OFF_TABLE: _table_is_followed,
    LEASE_SHAPE: _lease_is_set_while_running,
    EPOCH_GROWS: _epoch_counts_claims,
    FINAL_STAYS: _final_stays,
    ATTEMPTS_BOUND: _attempts_are_bounded,
    RUNS_BOUND: _runs_are_bounded,
    LOSSES_BOUND: _losses_are_bounded,
    ALL_RUNS_USED: _all_runs_are_used,
    ONE_COMPLETION: _completion_is_accepted_once,
    KILLED_STAYS_UNDONE: _killed_stays_undone,
    OTHERS_REFUSED: _report_is_of_the_owner,
    STALE_REFUSED: _report_is_of_the_last_claim,
    SAME_ANSWER: _answer_is_the_same,
    LIVE_LEASE_KEPT: _live_lease_is_kept,
}

SETTINGS = {
    "a crash, a lost answer": Setting(budget=Budget(crashes=1, duplicates=1)),
    "hand back, kill, requeue": Setting(
        max_attempts=1, in_flight=1, budget=Budget(hand_backs=1, kills=1, requeues=1)
    ),
    "a failover": Setting(budget=Budget(failovers=1)),
    "a hang": Setting(budget=Budget(hangs=1, kills=1)),
    "three attempts": Setting(max_attempts=3),
    "five attempts, poison": Setting(workers=1, max_attempts=5, in_flight=1),
    "embedded": Setting(workers=1, embedded=True, in_flight=1, budget=Budget(crashes=3)),
}

LARGE_SETTINGS = {
    "three workers": Setting(workers=3, max_attempts=3, budget=Budget(crashes=1, kills=1)),
    "longer timers": Setting(
        max_attempts=3, lease=2, stall=4, backoff=2, budget=Budget(crashes=1, kills=1)
    ),
    "two leaders": Setting(leaders=2, max_attempts=3, budget=Budget(crashes=1, kills=1)),
    "an operator at work": Setting(budget=Budget(hand_backs=1, kills=2, requeues=1)),
    "every fault at once": Setting(
        in_flight=1, budget=Budget(crashes=1, hangs=1, failovers=1, duplicates=1, hand_backs=1)
    ),
    "embedded, four crashes": Setting(
        workers=1, max_attempts=3, embedded=True, budget=Budget(crashes=4, hand_backs=1, kills=1)
    ),
}


class Defect(NamedTuple):
    rules: Rules
    breaks: str
    setting: Setting = Setting()


_OWNER_ONLY = frozenset({Check.STATE, Check.OWNER})
_EPOCH_ONLY = frozenset({Check.STATE, Check.EPOCH})
_ALONE = Setting(workers=1, in_flight=1)

DEFECTS = {
    "owner without epoch, owners repeat": Defect(
        Rules(report_checks=_OWNER_ONLY, owners_are_unique=False), OTHERS_REFUSED
    ),
    "owner without epoch, same worker again": Defect(
        Rules(report_checks=_OWNER_ONLY), STALE_REFUSED, _ALONE
    ),
    "epoch without owner, failover repeats it": Defect(
        Rules(report_checks=_EPOCH_ONLY), OTHERS_REFUSED, SETTINGS["a failover"]
    ),
    "recovery without the state": Defect(
        Rules(recovery_checks=frozenset({Check.EPOCH})), OFF_TABLE
    ),
    "recovery by id alone": Defect(Rules(recovery_checks=frozenset()), LIVE_LEASE_KEPT),
    "recovery reads the timer only once": Defect(
        Rules(recovery_checks=_EPOCH_ONLY), LIVE_LEASE_KEPT
    ),
    "recovery decides on what it read": Defect(
        Rules(decides_at_the_write=False), ALL_RUNS_USED, replace(_ALONE, max_attempts=4)
    ),
    "a loss costs no attempt": Defect(
        Rules(loss_costs_an_attempt=False, has_poison_rule=False), LOSSES_BOUND, _ALONE
    ),
    "restarts without the poison rule": Defect(
        Rules(has_poison_rule=False), LOSSES_BOUND, SETTINGS["embedded"]
    ),
    "release needs offline and expired": Defect(
        Rules(needs_offline=True, has_stall_timer=False), STUCK, Setting(in_flight=1)
    ),
    "pop, then claim": Defect(
        Rules(pops_first=True), STUCK, replace(_ALONE, budget=Budget(crashes=1))
    ),
    "no stall timer": Defect(
        Rules(has_stall_timer=False), STUCK, replace(_ALONE, budget=Budget(hangs=1))
    ),
    "three attempts are two runs": Defect(
        Rules(counts_from_one=True), ALL_RUNS_USED, replace(_ALONE, max_attempts=3)
    ),
    "the second complete is an error": Defect(
        Rules(answers_again=False), SAME_ANSWER, replace(_ALONE, budget=Budget(duplicates=1))
    ),
    "kill does not fence": Defect(
        Rules(kill_fences=False), KILLED_STAYS_UNDONE, replace(_ALONE, budget=Budget(kills=1))
    ),
}


def check(setting: Setting) -> Finding:
    """Explore our own rules."""
    return explore(LeaseModel(setting))


def hunt(defect: Defect) -> Finding:
    """Explore the rules of a defect for the invariant that it breaks."""
    return explore(LeaseModel(defect.setting, defect.rules), sought=defect.breaks)


def _table() -> Iterator[str]:
    yield f"{'rules':<42}{'states':>9}{'steps':>11}{'CPU s':>7}  broken after the shortest trace"
    for name, setting in SETTINGS.items():
        yield _line(f"ours: {name}", partial(check, setting))
    for name, defect in DEFECTS.items():
        yield _line(name, partial(hunt, defect))


def _line(name: str, look: Callable[[], Finding]) -> str:
    started = time.process_time()
    finding = look()
    seconds = time.process_time() - started
    outcome = f"{len(finding.trace):>2} steps: {finding.broken}" if finding.broken else "nothing"
    return f"{name:<42}{finding.states:>9,}{finding.steps:>11,}{seconds:>7.2f}  {outcome}"


if __name__ == "__main__":
    for line in _table():
        print(line, flush=True)
