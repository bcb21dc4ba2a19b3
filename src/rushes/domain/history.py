"""Replays the events of a job through the table of moves and compares the end with its rows.

The rows say what is, the events say how it came to be; each is written without looking at the
other, so a defect in one shows. Only the first problem of a task is told: the rest follow from it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from rushes.domain.event import OF_MOVE, EventType
from rushes.domain.job import Status
from rushes.domain.task import FINAL, RULES, Actor, Move, State

MOVES = {type: move for move, type in OF_MOVE.items()}
REPORTED = frozenset(
    move for move, rule in RULES.items() if rule.actor is Actor.WORKER and move is not Move.CLAIM
)
OUTCOMES = {
    Move.COMPLETE: "done",
    Move.RETRY: "retried",
    Move.FAIL: "failed",
    Move.HAND_BACK: "handed_back",
    Move.EXPIRE: "expired",
    Move.TIME_OUT: "timed_out",
    Move.EXHAUST: "exhausted",
    Move.KILL: "killed",
}
GIVEN_BACK = ("handed_back", "restarted")
STATUSES = {
    EventType.JOB_STARTED: Status.RUNNING,
    EventType.JOB_COMPLETED: Status.COMPLETED,
    EventType.JOB_FAILED: Status.FAILED,
    EventType.JOB_KILLED: Status.KILLED,
}


class Problem(NamedTuple):
    """What does not fit, by the number of its invariant. `task` 0: the job as a whole."""

    invariant: str
    task: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskFacts:
    """What the row of a task says."""

    state: str
    epoch: int
    attempt: int
    max_attempts: int
    owner: str | None
    outcomes: Mapping[int, str]
    """How each attempt ended, by epoch."""


@dataclass(slots=True)
class _Told:
    """What the events so far say of a task."""

    state: State = State.NEW
    epoch: int = 0
    attempt: int = 0
    owner: str | None = None
    outcomes: dict[int, str] = field(default_factory=dict)


def problems(
    status: str, tasks: Mapping[int, TaskFacts], events: Iterable[tuple[str, str]]
) -> list[Problem]:
    """Return what does not fit in a job: its status, its tasks, its events as (type, data)."""
    replay = _Replay(tasks)
    for type, data in events:
        replay.read(type, data)
    replay.compare(status)
    return list(replay.found.values())


class _Replay:
    def __init__(self, tasks: Mapping[int, TaskFacts]) -> None:
        self.tasks = tasks
        self.told: dict[int, _Told] = {}
        self.status: Status | None = None
        self.started = False
        self.found: dict[int, Problem] = {}

    def read(self, type: str, text: str) -> None:
        try:
            data = json.loads(text)
            self._read(type, data)
        except (ValueError, KeyError, TypeError):
            self._note("I11", 0, f"an event {type} cannot be read")

    def compare(self, status: str) -> None:
        if self.status != status:
            told = self.status or "nothing"
            self._note("I11", 0, f"the job is {status}, its events end with {told}")
        for id, task in self.tasks.items():
            told_task = self.told.get(id)
            if told_task is None:
                self._note("I11", id, "no event tells that the task was made")
            else:
                self._compare(id, task, told_task)

    def _read(self, type: str, data: dict[str, object]) -> None:
        if type == EventType.JOB_SUBMITTED:
            self._submitted(_ids(data["ready"]))
        elif type == EventType.TASK_ADDED:
            self.told |= {id: _Told() for id, _ in data["tasks"]}  # type: ignore[attr-defined]
        elif type == EventType.JOB_REQUEUED:
            self.status = Status.RUNNING if self.started else Status.QUEUED
        elif type in STATUSES:
            self.status = STATUSES[EventType(type)]
            self.started = self.started or self.status is Status.RUNNING
        elif type in MOVES:
            for id, epoch in data["tasks"]:  # type: ignore[attr-defined]
                self._moved(MOVES[EventType(type)], id, epoch, data)

    def _submitted(self, ready: list[int]) -> None:
        if self.status is not None:
            self._note("I11", 0, "the job was submitted twice")
        self.status = Status.QUEUED
        self.told = {id: _Told() for id in self.tasks}
        self.told |= {id: _Told(state=State.READY) for id in ready}

    def _moved(self, move: Move, id: int, epoch: int, data: dict[str, object]) -> None:
        told = self.told.get(id)
        if id not in self.tasks:
            self._note("I1", id, "the task is told of but does not exist")
            return
        if told is None:
            self._note("I11", id, "no event tells that the task was made")
            return
        if not self._is_legal(move, id, epoch, told, data):
            return
        self._count(move, told, data)
        told.state = RULES[move].target

    def _is_legal(
        self, move: Move, id: int, epoch: int, told: _Told, data: dict[str, object]
    ) -> bool:
        if told.state not in RULES[move].source:
            self._note(_of_illegal(move, told), id, f"{move} of a task that was {told.state}")
        elif epoch != told.epoch + (move is Move.CLAIM):
            self._note("I5", id, f"{move} with epoch {epoch} after epoch {told.epoch}")
        elif move in REPORTED and data.get("worker") != told.owner:
            self._note("I4", id, f"{move} by another worker than the one that claimed it")
        elif move is Move.CLAIM and told.attempt >= self.tasks[id].max_attempts:
            self._note("I6", id, "a claim after the last attempt")
        else:
            return True
        return False

    def _count(self, move: Move, told: _Told, data: dict[str, object]) -> None:
        if told.state is State.RUNNING and move in OUTCOMES:
            restarted = move is Move.EXPIRE and data.get("cause") == "restart"
            outcome = "restarted" if restarted else OUTCOMES[move]
            told.outcomes[told.epoch] = outcome
            told.attempt -= outcome in GIVEN_BACK
        if move is Move.CLAIM:
            told.epoch += 1
            told.attempt += 1
            told.owner = str(data.get("worker"))
        if move is Move.REQUEUE:
            told.attempt = 0

    def _compare(self, id: int, task: TaskFacts, told: _Told) -> None:
        owner = told.owner if told.state is State.RUNNING else None
        if task.state != told.state:
            invariant = "I3" if told.state in FINAL else "I4"
            self._note(invariant, id, f"the task is {task.state}, its events end with {told.state}")
        elif task.epoch != told.epoch or task.owner != owner:
            self._note("I5", id, "the lease is not that of the last claim in the events")
        elif task.attempt != told.attempt:
            self._note("I6", id, f"attempt {task.attempt}, by its events {told.attempt}")
        elif task.outcomes != told.outcomes:
            self._note(*_of_outcomes(id, task.outcomes, told.outcomes))

    def _note(self, invariant: str, id: int, text: str) -> None:
        self.found.setdefault(id, Problem(invariant, id, text))


def _of_illegal(move: Move, told: _Told) -> str:
    if move is Move.COMPLETE and told.state is State.DONE:
        return "I2"
    return "I3" if told.state in FINAL else "I4"


def _of_outcomes(
    id: int, recorded: Mapping[int, str], told: Mapping[int, str]
) -> tuple[str, int, str]:
    epoch = min(epoch for epoch in {*recorded, *told} if recorded.get(epoch) != told.get(epoch))
    pair = recorded.get(epoch, "missing"), told.get(epoch, "missing")
    text = f"attempt of epoch {epoch} is recorded as {pair[0]}, told as {pair[1]}"
    return "I2" if "done" in pair else "I11", id, text


def _ids(value: object) -> list[int]:
    if not isinstance(value, list):
        raise TypeError("not a list")
    return [int(id) for id in value]
