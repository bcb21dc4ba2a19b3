"""What a system must offer to be measured.

A peer is driven from one process (fill the queue, send one task, look whether all is
done) and works in others: `start` runs `bench.engine.worker`, which calls the `work`
function of the same module. A new database or broker, empty, is there before `setup`.

Fairness rests on `unfinished`: it asks the database, never the worker, so a drain is
over only when nothing of it could be lost in a crash (as far as the peer promises).
"""

from __future__ import annotations

import subprocess
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path

from bench.engine.figures import Run

TASK = "noop"
ROOT = Path(__file__).parents[3]

Worker = subprocess.Popen[bytes]


class Peer(ABC):
    """Drives one system through one measurement."""

    def __init__(self, run: Run) -> None:
        self.run = run

    @abstractmethod
    def setup(self) -> None:
        """Connect, and create whatever the system keeps its tasks in."""

    @abstractmethod
    def bulk(self, tasks: int) -> None:
        """Enqueue many tasks in the fastest way the system documents."""

    @abstractmethod
    def single(self, tasks: int) -> None:
        """Enqueue tasks one after the other, each durable before the next is sent."""

    @abstractmethod
    def one(self, sent_ns: int) -> None:
        """Enqueue one task that carries the time at which it was sent."""

    @abstractmethod
    def unfinished(self) -> int:
        """Return how many tasks are not durably finished yet."""

    def settle(self) -> None:  # noqa: B027 - a broker has nothing to settle
        """Give a full queue what a minute of rest would give it: fresh statistics."""

    def start(self, workers: int) -> list[Worker]:
        """Start the worker processes."""
        return [self.spawn("-m", "bench.engine.worker") for _ in range(workers)]

    def spawn(self, *arguments: str) -> Worker:
        """Run Python of this peer's environment; what it prints goes to a log file."""
        with (self.run.folder / "worker.log").open("ab") as log:
            return subprocess.Popen(
                [sys.executable, *arguments], cwd=ROOT, stdout=log, stderr=subprocess.STDOUT
            )


def load(run: Run) -> Peer:
    """Return the peer of this run, ready to set up."""
    module = import_module(f"bench.engine.peers.{run.peer}")
    peer: Callable[[Run], Peer] = module.PEER
    return peer(run)


def chunks(tasks: int, size: int) -> Iterator[int]:
    """Cut a number of tasks into batches.

    >>> list(chunks(25, 10))
    [10, 10, 5]
    """
    for begun in range(0, tasks, size):
        yield min(size, tasks - begun)
