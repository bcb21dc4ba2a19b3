"""Explores every interleaving of a model, breadth first: the first trace found is the shortest.

Safety: no step from any reachable world breaks an invariant. Liveness: from every reachable
world a settled one can still be reached by steps that `help`; a model lets neither faults nor
people help, so a world that only luck can save counts as stuck.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, Protocol, TypeVar

from rushes.domain.task import Move

STUCK = "a settled world can always be reached"

World = TypeVar("World", bound=Hashable)
Fact = TypeVar("Fact")


class Step(NamedTuple, Generic[World, Fact]):
    """One thing that may happen next. `fact` is what an invariant must know beside the worlds."""

    label: str
    world: World
    move: Move | None = None
    fact: Fact | None = None
    helps: bool = True


class Model(Protocol[World, Fact]):
    """What the explorer asks of a model. An invariant is named by a sentence."""

    def start(self) -> World: ...
    def steps(self, world: World) -> Iterable[Step[World, Fact]]: ...
    def broken(self, world: World, step: Step[World, Fact]) -> Iterable[str]: ...
    def is_settled(self, world: World) -> bool: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What an exploration saw; `broken` is None when every invariant held everywhere."""

    states: int
    steps: int
    moves: frozenset[Move]
    labels: frozenset[str]
    broken: str | None
    trace: tuple[str, ...]

    def __str__(self) -> str:
        if self.broken is None:
            return f"nothing broken in {self.states:,} states and {self.steps:,} steps"
        lines = (f"{number:>3}. {label}" for number, label in enumerate(self.trace, 1))
        return "\n".join([f"BROKEN: {self.broken}", *lines])


def explore(
    model: Model[World, Fact], *, sought: str | None = None, limit: int = 5_000_000
) -> Finding:
    """Visit every reachable world and return the shortest way to break an invariant.

    `sought` names the one invariant to look for; the others are then left alone.
    """
    with _collector_at_rest():
        graph = Graph(model.start())
        for number, world in graph.unvisited():
            for step in model.steps(world):
                for sentence in model.broken(world, step):
                    if sought in (None, sentence):
                        return graph.finding(sentence, (*graph.trace(number), step.label))
                graph.add(number, step)
            if len(graph.worlds) > limit:
                raise MemoryError(f"more than {limit:,} states: the model is not bounded")

        stuck = graph.first_stuck(model.is_settled)
        if stuck is not None and sought in (None, STUCK):
            return graph.finding(STUCK, graph.trace(stuck))
        return graph.finding(None, ())


def follow(model: Model[World, Fact], labels: Iterable[str]) -> World:
    """Take the steps with these labels, one after the other, and return where they lead."""
    world = model.start()
    for label in labels:
        possible = {step.label: step.world for step in model.steps(world)}
        if label not in possible:
            raise LookupError(f"{label!r} cannot happen here, only {sorted(possible)}")
        world = possible[label]
    return world


@contextmanager
def _collector_at_rest() -> Iterator[None]:
    """Worlds are trees that live to the end: looking for cycles in them costs a quarter."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@dataclass(slots=True)
class Graph(Generic[World]):
    """The worlds seen so far, numbered in the order of their distance from the start."""

    first: World
    worlds: list[World] = field(init=False)
    numbers: dict[World, int] = field(init=False)
    found_by: list[tuple[int, str]] = field(init=False)
    helped_from: list[list[int]] = field(init=False)
    steps: int = 0
    moves: set[Move | None] = field(default_factory=set)
    labels: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.worlds = [self.first]
        self.numbers = {self.first: 0}
        self.found_by = [(0, "")]
        self.helped_from = [[]]

    def unvisited(self) -> Iterator[tuple[int, World]]:
        """Yield each world once, those included that are added meanwhile."""
        yield from enumerate(self.worlds)

    def add(self, source: int, step: Step[World, Fact]) -> None:
        self.steps += 1
        self.moves.add(step.move)
        self.labels.add(step.label)
        number = self.numbers.setdefault(step.world, len(self.worlds))
        if number == len(self.worlds):
            self.worlds.append(step.world)
            self.found_by.append((source, step.label))
            self.helped_from.append([])
        if step.helps:
            self.helped_from[number].append(source)

    def first_stuck(self, is_settled: Callable[[World], bool]) -> int | None:
        """Return the nearest world from which no settled one can be reached."""
        hopeful = bytearray(is_settled(world) for world in self.worlds)
        waiting = [number for number, settled in enumerate(hopeful) if settled]
        while waiting:
            for source in self.helped_from[waiting.pop()]:
                if not hopeful[source]:
                    hopeful[source] = True
                    waiting.append(source)
        stuck = hopeful.find(0)
        return None if stuck < 0 else stuck

    def trace(self, number: int) -> tuple[str, ...]:
        labels = []
        while number:
            number, label = self.found_by[number]
            labels.append(label)
        return tuple(reversed(labels))

    def finding(self, broken: str | None, trace: tuple[str, ...]) -> Finding:
        return Finding(
            states=len(self.worlds),
            steps=self.steps,
            moves=frozenset(move for move in self.moves if move is not None),
            labels=frozenset(self.labels),
            broken=broken,
            trace=trace,
        )
