"""Calibrates the peers, then measures all systems round by round.

Within a round each figure is taken for all systems one after the other, and the order
rotates from round to round: what slows the machine for a minute slows them all.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from bench.engine.environments import python_of
from bench.engine.figures import RUN_VARIABLE, Drain, Growth, Latency, Run, Setting
from bench.engine.options import Options
from bench.engine.peers.base import ROOT
from bench.engine.roster import Backend, System
from bench.engine.servers import Server
from bench.progress import say

CALIBRATION_TASKS = 20_000
CALIBRATION_LIMIT_S = 2.0
CALIBRATION_TRIES = 2
WORKERS = (1, 2)
MEASUREMENT_LIMIT_S = 300


@dataclass(slots=True)
class Measured:
    """Everything known about one system: the settings kept, and a figure per round."""

    settings: dict[int, Setting] = field(default_factory=dict)
    drains: dict[int, list[Drain]] = field(default_factory=lambda: defaultdict(list))
    latencies: list[Latency] = field(default_factory=list)
    growths: list[Growth] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Runner:
    options: Options
    servers: Mapping[Backend, Server]

    def run(self, systems: list[System]) -> dict[str, Measured]:
        """Return what was measured, by the name of the system."""
        measured = {system.name: Measured() for system in systems}
        for system in systems:
            for workers in WORKERS:
                measured[system.name].settings[workers] = self._calibrate(system, workers)
        for number in range(self.options.rounds):
            turn = number % len(systems)
            self._round(number + 1, systems[turn:] + systems[:turn], measured)
        for system in systems:
            kept = measured[system.name]
            if system.grows:
                kept.growths.append(self._growth(system, kept.settings[1]))
        return measured

    def _calibrate(self, system: System, workers: int) -> Setting:
        """Return the setting with which a short drain is fastest, the best of two tries."""
        if len(system.candidates) == 1:
            return system.candidates[0]
        rates = [0.0] * len(system.candidates)
        for _ in range(CALIBRATION_TRIES):
            for place, setting in enumerate(system.candidates):
                drain = self._drain(
                    system,
                    setting,
                    workers=workers,
                    tasks=min(self.options.tasks, CALIBRATION_TASKS),
                    limit_s=min(self.options.limit_s, CALIBRATION_LIMIT_S),
                )
                rates[place] = max(rates[place], drain.tasks_per_s)
                say(f"calibration {system.name} x{workers} {setting}: {_short(drain)}")
        return system.candidates[rates.index(max(rates))]

    def _round(self, number: int, systems: list[System], measured: dict[str, Measured]) -> None:
        for workers in WORKERS:
            for system in systems:
                kept = measured[system.name]
                drain = self._drain(
                    system,
                    kept.settings[workers],
                    workers=workers,
                    tasks=self.options.tasks,
                    limit_s=self.options.limit_s,
                )
                kept.drains[workers].append(drain)
                say(f"round {number} {system.name} x{workers}: {_short(drain)}")
        for system in systems:
            kept = measured[system.name]
            latency = self._latency(system, kept.settings[1])
            kept.latencies.append(latency)
            say(f"round {number} {system.name}: p50 {latency.p50_ms:.2f} ms")

    def _drain(
        self, system: System, setting: Setting, *, workers: int, tasks: int, limit_s: float
    ) -> Drain:
        run = Run(
            peer=system.peer,
            kind="drain",
            setting=setting,
            workers=workers,
            tasks=tasks,
            limit_s=limit_s,
        )
        return Drain(**self._measure(system, run))

    def _latency(self, system: System, setting: Setting) -> Latency:
        run = Run(peer=system.peer, kind="latency", setting=setting)
        return Latency(**self._measure(system, run))

    def _growth(self, system: System, setting: Setting) -> Growth:
        with self.servers[system.backend].place() as large_url:
            run = Run(
                peer=system.peer,
                kind="growth",
                setting=setting,
                tasks=self.options.history,
                large_url=large_url,
            )
            growth = Growth(**self._measure(system, run))
        say(f"{system.name}: claim {growth.empty_p50_ms:.3f} -> {growth.full_p50_ms:.3f} ms")
        return growth

    def _measure(self, system: System, run: Run) -> dict[str, Any]:
        """Run one measurement in the environment of its peer and return its figures."""
        python = python_of(system.pins, self.options.cache)
        server = self.servers[system.backend]
        with _folder(self.options.cache) as folder, server.place() as url:
            return _figures(python, replace(run, url=url, folder=folder, server_pid=server.pid))


@contextmanager
def _folder(cache: Path) -> Iterator[Path]:
    """Make a folder for one measurement, on the disk of the cache."""
    with tempfile.TemporaryDirectory(prefix="run-", dir=cache) as folder:
        yield Path(folder)


def _figures(python: Path, run: Run) -> dict[str, Any]:
    """Start a measurement; whatever happens, it and its workers are gone afterwards.

    They share one session, so one signal reaches all of them.
    """
    measurement = subprocess.Popen(
        [python, "-m", "bench.engine.measure"],
        cwd=ROOT,
        env={**os.environ, RUN_VARIABLE: run.to_json(), "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        start_new_session=True,
        text=True,
    )
    try:
        printed, _ = measurement.communicate(timeout=MEASUREMENT_LIMIT_S)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(measurement.pid, signal.SIGKILL)
        measurement.wait()
    if measurement.returncode:
        raise SystemExit(f"bench: measuring {run.kind} of {run.peer} failed, see above")
    figures: dict[str, Any] = json.loads(printed.splitlines()[-1])
    return figures


def _short(drain: Drain) -> str:
    cut = f", cut after {drain.finished:,}" if drain.finished < drain.tasks else ""
    return (
        f"{drain.tasks_per_s:,.0f}/s, {drain.cpu_us:.0f} us CPU{cut}, "
        f"machine {drain.idle_before:.0%} idle before"
    )
