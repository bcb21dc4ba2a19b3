"""Many workers that wait for work, and less work than workers."""

from __future__ import annotations

import asyncio
import os
from typing import Any

import httpx
import psycopg
import pytest

from rushes.app import App
from rushes.domain.graph import JobRequest, Step
from rushes.domain.person import LOCAL
from rushes.engine.presence import Introduction, register
from rushes.engine.submit import submit
from rushes.library import fleet
from rushes.stages.demo import LANE
from tests.e2e.place import Place
from tests.e2e.server import Server, running

SOAK = os.environ.get("RUSHES_SOAK") == "1"
WORKERS, TASKS = (1_000, 100) if SOAK else (150, 40)
KIND, LANES = "demo.total", {LANE: 1}
POOL = 10
LONG = pytest.mark.soak if SOAK else pytest.mark.timeout(120)
REST = 3  # who listens for hints, and who looks after the library


@LONG
def test_every_task_goes_to_one_of_those_who_wait(place: Place, postgres_url: str):
    """000-045, 000-146, 002-066: long polls hold no connection, however many they are."""
    place.settings |= {
        "RUSHES_DATABASE_URL": postgres_url,
        "RUSHES_DATABASE_POOL_SIZE": str(POOL),
    }
    with place.app() as app:
        hands = [_enlist(app, f"w{number}") for number in range(WORKERS)]
        with running(place) as server:
            claimed, connections = asyncio.run(_crowd(app, server, hands, postgres_url))

    assert sorted(claimed) == sorted(set(claimed))
    assert len(claimed) == TASKS
    assert connections <= 2 * POOL + REST  # the server's, and this test's own


def _enlist(app: App, name: str) -> tuple[str, str]:
    owner = register(
        app.engine, Introduction(name=name, lanes=LANES, kinds=frozenset({KIND}), type="remote")
    )
    return owner, fleet.add_key(app.db, LOCAL, name).text


async def _crowd(
    app: App, server: Server, hands: list[tuple[str, str]], url: str
) -> tuple[list[int], int]:
    """Return the tasks that were claimed, and how many connections the database saw at most."""
    limits = httpx.Limits(max_connections=None)
    async with httpx.AsyncClient(base_url=server.address, timeout=90, limits=limits) as http:
        waiting = [asyncio.create_task(_claim(http, *hand)) for hand in hands]
        await _until_all_wait(server, len(hands))
        most = _connections(url)
        request = JobRequest(kind="crowd", steps={KIND: Step(items=[{}] * TASKS)})
        await asyncio.to_thread(submit, app.engine, request)
        claimed: list[int] = []
        for answer in asyncio.as_completed(waiting, timeout=80):
            claimed += await answer
            most = max(most, _connections(url))
            if len(claimed) >= TASKS:
                break
        for one in waiting:
            one.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
    return claimed, most


async def _claim(http: httpx.AsyncClient, owner: str, key: str) -> list[int]:
    """Ask until there is something."""
    body = {"owner": owner, "want": LANES, "wait": 25}
    headers = {"Authorization": f"Bearer {key}"}
    while True:
        answer = await http.post("/api/worker/claim", json=body, headers=headers)
        if tasks := answer.raise_for_status().json()["tasks"]:
            return [task["task_id"] for task in tasks]


async def _until_all_wait(server: Server, n: int) -> None:
    """Wait until the server says that so many are there."""
    headers: dict[str, Any] = {"Authorization": f"Bearer {server.key}"}
    async with httpx.AsyncClient(base_url=server.address, headers=headers, timeout=60) as http:
        while f"rushes_workers_waiting {n}" not in (await http.get("/metrics")).text:
            await asyncio.sleep(0.1)


def _connections(url: str) -> int:
    with psycopg.connect(url) as connection:
        row = connection.execute(
            "SELECT count(*) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        ).fetchone()
    assert row is not None
    return int(row[0])
