"""The same commands on PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest

from rushes.domain.graph import Step
from rushes.store.database import open_database
from rushes.store.migrate import latest
from tests.cli.conftest import Cli
from tests.kinds import KINDS
from tests.world import World, sql


@pytest.fixture
def world(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    monkeypatch.setenv("RUSHES_DATABASE_URL", postgres_url)
    with closing(open_database(postgres_url)) as database:
        world = World(database, KINDS)
        world.now = None  # type: ignore[assignment]
        yield world


def test_every_command_works_on_postgresql(cli: Cli, world: World):
    job_id = world.submit({"noop": Step(items=[{}] * 3), "join": Step(after=("noop",))})
    owner = world.worker("ann")
    first, second = world.claim(owner, 2)
    world.complete(first)
    world.fail(second, "DISK_FULL", retryable=False)

    told = {
        command: cli(*command.split(), "--json")
        for command in (
            "db upgrade",
            "jobs list --status running --kind test",
            f"jobs show {job_id[-8:]}",
            "jobs why @last",
            "jobs events @last",
            "jobs logs @last",
            "jobs priority @last high",
            "workers list",
            "workers drain ann",
            "workers resume ann",
            "queue pause demo.shard",
            "queue list",
            "queue resume demo.shard",
            "config check",
            "jobs retry --code DISK_FULL",
            "jobs kill @last --reason done",
            "doctor --strict",
        )
    }

    assert {command: answer.code for command, answer in told.items() if answer.code} == {}
    assert told["db upgrade"].json["applied"] == []
    assert [job["job_id"] for job in told["jobs list --status running --kind test"].json["items"]]
    assert told[f"jobs show {job_id[-8:]}"].json["raw_state"] == {
        "done": 1,
        "error": 1,
        "ready": 1,
        "skipped": 1,
    }
    assert told["jobs retry --code DISK_FULL"].json["jobs"] == [{"job_id": job_id, "tasks": 2}]
    assert told["jobs kill @last --reason done"].json["status"] == "killed"
    assert told["doctor --strict"].json["findings"] == []


def test_empty_postgresql_database_is_told_to_be_upgraded(cli: Cli, world: World):
    sql(world.db, "DROP TABLE schema_migrations")

    answer = cli("jobs", "list")

    assert answer.code == 6
    assert answer.err.splitlines() == [
        f"error: the database has schema 0, this program needs {latest()} (SCHEMA_MISMATCH)",
        "hint: run: rushes db upgrade",
    ]
