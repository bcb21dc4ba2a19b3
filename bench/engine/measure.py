"""One measurement: a process of its own, in the environment of the peer it measures.

    drain    fill the queue, start the workers, stop the clock when all is durably done
    latency  send tasks to an idle worker one by one; how long until each one runs
    growth   what a claim costs in a small table, and in a very large one

The clock of a drain starts when the last worker has run its first task, so neither
imports nor connecting count. It stops at the moment at which the database was asked
and had nothing unfinished left. A drain that would take very long is cut, and rated by
what the database calls finished at the cut.
"""

from __future__ import annotations

import json
import os
import random
import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Protocol, cast

from bench.engine import cpu, ticks
from bench.engine.figures import Drain, Figures, Growth, Kind, Latency, Run, percentile
from bench.engine.lifeline import end_with_parent
from bench.engine.peers.base import Peer, Worker, load
from bench.engine.ticks import Ticks

PATIENCE_S = 60.0
NEAR_THE_END = 3  # a drain that is a third done at its limit gets as much time as it needs
WARM_UP = 20
SINGLES = 1_000
PROBES = 150
CLAIMS = 500


class TooFewTasks(Exception):
    """The drain was half over before it was seen to begin; its rate would be made up."""


class Growing(Protocol):
    """What `growth` needs from a peer beyond the rest."""

    def fill(self, *, done: int, queued: int) -> None: ...

    def claim(self) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sample:
    at_s: float
    tasks: int
    worker_s: float
    server_s: float


def measure_drain(run: Run, peer: Peer) -> Drain:
    """Fill the queue, empty it with `run.workers` processes, and say how fast both were."""
    idle = cpu.wait_until_idle()
    peer.setup()
    filled_in_s = _timed(lambda: peer.bulk(run.tasks))
    peer.settle()

    workers = peer.start(run.workers)
    begin = _wait_for_begin(run, workers)
    end, finished = _wait_for_end(run, peer, workers, begin)

    moved = max(1, finished - begin.tasks)
    seconds = end.at_s - begin.at_s
    return Drain(
        bulk_per_s=run.tasks / filled_in_s,
        tasks_per_s=moved / seconds,
        worker_us=(end.worker_s - begin.worker_s) * 1e6 / moved,
        server_us=(end.server_s - begin.server_s) * 1e6 / moved,
        tasks=run.tasks,
        finished=finished,
        seconds=seconds,
        idle_before=idle,
    )


def measure_latency(run: Run, peer: Peer) -> Latency:
    """Send tasks one by one, first without a worker, then to one that waits for them."""
    idle = cpu.wait_until_idle()
    peer.setup()
    peer.single(WARM_UP)
    singles_in_s = _timed(lambda: peer.single(SINGLES))
    sent = WARM_UP + SINGLES

    workers = peer.start(1)
    _wait(run, workers, lambda seen: seen.tasks >= sent)
    time.sleep(0.5)
    for _ in range(PROBES):
        time.sleep(random.uniform(0.02, 0.06))
        peer.one(time.monotonic_ns())
    _wait(run, workers, lambda seen: seen.tasks >= sent + PROBES)

    waits = ticks.waits_ms(run.folder)
    return Latency(
        single_per_s=SINGLES / singles_in_s,
        p50_ms=percentile(waits, 0.5),
        p99_ms=percentile(waits, 0.99),
        idle_before=idle,
    )


def measure_growth(run: Run, peer: Peer) -> Growth:
    """Time claims of one task in a small and in a large table, by turns.

    By turns, because the ratio of two figures taken minutes apart says more about the
    machine than about the tables.
    """
    large = load(replace(run, url=run.large_url))
    _fill(peer, done=0, queued=2 * CLAIMS)
    _fill(large, done=run.tasks, queued=run.tasks)
    idle = cpu.wait_until_idle()
    claims = [(_claim_ms(peer), _claim_ms(large)) for _ in range(CLAIMS)]
    return Growth(
        empty_p50_ms=statistics.median(small_ms for small_ms, _ in claims),
        full_p50_ms=statistics.median(large_ms for _, large_ms in claims),
        idle_before=idle,
    )


MEASURES: dict[Kind, Callable[[Run, Peer], Figures]] = {
    "drain": measure_drain,
    "latency": measure_latency,
    "growth": measure_growth,
}


def _timed(act: Callable[[], None]) -> float:
    started = time.perf_counter()
    act()
    return time.perf_counter() - started


def _fill(peer: Peer, *, done: int, queued: int) -> None:
    peer.setup()
    cast(Growing, peer).fill(done=done, queued=queued)
    peer.settle()


def _claim_ms(peer: Peer) -> float:
    return _timed(cast(Growing, peer).claim) * 1e3


def _wait_for_begin(run: Run, workers: list[Worker]) -> _Sample:
    """Return the state at the moment when every worker has run a task.

    With very few tasks a quick worker may leave nothing to a slow starter. Then the
    moment of the first task counts, or hardly anything would be left to measure.
    """
    half = run.tasks // 2
    _wait(run, workers, lambda seen: seen.tasks > 0)
    first = _sample(run, workers)
    _wait(run, workers, lambda seen: seen.processes >= run.workers or seen.tasks > half)
    last = _sample(run, workers)
    begin = last if last.tasks <= half else first
    if begin.tasks > half:
        raise TooFewTasks(f"{run.peer} drains {run.tasks} tasks too fast to be timed: raise N")
    return begin


def _wait_for_end(
    run: Run, peer: Peer, workers: list[Worker], begin: _Sample
) -> tuple[_Sample, int]:
    """Return the state at the end of the drain, and how many tasks were finished by then."""
    cut = begin.at_s + run.limit_s
    seen = _wait(run, workers, lambda seen: seen.tasks >= run.tasks or time.monotonic() >= cut)
    if seen.tasks * NEAR_THE_END >= run.tasks:
        cut = begin.at_s + run.limit_s * NEAR_THE_END
        _wait(run, workers, lambda seen: seen.tasks >= run.tasks or time.monotonic() >= cut)
    while True:
        asked_at_s = time.monotonic()
        unfinished = peer.unfinished()
        if unfinished == 0 or asked_at_s >= cut:
            return replace(_sample(run, workers), at_s=asked_at_s), run.tasks - unfinished
        time.sleep(0.005)


def _wait(run: Run, workers: list[Worker], met: Callable[[Ticks], bool]) -> Ticks:
    """Wait until the ticks meet a condition. Raises when the workers cannot get there."""
    deadline = time.monotonic() + PATIENCE_S
    while not met(seen := ticks.read(run.folder)):
        died = [worker.returncode for worker in workers if worker.poll() is not None]
        if died or time.monotonic() > deadline:
            log = (run.folder / "worker.log").read_text(errors="replace")[-2_000:]
            why = f"a worker ended with {died[0]}" if died else "the workers do not get on"
            raise RuntimeError(f"{run.peer}: {why}; its log ends:\n{log}")
        time.sleep(0.005)
    return seen


def _sample(run: Run, workers: list[Worker]) -> _Sample:
    return _Sample(
        at_s=time.monotonic(),
        tasks=ticks.read(run.folder).tasks,
        worker_s=cpu.tree_seconds(worker.pid for worker in workers),
        server_s=cpu.tree_seconds([run.server_pid]) if run.server_pid else 0.0,
    )


if __name__ == "__main__":
    end_with_parent()
    this_run = Run.from_environment()
    figures = MEASURES[this_run.kind](this_run, load(this_run))
    print(json.dumps(asdict(figures)), flush=True)
    os._exit(0)  # its workers are killed next: nothing is worth closing in good order
