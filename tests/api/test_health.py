"""Health: probes learn up or down and nothing else, an admin learns all but secrets."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from rushes.api import health as health_of_server
from rushes.api.context import Context
from rushes.api.server import build
from rushes.api.sse import Hub
from rushes.engine import leader
from rushes.engine.notify import open_notifier
from rushes.library.library import Library
from rushes.settings import Settings
from rushes.store.database import Database, ignore, open_database
from rushes.store.migrate import latest
from tests.api.house import House
from tests.library.studio import Studio
from tests.waiting import until
from tests.world import sql

OPEN = ("/livez", "/readyz", "/health")


@pytest.fixture
def studio(db: Database, tmp_path: Path) -> Studio:
    return Studio(db, tmp_path / "data")


@pytest.fixture
def house(studio: Studio) -> Iterator[House]:
    with closing(open_notifier(studio.db)) as notifier:
        yield House(studio, application(studio.library, notifier))
    studio.db.on_commit = ignore


def application(library: Library, notifier: object = None, settings: Settings | None = None):
    settings = settings or Settings(data=library.storage.root)
    hub = Hub(library, notifier, settings)  # type: ignore[arg-type]
    return build(Context(library=library, settings=settings, notifier=notifier, hub=hub))  # type: ignore[arg-type]


def test_anybody_learns_whether_it_is_up_and_two_numbers(house: House, studio: Studio):
    """000-134: the database, active workers, pending jobs; no names."""
    studio.add()
    nobody = house.visitor()

    assert nobody.json("GET", "/livez") == {"status": "up"}
    assert nobody.json("GET", "/readyz") == {"status": "up"}
    assert nobody.json("GET", "/health") == {
        "status": "up",
        "database": "up",
        "workers_active": 1,
        "jobs_pending": 1,
    }


def test_worker_that_is_silent_or_stopped_is_not_counted(house: House, studio: Studio):
    sql(studio.db, "UPDATE workers SET last_heartbeat = last_heartbeat - 301000")

    assert house.visitor().json("GET", "/health")["workers_active"] == 0


def test_database_that_is_away_is_told_without_a_reason(database_url: str, tmp_path: Path):
    """000-134: up or down; neither an address nor a stack trace."""
    db = open_database(database_url)
    if db.schema_version() == 0:
        db.migrate()
    visitor = House(studio := Studio(db, tmp_path), application(studio.library)).visitor()
    db.close()

    ready, health = (visitor.problem("GET", path, 503) for path in ("/readyz", "/health"))

    assert visitor.json("GET", "/livez") == {"status": "up"}
    assert (ready["database"], ready["schema"], ready["storage"]) == ("down", "down", "up")
    assert health["database"] == "down"
    told = f"{ready} {health}"
    assert not [
        word for word in ("Traceback", "127.0.0.1", str(tmp_path), "psycopg") if word in told
    ]


def test_probe_is_answered_while_the_database_hangs(
    studio: Studio, monkeypatch: pytest.MonkeyPatch
):
    """The database is asked in one thread, however many ask how it is."""
    monkeypatch.setattr(health_of_server, "PROBE_SECONDS", 0.2)
    answers = threading.Event()
    asked: list[int] = []

    def ask() -> int:
        asked.append(1)
        answers.wait(30)
        return 7

    probe = health_of_server.Probe(ask)
    began = time.monotonic()
    hung = [asyncio.run(probe()) for _ in range(3)]
    answers.set()
    until(lambda: asyncio.run(probe()) == 7)

    assert hung == [None] * 3
    assert len(asked) <= 2
    assert time.monotonic() - began < 5


def test_server_is_not_ready_for_another_schema(house: House, studio: Studio):
    sql(studio.db, f"INSERT INTO schema_migrations (version, name) VALUES ({latest() + 1}, 'new')")
    try:
        told = house.visitor().problem("GET", "/readyz", 503)
    finally:
        sql(studio.db, f"DELETE FROM schema_migrations WHERE version > {latest()}")

    assert (told["database"], told["schema"]) == ("up", "down")


def test_server_is_not_ready_without_room(studio: Studio):
    library = replace(studio.library, reserve_bytes=1 << 60)
    told = House(studio, application(library)).visitor().problem("GET", "/readyz", 503)

    assert (told["storage"], told["database"]) == ("down", "up")
    assert told["detail"] == "the server is not ready: storage"


def test_admin_sees_storage_database_work_loops_and_machine(house: House, studio: Studio):
    """000-135."""
    studio.add()
    studio.take("probe")
    leader.lead(studio.engine, "recovery", "ann#1", lease_ms=60_000)
    leader.lead(studio.engine, "layout", "bob#1", lease_ms=-1)

    told = house.admin.json("GET", "/api/health")

    assert told["storage"]["total_bytes"] >= told["storage"]["free_bytes"] > 0
    assert told["storage"]["has_room"] is True
    assert told["database"]["dialect"] == studio.db.dialect
    assert told["database"]["schema_version"] == latest()
    assert told["processing"]["jobs"]["running"] == 1
    assert told["processing"]["tasks_running"] == 1
    assert told["processing"]["workers"]["busy"] == 1
    assert told["loops"] == [
        {"name": "layout", "leader": "bob", "is_led": False},
        {"name": "recovery", "leader": "ann", "is_led": True},
    ]
    assert told["machine"]["sandbox"]
    assert "nobody runs the loop layout" in told["problems"]
    assert "no worker is there to take tasks" not in told["problems"]


def test_health_in_full_is_for_admins_and_tells_no_secret(house: House, studio: Studio):
    key = house.key(house.user("ann"))

    house.visitor(key).problem("GET", "/api/health", 403)
    house.visitor().problem("GET", "/api/health", 401)
    text = house.admin.get("/api/health").text

    assert studio.db.url not in text
    assert str(studio.storage.root) not in text
