"""`python -m bench.remote`: workers that have nothing but HTTP.

- claim: a crowd of workers waits in long polls, and tasks are submitted one after the other; from
  just before each is submitted until one of them has it.
- start: the same with one worker that waits.
- remote: a film through a server and one worker that fetches and sends all files, beside the same
  film with a worker that has the library; CPU seconds of all processes.
"""

from __future__ import annotations

import asyncio
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import httpx

from bench.api.house import House, opened
from bench.engine.cpu import wait_until_idle
from bench.media.cpu import spent
from bench.media.film import lasting
from rushes.app import open_app
from rushes.domain.graph import Step
from rushes.domain.person import LOCAL
from rushes.engine import submit
from rushes.engine.engine import Engine
from rushes.engine.presence import Introduction, register
from rushes.library import fleet
from rushes.settings import Settings
from rushes.stages.demo import LANE

KIND, LANES = "demo.total", {LANE: 1}


def main() -> None:
    """Measure all parts, print a table, and one JSON object as the last line."""
    workers, tasks = int(os.environ.get("WORKERS", "1000")), int(os.environ.get("TASKS", "100"))
    rounds, seconds = int(os.environ.get("ROUNDS", "3")), int(os.environ.get("SECONDS", "60"))
    with tempfile.TemporaryDirectory() as folder:
        crowd = _waits(Path(folder) / "crowd", workers, tasks)
        alone = _waits(Path(folder) / "alone", 1, 3 * tasks)
    ratios = []
    for _ in range(rounds):
        wait_until_idle(wanted=0.9, patience_s=20)
        near = _film(lasting(seconds, sound=True), far=False)
        wait_until_idle(wanted=0.9, patience_s=20)
        ratios.append(_film(lasting(seconds, sound=True), far=True) / near)
    figures = {
        "claim_p99_ms": _percent(crowd, 99),
        "claim_p50_ms": _percent(crowd, 50),
        "start_p50_ms": _percent(alone, 50),
        "start_p99_ms": _percent(alone, 99),
        "remote_ratio": round(median(ratios), 3),
    }
    print(f"{workers} workers wait; {os.cpu_count()} cores, Python {platform.python_version()}\n")
    for name, value in figures.items():
        print(f"{name:16} {value:>10,}")
    print()
    print(json.dumps(figures))


def _waits(folder: Path, workers: int, tasks: int) -> list[float]:
    """Return after how many ms each task was in somebody's hands."""
    settings = Settings(data=folder)
    with open_app(settings) as app:
        keys = [_enlist(app.engine, f"w{number}") for number in range(workers)]
        with opened(folder) as house:
            return asyncio.run(_crowd(app.engine, house, keys, tasks))


def _enlist(engine: Engine, name: str) -> tuple[str, str]:
    owner = register(
        engine, Introduction(name=name, lanes=LANES, kinds=frozenset({KIND}), type="remote")
    )
    return owner, fleet.add_key(engine.db, LOCAL, name).text


async def _crowd(
    engine: Engine, house: House, keys: list[tuple[str, str]], tasks: int
) -> list[float]:
    got: asyncio.Queue[tuple[float, list[dict[str, Any]]]] = asyncio.Queue()
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=None)
    async with httpx.AsyncClient(base_url=house.address, timeout=60, limits=limits) as http:
        waiting = [asyncio.create_task(_wait(http, owner, key, got)) for owner, key in keys]
        await asyncio.sleep(2 + len(keys) / 200)
        found = []
        for _ in range(tasks):
            began = time.monotonic()
            await asyncio.to_thread(
                submit.submit, engine, submit.JobRequest(kind="bench", steps={KIND: Step()})
            )
            at, claimed = await got.get()
            assert len(claimed) == 1
            found.append((at - began) * 1000)
            await asyncio.sleep(0.02)
        for one in waiting:
            one.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
    return found


async def _wait(http: httpx.AsyncClient, owner: str, key: str, got: asyncio.Queue[Any]) -> None:
    headers = {"Authorization": f"Bearer {key}"}
    outcomes: list[dict[str, Any]] = []
    while True:
        body = {"owner": owner, "want": LANES, "wait": 0 if outcomes else 25, "outcomes": outcomes}
        answer = await http.post("/api/worker/claim", json=body, headers=headers)
        tasks = answer.raise_for_status().json()["tasks"]
        if tasks:
            got.put_nowait((time.monotonic(), tasks))
        outcomes = [
            {**{name: task[name] for name in ("task_id", "lease_epoch")}, "outcome": "done"}
            for task in tasks
        ]


def _film(film: Path, *, far: bool) -> float:
    """Return the CPU seconds of everything that makes a film ready."""
    with tempfile.TemporaryDirectory() as folder:
        before = spent()
        if far:
            _by_far_worker(film, Path(folder))
        else:
            _run(Path(folder) / "near", "add", "--no-text", str(film))
        return spent() - before


def _by_far_worker(film: Path, folder: Path) -> None:
    with (
        opened(folder / "server") as house,
        closing(httpx.Client(base_url=house.address, headers=house.headers)) as http,
    ):
        token = http.post("/api/workers/tokens").raise_for_status().json()["token"]
        _run(folder / "far", "worker", "join", house.address, "--token", token)
        worker = _start(folder / "far", "worker", "run")
        try:
            with film.open("rb") as file:
                form = {"files": {"file": file}, "data": {"text": "false"}, "timeout": 600}
                sent = http.post("/api/videos", **form)
            job = f"/api/jobs/{sent.raise_for_status().json()['job_id']}"
            while (status := http.get(job).json()["status"]) in ("queued", "running"):
                time.sleep(0.5)
            assert status == "completed", status
        finally:
            worker.terminate()
            worker.wait(60)


def _run(data: Path, *words: str) -> None:
    process = _start(data, *words)
    assert process.wait() == 0, words


def _start(data: Path, *words: str) -> subprocess.Popen[bytes]:
    mine = {name: value for name, value in os.environ.items() if not name.startswith("RUSHES_")}
    return subprocess.Popen(
        [sys.executable, "-m", "rushes.cli.main", *words],
        env={**mine, "RUSHES_DATA": str(data)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def _percent(times: list[float], percent: int) -> float:
    return round(quantiles(times, n=100, method="inclusive")[percent - 1], 1)


if __name__ == "__main__":
    main()
