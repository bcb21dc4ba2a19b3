"""Two parents of one child complete at once, each in a transaction of its own, READ COMMITTED.

A transaction sees its own writes and what others have committed; a write to the child's row
takes its lock, and whoever waited for the lock reads the row again. The last parent must make
the child ready. `NOT EXISTS` cannot: each transaction may still see the other's parent running.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import NamedTuple, TypeAlias

from rushes.domain.task import Move, State, after
from tests.model.explorer import Step

READY_TOO_EARLY = "a child is ready only after both its parents are done"


class Way(StrEnum):
    """How a completing transaction finds out whether the child may go."""

    COUNTER = "counter of open parents, decremented in one UPDATE"
    COUNTER_READ_FIRST = "counter of open parents, read and then written"
    NOT_EXISTS = "NOT EXISTS (a parent that is not done)"
    NOT_EXISTS_AND_SWEEP = "NOT EXISTS, repeated by a sweep"


class Phase(IntEnum):
    BEFORE = 0
    FINISHED = 1  # the parent is done, for this transaction only
    COUNTED = 2  # only COUNTER_READ_FIRST stops here
    ADVANCED = 3
    COMMITTED = 4


class Child(NamedTuple):
    state: State = State.NEW
    open_parents: int = 2


class Transaction(NamedTuple):
    """`child` is its uncommitted version of the row; having one is holding the row's lock."""

    name: str
    phase: Phase = Phase.BEFORE
    parent: State = State.RUNNING
    counted: int | None = None
    child: Child | None = None


class World(NamedTuple):
    transactions: tuple[Transaction, Transaction]
    child: Child = Child()
    rollbacks: int = 1


FanInStep: TypeAlias = Step[World, None]


@dataclass(frozen=True, slots=True)
class FanInModel:
    way: Way

    def start(self) -> World:
        return World((Transaction("a"), Transaction("b")))

    def is_settled(self, world: World) -> bool:
        return world.child.state is State.READY

    def broken(self, world: World, step: FanInStep) -> list[str]:
        is_early = step.world.child.state is State.READY and not _parents_are_done(step.world)
        return [READY_TOO_EARLY] if is_early else []

    def steps(self, world: World) -> Iterator[FanInStep]:
        for place in (0, 1):
            yield from self._transact(world, place)
            yield from _roll_back(world, place)
        sweeps = self.way is Way.NOT_EXISTS_AND_SWEEP and _parents_are_done(world)
        if sweeps and world.child.state is State.NEW:
            yield Step("sweep", world._replace(child=_ready(world.child)), Move.ADVANCE)

    def _transact(self, world: World, place: int) -> Iterator[FanInStep]:
        own = world.transactions[place]
        match own.phase:
            case Phase.BEFORE:
                done = own._replace(phase=Phase.FINISHED, parent=after(Move.COMPLETE, own.parent))
                yield Step(f"{own.name} finishes", _put(world, place, done), Move.COMPLETE)
            case Phase.FINISHED if self.way is Way.COUNTER_READ_FIRST:
                counted = own._replace(phase=Phase.COUNTED, counted=world.child.open_parents)
                yield Step(f"{own.name} reads {counted.counted}", _put(world, place, counted))
            case Phase.FINISHED | Phase.COUNTED:
                yield from self._advance(world, place)
            case Phase.ADVANCED:
                committed = _put(world, place, own._replace(phase=Phase.COMMITTED, child=None))
                child = own.child or world.child
                yield Step(f"{own.name} commits", committed._replace(child=child))

    def _advance(self, world: World, place: int) -> Iterator[FanInStep]:
        own, other = world.transactions[place], world.transactions[1 - place]
        child = self._child_after(world, own, other)
        if child is None:
            advanced = _put(world, place, own._replace(phase=Phase.ADVANCED))
            yield Step(f"{own.name} sees the other parent running", advanced)
        elif other.child is None:
            advanced = _put(world, place, own._replace(phase=Phase.ADVANCED, child=child))
            move = Move.ADVANCE if child.state is State.READY else None
            yield Step(f"{own.name} makes the child {child.state}", advanced, move)

    def _child_after(self, world: World, own: Transaction, other: Transaction) -> Child | None:
        """Return the row that this transaction would write, or None if it leaves it alone."""
        child = world.child
        if self.way in {Way.NOT_EXISTS, Way.NOT_EXISTS_AND_SWEEP}:
            sees_other_done = other.phase is Phase.COMMITTED
            return _ready(child) if sees_other_done and child.state is State.NEW else None
        counted = child.open_parents if own.counted is None else own.counted
        child = child._replace(open_parents=counted - 1)
        return child if child.open_parents else _ready(child)


def _roll_back(world: World, place: int) -> Iterator[FanInStep]:
    own = world.transactions[place]
    if world.rollbacks and Phase.BEFORE < own.phase < Phase.COMMITTED:
        undone = _put(world, place, Transaction(own.name))
        label = f"{own.name} rolls back"
        yield Step(label, undone._replace(rollbacks=world.rollbacks - 1), helps=False)


def _parents_are_done(world: World) -> bool:
    return all(own.phase is Phase.COMMITTED for own in world.transactions)


def _ready(child: Child) -> Child:
    return child._replace(state=after(Move.ADVANCE, child.state))


def _put(world: World, place: int, transaction: Transaction) -> World:
    first, second = world.transactions
    pair = (transaction, second) if place == 0 else (first, transaction)
    return world._replace(transactions=pair)
