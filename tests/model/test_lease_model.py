"""Every interleaving of a small world: our rules hold in all of them, each known defect in none."""

from __future__ import annotations

import pytest

from rushes.domain.task import RULES, Move, Rule, State
from tests.model.explorer import STUCK, explore, follow
from tests.model.lease import (
    ALL_RUNS_USED,
    DEFECTS,
    FINAL_STAYS,
    LARGE_SETTINGS,
    LEASE_SHAPE,
    ONE_COMPLETION,
    RUNS_BOUND,
    SETTINGS,
    Defect,
    LeaseModel,
    check,
    hunt,
)
from tests.model.lease_world import NOTHING_RARE, Budget, Setting, World

NEEDS_A_GRAPH = {Move.SKIP}  # a task is skipped because of its parents; this model has none

OTHER_SETTINGS = {
    defect.setting: name
    for name, defect in DEFECTS.items()
    if defect.setting not in SETTINGS.values()
}

CLAIMED = ("orchestrator advances", "a1 claims epoch 1")
OVERDUE = (*CLAIMED, "time passes", "a1/1 sends: complete")
RECOVERED = (*OVERDUE, "recovery reads: expire", "recovery writes: expire")


@pytest.mark.parametrize("setting", SETTINGS.values(), ids=SETTINGS)
def test_our_rules_break_nothing_in_any_interleaving(setting: Setting) -> None:
    """Nothing is stuck, nothing loops, one completion counts, the last claim alone is believed.

    000-111, 000-117, 000-146, 000-147, 000-149, 000-151, 000-153, 000-154, 000-155,
    001-005, 001-013, 001-014, 001-015, 001-016, 001-018.
    """
    finding = check(setting)

    assert finding.broken is None, finding
    assert finding.states > 1_000


@pytest.mark.soak
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("setting", LARGE_SETTINGS.values(), ids=LARGE_SETTINGS)
def test_our_rules_break_nothing_in_any_interleaving_of_a_large_world(setting: Setting) -> None:
    """000-160, 001-013, 001-014, 001-015, 001-016, 001-018."""
    finding = check(setting)

    assert finding.broken is None, finding
    assert finding.states > 100_000


@pytest.mark.parametrize("defect", DEFECTS.values(), ids=DEFECTS)
def test_seeded_defect_is_found(defect: Defect) -> None:
    """000-087, 000-098, 001-013, 001-014, 001-015: also where a source document has the defect."""
    finding = hunt(defect)

    assert finding.broken == defect.breaks, finding
    assert finding.trace


@pytest.mark.parametrize("setting", OTHER_SETTINGS, ids=OTHER_SETTINGS.values())
def test_world_of_a_defect_is_sound_without_it(setting: Setting) -> None:
    """So that each finding above is due to its defect alone."""
    finding = check(setting)

    assert finding.broken is None, finding


def test_model_makes_every_move_that_needs_no_parents() -> None:
    """001-007."""
    budgets = [Budget(hand_backs=1, kills=1), Budget(requeues=1)]

    findings = [check(Setting(workers=1, in_flight=1, budget=budget)) for budget in budgets]

    assert findings[0].moves | findings[1].moves == set(Move) - NEEDS_A_GRAPH


WRONG_TABLES = {
    "a done task can be killed": (Move.KILL, "new ready running done", State.KILLED, FINAL_STAYS),
    "a done task can be requeued": (Move.REQUEUE, "error killed done", State.NEW, FINAL_STAYS),
    "a completion makes ready": (Move.COMPLETE, "running", State.READY, ONE_COMPLETION),
    "an exhausted task is ready": (Move.EXHAUST, "running", State.READY, RUNS_BOUND),
    "a retry is an error": (Move.RETRY, "running", State.ERROR, ALL_RUNS_USED),
    "an expired task runs on": (Move.EXPIRE, "running", State.RUNNING, LEASE_SHAPE),
    "nothing advances": (Move.ADVANCE, "", State.READY, STUCK),
}


