"""Turns what was measured into one table, a few ratios, and one line for machines."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from statistics import median

from bench.engine.figures import Setting
from bench.engine.roster import RUSHES_POSTGRES, RUSHES_SQLITE, System
from bench.engine.runner import WORKERS, Measured

Results = dict[str, Measured]

COLUMNS: dict[str, Callable[[Measured], str]] = {
    "drain1/s": lambda kept: f"{drain_per_s(kept, 1):,.0f}",
    "drain2/s": lambda kept: f"{drain_per_s(kept, 2):,.0f}",
    "cpu us/task": lambda kept: f"{cpu_us(kept):.1f}",
    "bulk/s": lambda kept: f"{bulk_per_s(kept):,.0f}",
    "single/s": lambda kept: f"{single_per_s(kept):,.0f}",
    "p50 ms": lambda kept: f"{p50_ms(kept):.2f}",
    "p99 ms": lambda kept: f"{p99_ms(kept):.2f}",
}


def table(systems: list[System], results: Results) -> str:
    """Return one row per system: medians over the rounds."""
    rows = [["system", *COLUMNS]]
    for system in systems:
        cells = [column(results[system.name]) for column in COLUMNS.values()]
        rows.append([system.name, *cells])
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    return "\n".join(_line(row, widths) for row in rows)


def notes(systems: list[System], results: Results) -> str:
    """Return the ratios, and what a reader must know to trust the table."""
    lines = [*_ratios(systems, results), *_shares(systems, results)]
    lines += _settings(systems, results)
    lines += _cuts(systems, results)
    lines.append(_quiet(results.values()))
    return "\n".join(lines)


def machine_line(systems: list[System], results: Results) -> str:
    """Return the JSON object that targets are checked against; unmeasured is null."""
    rushes = results.get(RUSHES_POSTGRES.name)
    sqlite = results.get(RUSHES_SQLITE.name)
    return json.dumps(
        {
            "drain_ratio_1": _rounded(_ratio(systems, results, 1)),
            "drain_ratio_2": _rounded(_ratio(systems, results, 2)),
            "drain_per_s": _rounded(drain_per_s(rushes, 1) if rushes else None),
            "cpu_us_per_task": _rounded(cpu_us(rushes) if rushes else None),
            "latency_p50_ms": _rounded(p50_ms(rushes) if rushes else None),
            "latency_p99_ms": _rounded(p99_ms(rushes) if rushes else None),
            "sqlite_drain_per_s": _rounded(drain_per_s(sqlite, 1) if sqlite else None),
            "claim_growth": _rounded(_growth(rushes) if rushes else None),
        }
    )


def drain_per_s(kept: Measured, workers: int) -> float:
    return median(drain.tasks_per_s for drain in kept.drains[workers])


def cpu_us(kept: Measured) -> float:
    return median(drain.cpu_us for drain in kept.drains[1])


def bulk_per_s(kept: Measured) -> float:
    return median(drain.bulk_per_s for workers in WORKERS for drain in kept.drains[workers])


def single_per_s(kept: Measured) -> float:
    return median(latency.single_per_s for latency in kept.latencies)


def p50_ms(kept: Measured) -> float:
    return median(latency.p50_ms for latency in kept.latencies)


def p99_ms(kept: Measured) -> float:
    return median(latency.p99_ms for latency in kept.latencies)


def fastest_peer(systems: list[System], results: Results, workers: int) -> System | None:
    """Return the fastest of the others that keep their tasks in PostgreSQL, too."""
    peers = [system for system in systems if system.pins and system.backend == "postgres"]
    return max(peers, key=lambda peer: drain_per_s(results[peer.name], workers), default=None)


def _line(cells: list[str], widths: list[int]) -> str:
    first, *rest = cells
    padded = [cell.rjust(width) for cell, width in zip(rest, widths[1:], strict=True)]
    return "  ".join([first.ljust(widths[0]), *padded])


def _ratio(systems: list[System], results: Results, workers: int) -> float | None:
    peer = fastest_peer(systems, results, workers)
    if peer is None or RUSHES_POSTGRES.name not in results:
        return None
    ours = drain_per_s(results[RUSHES_POSTGRES.name], workers)
    return ours / drain_per_s(results[peer.name], workers)


def _ratios(systems: list[System], results: Results) -> Iterable[str]:
    for workers in WORKERS:
        ratio = _ratio(systems, results, workers)
        peer = fastest_peer(systems, results, workers)
        if ratio and peer:
            yield f"drain, {workers} worker(s): Rushes on PostgreSQL is {ratio:.2f} x {peer.name}"
    rushes = results.get(RUSHES_POSTGRES.name)
    if rushes and rushes.growths:
        growth = rushes.growths[-1]
        yield (
            f"claim p50: {growth.empty_p50_ms:.3f} ms in a small table, "
            f"{growth.full_p50_ms:.3f} ms in a very large one: {growth.ratio:.2f} x"
        )


def _shares(systems: list[System], results: Results) -> Iterable[str]:
    for system in systems:
        drains = results[system.name].drains[1]
        worker, server = (
            median(drain.worker_us for drain in drains),
            median(drain.server_us for drain in drains),
        )
        yield f"cpu of {system.name}: {worker:.1f} us worker + {server:.1f} us server"


def _settings(systems: list[System], results: Results) -> Iterable[str]:
    for system in systems:
        if len(system.candidates) > 1:
            one, two = (_words(results[system.name].settings[workers]) for workers in WORKERS)
            yield f"best setting of {system.name}: {one} with one worker, {two} with two"


def _cuts(systems: list[System], results: Results) -> Iterable[str]:
    for system in systems:
        kept = results[system.name]
        drains = [drain for workers in WORKERS for drain in kept.drains[workers]]
        cut = [drain for drain in drains if drain.finished < drain.tasks]
        if cut:
            yield (
                f"{system.name}: {len(cut)} of {len(drains)} drains were cut after "
                f"{cut[0].seconds:.0f} s; its rate is that of the part it finished"
            )


def _quiet(results: Iterable[Measured]) -> str:
    shares = [share for kept in results for share in _idle_shares(kept)]
    return (
        f"machine idle before a measurement: median {median(shares):.0%}, least {min(shares):.0%}"
    )


def _idle_shares(kept: Measured) -> Iterable[float]:
    for drains in kept.drains.values():
        yield from (drain.idle_before for drain in drains)
    yield from (latency.idle_before for latency in kept.latencies)


def _growth(kept: Measured) -> float | None:
    return kept.growths[-1].ratio if kept.growths else None


def _words(setting: Setting) -> str:
    return ", ".join(f"{name} {value}" for name, value in setting.items())


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 2)
