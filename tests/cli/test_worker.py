"""`rushes worker run` and `rushes demo engine`: real processes."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from subprocess import Popen

import pytest

from rushes.domain.graph import JobRequest, Step
from rushes.engine.engine import Engine
from rushes.engine.submit import submit
from rushes.stages import demo as _demo  # noqa: F401  (registers the stages)
from rushes.stages.registry import STAGES, kinds
from rushes.store import workers
from tests.cli.conftest import Cli, rushes
from tests.waiting import until
from tests.world import World

SHARDS = {"demo.shard": Step(items=[{"number": n, "milliseconds": 1} for n in range(20)])}


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Timers for a test that cannot wait."""
    monkeypatch.setenv("RUSHES_LEASE", "2")
    monkeypatch.setenv("RUSHES_WORKER_HEARTBEAT_INTERVAL", "0.2")
    monkeypatch.setenv("RUSHES_WORKER_LANES", "demo=4")


def submit_shards(world: World) -> str:
    engine = Engine(db=world.db, kinds=kinds(STAGES))
    return submit(engine, JobRequest(kind="demo", steps=SHARDS)).job_id


def names(world: World) -> dict[str, str]:
    found, _ = world.db.read(workers.list_all)
    return {worker.name: str(worker.mode) for worker in found}


def test_worker_until_idle_runs_what_is_open_and_leaves(cli: Cli, world: World, quick: None):
    job_id = submit_shards(world)

    answer = cli("worker", "run", "--until-idle", "--name", "ann", "--json")

    assert (answer.code, answer.json["stopped"]) == (0, True)
    assert world.job(job_id).status == "completed"
    assert names(world) == {"ann": "stopped"}


def test_worker_drains_on_sigterm_and_another_takes_over_a_name(world: World, quick: None):
    first, owner = started(world, "pi4")
    second, _ = started(world, "pi4", known=owner)

    _, replaced = first.communicate(timeout=30)
    second.send_signal(signal.SIGTERM)
    out, _ = second.communicate(timeout=30)

    assert first.returncode == 5
    assert "error: another process works as pi4 now (CONFLICT)" in replaced
    assert (second.returncode, out) == (0, "stopped\n")
    assert names(world) == {"pi4": "stopped"}


@pytest.mark.timeout(120)
def test_demo_loses_a_worker_and_nothing_else(tmp_path):
    process = rushes("demo", "engine", "--shards", "200", "--json")

    out, err = process.communicate(timeout=100)

    told = json.loads(out)
    assert [what for what, holds in told["checks"].items() if not holds] == []
    assert (process.returncode, err, told["ok"]) == (0, "", True)
    assert told["job"]["result"] == {"shards": 200, "distinct": 200, "sum": 19_900}
    assert told["killed_worker"] == "worker-2"
    assert [event["type"] for event in told["task"]["events"]] == [
        "job.submitted",
        "task.claimed",
        "task.expired",
        "task.claimed",
        "task.done",
    ]
    assert told["doctor"]["findings"] == []


def test_demo_that_is_stopped_leaves_nothing_behind(tmp_path: Path, monkeypatch):
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))

    process = rushes("demo", "engine", "--json")
    until(lambda: list(folder.glob("rushes-demo-*/worker-4.log")))
    process.send_signal(signal.SIGTERM)
    out, _ = process.communicate(timeout=30)

    assert (process.returncode, out) == (128 + signal.SIGTERM, "")
    assert list(folder.iterdir()) == []


def started(world: World, name: str, known: str | None = None) -> tuple[Popen[str], str]:
    """Start a worker and wait until it is there. Returns the process and its owner string."""

    def owner() -> str | None:
        found, _ = world.db.read(workers.list_all)
        owners = [worker.owner for worker in found if worker.name == name]
        return owners[0] if owners and owners[0] != known else None

    process = rushes("worker", "run", "--name", name)
    until(owner)
    return process, str(owner())
