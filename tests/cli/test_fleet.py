"""The commands around jobs: workers, kinds, the schema, the doctor, the settings."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from rushes.cli.config import hidden
from rushes.domain.graph import Step
from rushes.media import sandbox
from tests.cli.conftest import Cli
from tests.world import World


def test_workers_are_listed_with_load_and_totals(anywhere: Cli, world: World):
    """Shows 000-026."""
    owner = world.worker("gpu-1", capabilities=["gpu"])
    world.submit({"noop": Step(items=[{}, {}])})
    first, _ = world.claim(owner, 2)
    world.complete(first)

    header, line = anywhere("workers", "list").out.splitlines()
    [told] = anywhere("workers", "list", "--json").json["items"]

    assert header.split()[:3] == ["worker", "status", "load"]
    assert line.split()[:3] == ["gpu-1", "busy", "1/5"]
    assert (told["name"], told["status"], told["load"], told["tasks_done"]) == (
        *("gpu-1", "busy"),
        *(1, 1),
    )
    assert told["capabilities"] == ["gpu"]


def test_no_workers_are_told_as_such(anywhere: Cli, world: World):
    assert anywhere("workers", "list").out == "no workers\n"


def test_worker_is_drained_disabled_and_resumed(anywhere: Cli, world: World):
    """Shows 000-040."""
    world.worker("pi4")

    assert anywhere("workers", "drain", "pi4").out == "pi4 is draining\n"
    assert anywhere("workers", "disable", "pi4", "--json").json["mode"] == "disabled"
    assert anywhere("workers", "resume", "pi4").out == "pi4 is active\n"


def test_kinds_are_listed_paused_and_resumed(anywhere: Cli, world: World):
    paused = anywhere("queue", "pause", "demo.shard", "--reason", "disk is full")
    [shard] = [
        item
        for item in anywhere("queue", "list", "--json").json["items"]
        if item["kind"] == "demo.shard"
    ]

    assert paused.out == "demo.shard is paused\n"
    assert (shard["paused"], shard["paused_reason"]) == (True, "disk is full")
    assert "disk is full" in anywhere("queue", "list").out
    assert anywhere("queue", "resume", "demo.shard", "--json").json["was_paused"] is True
    assert anywhere("queue", "resume", "demo.shard").out == "demo.shard was not paused\n"


def test_kinds_are_listed_with_what_is_ready_and_running(anywhere: Cli, world: World):
    world.submit({"noop": Step(items=[{}] * 3)})
    world.claim(world.worker())

    [noop] = [
        item for item in anywhere("queue", "list", "--json").json["items"] if item["kind"] == "noop"
    ]

    assert (noop["ready"], noop["running"]) == (2, 1)


def test_upgrade_tells_what_it_did_and_can_be_repeated(cli: Cli):
    first, again = cli("db", "upgrade", "--json").json, cli("db", "upgrade").out

    assert first["applied"][0] == "0001_engine"
    assert first["schema_version"] == len(first["applied"])
    assert again == f"sqlite: schema {first['schema_version']}, nothing to do\n"


def test_upgrade_names_each_migration(cli: Cli):
    assert "applied 0001_engine\n" in cli("db", "upgrade").out


def test_doctor_finds_nothing_in_a_sound_database(cli: Cli, world: World):
    world.finish(world.worker())
    world.kill(world.submit())

    text, told = cli("doctor"), cli("doctor", "--strict", "--json")

    here, verdict = text.out.splitlines()
    assert (text.code, verdict[:2]) == (0, "ok")
    assert here.startswith("this machine: ffmpeg ")
    assert told.json["machine"]["walls"] == sandbox.level()
    assert told.code == 0
    assert (told.json["ok"], told.json["findings"], told.json["quiet"]) == (True, [], True)


def test_doctor_ends_with_1_when_a_promise_is_broken(cli: Cli, world: World, sqlite_url: str):
    job_id = world.submit()
    world.complete(world.claim(world.worker())[0])
    with sqlite3.connect(sqlite_url.removeprefix("sqlite:///")) as connection:
        connection.execute("UPDATE jobs SET status = 'failed', failure = '{}', failed_tasks = 1")

    text, told = cli("doctor", "--strict"), cli("doctor", "--strict", "--json")

    assert (text.code, told.code) == (1, 1)
    assert "violation I7" in text.out
    assert told.json["ok"] is False
    assert job_id in str(told.json["findings"])


def test_strict_doctor_says_when_work_still_goes_on(cli: Cli, world: World):
    world.submit()
    world.claim(world.worker())

    answer = cli("doctor", "--strict", "--wait", "0", "--json")

    assert (answer.code, answer.json["quiet"]) == (7, False)


def test_settings_are_shown_with_their_origin(cli: Cli, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("RUSHES_LEASE", "30")
    Path(".env").write_text("RUSHES_GPU_GRACE=5\n")

    told = cli("--data", "/tmp/x", "config", "show", "--origin", "--json").json["settings"]

    assert told["lease"] == {"value": 30.0, "origin": "environment"}
    assert told["gpu_grace"] == {"value": 5.0, "origin": ".env"}
    assert told["data"] == {"value": "/tmp/x", "origin": "option"}
    assert told["max_crashes"] == {"value": 3, "origin": "default"}


def test_settings_are_shown_as_a_table_with_their_defaults(cli: Cli):
    """Shows 000-037, 000-041 and 000-137."""
    rows = [line.split() for line in cli("config", "show").out.splitlines()]

    assert ["RUSHES_LEASE", "60"] in rows
    assert ["RUSHES_STALE_JOB_CHECK_INTERVAL", "5"] in rows
    assert ["RUSHES_WORKER_HEARTBEAT_INTERVAL", "10"] in rows
    assert ["RUSHES_WORKER_OFFLINE_THRESHOLD_MINUTES", "5"] in rows


def test_password_of_the_database_is_never_shown(cli: Cli):
    url = "postgresql://ann:geheim@127.0.0.1:1/rushes?password=geheim"

    shown = cli("--database-url", url, "config", "show", "--origin")
    checked = cli("--database-url", url, "config", "check")

    assert "postgresql://ann:***@127.0.0.1:1/rushes" in shown.out
    assert "geheim" not in shown.out + shown.err + checked.out + checked.err


@pytest.mark.parametrize(
    "url", ["sqlite:////srv/rushes.db", "postgresql://db/rushes", "postgresql:///rushes"]
)
def test_address_without_a_password_is_shown_as_it_is(url: str):
    assert hidden(url) == url


def test_check_accepts_what_is_right_and_writes_nothing(cli: Cli, tmp_path: Path):
    text, told = cli("config", "check"), cli("config", "check", "--json")

    assert (text.code, told.code) == (0, 0)
    assert told.json["ok"] is True
    assert list(tmp_path.iterdir()) == []


def test_check_looks_at_the_schema(cli: Cli, world: World):
    assert cli("config", "check", "--json").json["schema_version"] >= 1


def test_check_finds_a_misspelt_setting(cli: Cli, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("RUSHES_LEESE", "30")

    answer = cli("config", "check")

    assert answer.code == 2
    assert answer.err == (
        "error: RUSHES_LEESE: there is no such setting (INVALID_INPUT)\n"
        "hint: did you mean RUSHES_LEASE?\n"
    )


def test_check_finds_stages_that_cannot_be_imported(cli: Cli, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("RUSHES_STAGES", "no.such.module")

    answer = cli("config", "check")

    assert answer.code == 2
    assert "no.such.module cannot be imported" in answer.err
