"""`python -m bench.api`: what it is like to use Rushes over HTTP.

- start: from just before a small film is sent until a worker has begun with it (`rushes up`);
- list: the first page of the jobs with a long history, on both databases, and how many a second;
- crowd: how long until everybody who listens has heard of an event;
- scrape: a scrape by Prometheus with the same history, once it has been counted;
- segments: beside uvicorn's plain static files (`bench.api.segments`).
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from statistics import quantiles

import httpx

from bench.api import crowd
from bench.api.house import House, fill, opened
from bench.progress import say
from tests.postgres import PostgresServer

HEAD = b"\x00\x00\x00\x18ftypisom\x00\x00\x02\x00isomiso2mdat"
_films = count()


def main() -> None:
    """Measure all parts, print a table, and one JSON object as the last line."""
    jobs, clients = int(os.environ.get("JOBS", "100000")), int(os.environ.get("CLIENTS", "500"))
    starts = int(os.environ.get("STARTS", "100"))
    figures: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder, PostgresServer() as server:
        root = Path(folder)
        with opened(root / "new", command="up") as house:
            figures |= _summary("start", _starts(house, starts), (50, 99))
        history = {
            "sqlite": f"sqlite:///{root / 'long' / 'rushes.db'}",
            "postgres": server.create_database("history"),
        }
        (root / "long").mkdir()
        for name, url in history.items():
            say(f"writing {jobs:,} jobs ({name})")
            fill(url, jobs)
            with opened(root / "long", url) as house:
                figures |= _of_history(name, house, clients)
    figures["list_p95_ms"] = max(figures["list_sqlite_p95_ms"], figures["list_postgres_p95_ms"])
    say("segments")
    figures["segment_ratio"] = _segments()
    _print(figures, jobs, clients)


def _of_history(name: str, house: House, clients: int) -> dict[str, float]:
    with httpx.Client(base_url=house.address, headers=house.headers, timeout=60) as http:
        listed = _timed(lambda: http.get("/api/jobs").raise_for_status(), 200)
        while http.get("/metrics").status_code != 200:
            time.sleep(0.2)
        scraped = _timed(lambda: http.get("/metrics").raise_for_status(), 50)
        sent = http.post("/api/videos", files={"file": ("f.mp4", _film())}, data={"text": "false"})
        job_id = sent.raise_for_status().json()["job_id"]
    told = crowd.heard(house, job_id, clients)
    return {
        **_summary(f"list_{name}", listed, (50, 95)),
        f"list_{name}_per_s": round(1000 * len(listed) / sum(listed)),
        **_summary(f"scrape_{name}", scraped, (50,)),
        **_summary(f"crowd_{name}", told, (50, 99)),
    }


def _starts(house: House, n: int) -> list[float]:
    """Return the ms between sending a film and its first task. What is sent is no film: it ends."""
    found = []
    with httpx.Client(base_url=house.address, headers=house.headers, timeout=60) as http:
        for _ in range(n):
            began = time.time() * 1000
            sent = http.post(
                "/api/videos", files={"file": ("f.mp4", _film())}, data={"text": "false"}
            )
            job = f"/api/jobs/{sent.raise_for_status().json()['job_id']}"
            while http.get(job).json()["status"] in ("queued", "running"):
                time.sleep(0.05)
            found.append(_started(http.get(job).json()) - began)
    return found


def _started(job: dict[str, str]) -> float:
    from datetime import datetime

    return datetime.fromisoformat(job["started_at"]).timestamp() * 1000


def _film() -> bytes:
    return HEAD + b"%d" % next(_films)


def _timed(ask: Callable[[], object], n: int) -> list[float]:
    ask()
    times = []
    for _ in range(n):
        began = time.perf_counter()
        ask()
        times.append((time.perf_counter() - began) * 1000)
    return times


def _summary(name: str, times: list[float], percents: tuple[int, ...]) -> dict[str, float]:
    cuts = quantiles(times, n=100, method="inclusive")
    return {f"{name}_p{percent}_ms": round(cuts[percent - 1], 1) for percent in percents}


def _segments() -> float:
    done = subprocess.run(
        [sys.executable, "-m", "bench.api.segments"], check=True, capture_output=True, text=True
    )
    print(done.stdout)
    ratio: float = json.loads(done.stdout.splitlines()[-1])["segment_ratio"]
    return ratio


def _print(figures: dict[str, float], jobs: int, clients: int) -> None:
    print(
        f"{jobs:,} jobs of history, {clients} listeners; {os.cpu_count()} cores, "
        f"Python {platform.python_version()}\n"
    )
    for name, value in figures.items():
        print(f"{name:28} {value:>10,}")
    print()
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
