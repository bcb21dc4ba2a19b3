"""Status and progress as pure functions of the tasks."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rushes.domain.job import FINISHED, Status, progress, status
from rushes.domain.task import FINAL, RULES, Move, State


@dataclass(frozen=True, kw_only=True)
class Fact:
    state: State
    step: str = "a"
    optional: bool = False
    lease_epoch: int = 0
    progress: int = 0
    skip_reason: str | None = None


def facts(words: str) -> list[Fact]:
    """`done new? running` is three tasks, the second optional; what ran was claimed."""
    found = []
    for word in words.split():
        state = State(word.rstrip("?"))
        claimed = state in {State.RUNNING, State.DONE, State.ERROR}
        reason = "upstream_failed" if state is State.SKIPPED else None
        found.append(
            Fact(state=state, optional="?" in word, lease_epoch=int(claimed), skip_reason=reason)
        )
    return found


STEPS = ("a", "b", "c")
any_task = st.builds(
    Fact,
    state=st.sampled_from(State),
    step=st.sampled_from(STEPS),
    optional=st.booleans(),
    lease_epoch=st.integers(0, 3),
    progress=st.integers(0, 100),
    skip_reason=st.sampled_from([None, "not_applicable", "upstream_failed"]),
)
any_weights = st.fixed_dictionaries(dict.fromkeys(STEPS, st.integers(0, 9)))


@pytest.mark.parametrize(
    "tasks, word",
    [
        ("new", "queued"),
        ("ready new", "queued"),
        ("running new", "running"),
        ("done new", "running"),
        ("done ready ready new", "running"),
        ("done done", "completed"),
        ("done error?", "completed"),
        ("done skipped", "completed"),
        ("done error", "failed"),
        ("error skipped", "failed"),
        ("error running", "running"),
        ("error ready", "running"),
        ("error error? done", "failed"),
        ("killed", "killed"),
        ("done killed", "killed"),
        ("error killed", "killed"),
    ],
)
def test_status_is_one_word_for_all_tasks(tasks: str, word: str):
    """004-001, 004-004…009, 004-011, 004-012, 004-036, 004-040, 004-041."""
    assert status(facts(tasks)) == word


def test_job_between_two_attempts_is_running():
    """004-008: NEW again, but it was claimed once."""
    assert status([Fact(state=State.NEW, lease_epoch=1)]) is Status.RUNNING


@given(st.lists(any_task, min_size=1))
def test_status_is_total_and_one_of_five(tasks: list[Fact]):
    """004-003, 004-004."""
    assert status(tasks) in Status


@given(st.lists(any_task, min_size=1), st.randoms())
def test_status_does_not_depend_on_the_order_of_the_tasks(tasks: list[Fact], random):
    shuffled = random.sample(tasks, len(tasks))

    assert status(shuffled) is status(tasks)


@given(st.lists(any_task, min_size=1))
def test_status_follows_its_definition(tasks: list[Fact]):
    """004-005, 004-006, 004-011."""
    killed = any(task.state is State.KILLED for task in tasks)
    final = all(task.state in FINAL for task in tasks)
    broken = any(task.state is State.ERROR and not task.optional for task in tasks)
    claimed = any(task.lease_epoch for task in tasks)

    word = status(tasks)

    assert (word is Status.KILLED) == killed
    assert (word in FINISHED) == (killed or final)
    assert (word is Status.FAILED) == (final and broken and not killed)
    assert word is not Status.QUEUED or not claimed


@given(st.lists(any_task, min_size=1), any_weights)
def test_progress_is_100_exactly_when_the_job_is_completed(tasks, weights):
    """000-013, 000-067."""
    percent = progress(tasks, weights)

    assert 0 <= percent <= 100
    assert (percent == 100) == (status(tasks) is Status.COMPLETED)


def test_progress_weighs_steps_and_averages_their_tasks():
    tasks = [
        Fact(step="a", state=State.DONE),
        Fact(step="b", state=State.RUNNING, progress=50),
        Fact(step="b", state=State.READY),
    ]

    assert progress(tasks, {"a": 1, "b": 3}) == (100 + 3 * 25) // 4


def test_step_that_has_not_fanned_out_counts_as_nothing_done():
    tasks = [Fact(step="a", state=State.DONE), Fact(step="b", state=State.NEW)]

    assert progress(tasks, {"a": 1, "b": 1}) == 50


def test_step_that_is_not_applicable_counts_as_done():
    skipped = Fact(step="a", state=State.SKIPPED, skip_reason="not_applicable")

    assert progress([skipped, Fact(step="b", state=State.NEW)], {"a": 1, "b": 1}) == 50


@given(st.data(), any_weights)
def test_progress_never_falls_within_a_series_of_attempts(data: st.DataObject, weights):
    """000-013, 000-061: whatever legal moves are made; only a requeue starts again."""
    tasks = [Fact(step=step, state=State.NEW) for step in STEPS]
    shown = [progress(tasks, weights)]

    for _ in range(data.draw(st.integers(0, 25))):
        tasks = _moved(data, tasks)
        shown.append(progress(tasks, weights))

    assert shown == sorted(shown)


def _moved(data: st.DataObject, tasks: list[Fact]) -> list[Fact]:
    """Let one task make a legal move, report progress, or fan out."""
    place = data.draw(st.integers(0, len(tasks) - 1))
    task = tasks[place]
    alone = [other.step for other in tasks].count(task.step) == 1
    if task.state is State.NEW and not task.lease_epoch and alone and data.draw(st.booleans()):
        return [*tasks, *[task] * data.draw(st.integers(0, 3))]
    moves = [move for move in Move if task.state in RULES[move].source and move != Move.REQUEUE]
    if not moves:
        return tasks
    move = data.draw(st.sampled_from(moves))
    made = replace(task, state=RULES[move].target)
    if move is Move.CLAIM:
        made = replace(made, lease_epoch=task.lease_epoch + 1)
    if move is Move.EXTEND:
        made = replace(made, progress=data.draw(st.integers(task.progress, 100)))
    if move is Move.SKIP:
        reason = data.draw(st.sampled_from(["not_applicable", "upstream_failed"]))
        made = replace(made, skip_reason=reason)
    return [*tasks[:place], made, *tasks[place + 1 :]]