@pytest.mark.parametrize("move, source, target, breaks", WRONG_TABLES.values(), ids=WRONG_TABLES)
def test_wrong_table_is_found(
    monkeypatch: pytest.MonkeyPatch, move: Move, source: str, target: State, breaks: str
) -> None:
    """001-007: the model reads the real table, so an error there is an error here."""
    sources = frozenset(State(name) for name in source.split())
    monkeypatch.setitem(RULES, move, Rule(sources, target, RULES[move].actor))
    budget = Budget(kills=1, requeues=1)

    finding = explore(LeaseModel(Setting(workers=1, in_flight=1, budget=budget)), sought=breaks)

    assert finding.broken == breaks


def test_late_completion_is_accepted_while_nobody_has_taken_the_task() -> None:
    """000-153: past its expiry the lease is still the worker's, until recovery takes it."""
    world = walk(*OVERDUE, "complete of a1/1 arrives: complete")

    assert world.row.state is State.DONE


def test_completion_is_refused_after_recovery_and_the_next_claim_is_kept() -> None:
    """000-117, 000-153, 001-014."""
    world = walk(*RECOVERED, "b1 claims epoch 2", "complete of a1/1 arrives: lease lost")

    assert (world.row.state, world.row.owner, world.row.epoch) == (State.RUNNING, "b1", 2)


def test_recovery_that_read_before_a_completion_changes_no_row() -> None:
    """000-154, 001-016."""
    world = walk(
        *OVERDUE,
        "recovery reads: expire",
        "complete of a1/1 arrives: complete",
        "recovery writes: expire changes no row",
    )

    assert world.row.state is State.DONE


def test_recovery_that_read_before_a_heartbeat_changes_no_row() -> None:
    """000-152."""
    world = walk(
        *CLAIMED,
        "time passes",
        "recovery reads: expire",
        "a1/1 heartbeats",
        "recovery writes: expire changes no row",
    )

    assert world.row.owner == "a1"


def test_completion_whose_answer_was_lost_is_accepted_again() -> None:
    world = walk(
        *CLAIMED,
        "a1/1 sends: complete",
        "complete of a1/1 arrives, its answer is lost: complete",
        "complete of a1/1 arrives: accepted already",
        budget=Budget(duplicates=1),
    )

    assert world.told.accepted == (("a1", 1),)


def test_hand_back_returns_the_attempt_but_not_the_epoch() -> None:
    world = walk(
        *CLAIMED,
        "a1/1 sends: hand back",
        "hand back of a1/1 arrives: hand back",
        budget=Budget(hand_backs=1),
    )

    assert (world.row.state, world.row.attempt, world.row.epoch) == (State.READY, 0, 1)


def test_completion_is_refused_after_a_kill() -> None:
    world = walk(
        *CLAIMED,
        "a1/1 sends: complete",
        "operator kills",
        "complete of a1/1 arrives: lease lost",
        budget=Budget(kills=1),
    )

    assert world.row.state is State.KILLED


def test_third_restart_in_a_row_ends_a_task_whatever_its_attempts() -> None:
    """000-155: each restart gives the attempt back, and yet it ends."""
    ends = ["expire", "expire", "exhaust"]
    crashes = [
        label
        for number, end in enumerate(ends, 1)
        for label in (
            f"a{number} claims epoch {number}",
            f"kill -9 a{number}",
            f"a{number + 1} starts: {end}",
        )
    ]

    world = follow(LeaseModel(SETTINGS["embedded"]), ["orchestrator advances", *crashes])

    assert world.row.state is State.ERROR


def test_claim_whose_answer_was_lost_is_given_back_with_its_attempt() -> None:
    world = walk(
        *CLAIMED,
        "a1 forgets epoch 1",
        "a1 does not know epoch 1: hand back",
        budget=Budget(hand_backs=1),
    )

    assert (world.row.state, world.row.attempt) == (State.READY, 0)


def walk(*labels: str, budget: Budget = NOTHING_RARE) -> World:
    return follow(LeaseModel(Setting(budget=budget)), labels)
