"""`rushes demo engine`: the engine at work, with a worker killed on the way.

A job of a thousand small tasks and one that counts their results runs on four worker processes.
Half way one of them gets kill -9. Its leases run out, others take its tasks, and in the end
every task was completed exactly once: the demo counts that, and asks the doctor.
"""

from __future__ import annotations

import secrets
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rushes.cli.connection import AsJson, check_here, given
from rushes.cli.output import plural, say, say_json, styled, table
from rushes.errors import RushesError

if TYPE_CHECKING:
    from rushes.api.models import Event
    from rushes.app import App
    from rushes.cli.fleet import Fleet
    from rushes.engine.doctor import Report
    from rushes.settings import Settings

FAILED = 1
SHARDS, WORKERS, SLOTS, SHARD_MS = 1_000, 4, 4, 80
KILL_AT = 0.4  # of the shards
GIVE_UP = 60.0  # seconds
LOOK_EVERY = 0.1
TIMING: dict[str, object] = {
    "lease": 2,
    "worker_heartbeat_interval": 0.5,
    "stale_job_check_interval": 0.5,
    "worker_lanes": f"demo={SLOTS}",
}


class DemoFailed(RushesError):
    code = "DEMO_FAILED"


@dataclass(slots=True)
class Scene:
    """What is to be seen at one moment."""

    names: list[str]
    victim: str | None = None
    lost: list[int] = field(default_factory=list)
    seconds: float = 0.0
    percent: int = 0
    done: int = 0
    total: int = 0
    holds: dict[str, int] = field(default_factory=dict)
    finished: dict[str, int] = field(default_factory=dict)
    taken_back: bool = False


@dataclass(frozen=True, slots=True)
class Story:
    """What happened, after the fact."""

    job: dict[str, object]
    scene: Scene
    task_id: int
    events: list[Event]
    report: Report
    checks: dict[str, bool]

    @property
    def is_clean(self) -> bool:
        return all(self.checks.values())


def engine(
    ctx: typer.Context,
    shards: Annotated[
        int, typer.Option(min=100, max=9_999, metavar="N", help="How many small tasks.")
    ] = SHARDS,
    as_json: AsJson = False,
) -> None:
    """Show the engine at work, with a worker killed.

    1,000 small tasks run on four worker processes, one of which gets kill -9 on the way. Uses a
    temporary folder, unless --database-url names a database. Exit code 0 only if every task was
    completed exactly once and the doctor finds nothing.
    """
    from rushes.app import open_app
    from rushes.cli.fleet import Fleet

    check_here(ctx)
    with _stage(ctx) as (settings, folder, names):
        environment = _environment(settings)
        with open_app(settings) as app:
            job_id = _submit(app, shards)
            with Fleet(names, environment, folder) as fleet:
                story = _play(app, fleet, job_id, shards, quiet=as_json)
    if as_json:
        say_json(_view(story))
    else:
        say(*_lines(story))
    raise typer.Exit(0 if story.is_clean else FAILED)


@contextmanager
def _stage(ctx: typer.Context) -> Iterator[tuple[Settings, Path, list[str]]]:
    """Make the place where the demo happens: settings, a folder, names for the workers."""
    from rushes.settings import load
    from rushes.store.database import open_database

    url = given(ctx).get("database_url")
    mark = f"-{secrets.token_hex(2)}" if url else ""  # others may be there
    names = [f"worker-{number}{mark}" for number in range(1, WORKERS + 1)]
    with tempfile.TemporaryDirectory(prefix="rushes-demo-", ignore_cleanup_errors=True) as folder:
        chosen = str(url or f"sqlite:///{folder}/rushes.db")
        settings = load(data=folder, database_url=chosen, stages=(), test=False, **TIMING)
        with closing(open_database(chosen)) as database:
            if database.schema_version() == 0:
                database.migrate()
        yield settings, Path(folder), names


def _environment(settings: Settings) -> dict[str, str]:
    from rushes.settings import PREFIX

    wanted = {"data": settings.data, "database_url": settings.url, **TIMING}
    return {PREFIX + name.upper(): str(value) for name, value in wanted.items()}


def _play(app: App, fleet: Fleet, job_id: str, shards: int, *, quiet: bool) -> Story:
    from rushes.cli.board import board

    scene = Scene(names=fleet.names)
    began = time.monotonic()
    with board(quiet=quiet) as show:
        while not _look(app, job_id, scene):
            scene.seconds = time.monotonic() - began
            _check_running(fleet, scene)
            if scene.victim is None and scene.done >= KILL_AT * shards:
                _kill_one(app, fleet, job_id, scene)
            show(scene)
            time.sleep(LOOK_EVERY)
        scene.seconds = time.monotonic() - began
        show(scene)
    return _tell(app, fleet, job_id, scene, shards)


def _submit(app: App, shards: int) -> str:
    from rushes.domain.graph import JobRequest, Step
    from rushes.engine.submit import submit

    items = [{"number": number, "milliseconds": SHARD_MS} for number in range(shards)]
    steps = {
        "demo.shard": Step(items=items, weight=99),
        "demo.total": Step(after=("demo.shard",)),
    }
    label = f"{shards:,} shards and their total"
    return submit(app.engine, JobRequest(kind="demo", label=label, steps=steps)).job_id


def _look(app: App, job_id: str, scene: Scene) -> bool:
    """Bring the scene up to date. Returns whether the job is over."""
    from rushes.cli.reading import read_job
    from rushes.domain.task import State
    from rushes.store import workers

    seen = read_job(app, job_id)
    present, _ = app.db.read(workers.list_all)
    scene.percent, scene.total = seen.percent, len(seen.tasks)
    scene.done = sum(task.state is State.DONE for task in seen.tasks)
    scene.holds = {worker.name: worker.load for worker in present}
    scene.finished = {worker.name: worker.tasks_done for worker in present}
    held = {task.id for task in seen.tasks if task.lease_epoch == 1 and task.state is State.RUNNING}
    scene.taken_back = bool(scene.lost) and not held & set(scene.lost)
    return seen.is_over


def _kill_one(app: App, fleet: Fleet, job_id: str, scene: Scene) -> None:
    """Kill -9 a worker that holds tasks. It is stopped for the look, so that they stay its own."""
    from rushes.api.views import name_of
    from rushes.cli.reading import read_job

    name = fleet.names[1]
    fleet.freeze(name)
    held = [task.id for task in read_job(app, job_id).tasks if name_of(task.lease_owner) == name]
    if held:
        fleet.kill(name)
        scene.victim, scene.lost = name, held
    else:
        fleet.thaw(name)


def _check_running(fleet: Fleet, scene: Scene) -> None:
    broken = fleet.broken()
    if broken is not None:
        raise DemoFailed(f"{broken} ended by itself: {_last_line(fleet.log(broken))}")
    if scene.seconds > GIVE_UP:
        raise DemoFailed(f"the job is at {scene.percent} % after {GIVE_UP:g} s")


def _tell(app: App, fleet: Fleet, job_id: str, scene: Scene, shards: int) -> Story:
    """Stop the workers, then count."""
    from datetime import timedelta

    from rushes.api import views
    from rushes.api.desk import feed
    from rushes.cli.reading import read_job
    from rushes.cli.text import concerns
    from rushes.engine.doctor import examine, wait_for_quiet
    from rushes.store import tasks

    codes = fleet.stop()
    quiet = wait_for_quiet(app.engine, timedelta(seconds=10))
    seen = read_job(app, job_id)
    attempts = app.db.read(lambda tx: tasks.attempts(tx, job_id))
    job = views.job(seen.job, percent=seen.percent, tasks=seen.tasks).model_dump(mode="json")
    task_id = scene.lost[0] if scene.lost else seen.tasks[0].id
    history = app.db.read(lambda tx: feed.history(tx, job_id))
    events = [event for event in history if concerns(event, task_id)]
    report = examine(app.engine, strict=True)
    done = Counter(attempt["task_id"] for attempt in attempts if attempt["outcome"] == "done")
    expired = {attempt["task_id"] for attempt in attempts if attempt["outcome"] == "expired"}
    checks = {
        "the job is completed": seen.job.status == "completed",
        "every task has exactly one completion": set(done.values()) == {1}
        and len(done) == len(seen.tasks),
        "the total counts every shard once": job["result"]
        == {"shards": shards, "distinct": shards, "sum": shards * (shards - 1) // 2},
        "the tasks of the killed worker were taken back": bool(scene.lost)
        and expired >= set(scene.lost),
        "the other workers stopped cleanly": not any(codes.values()),
        "the doctor finds nothing": quiet and not report.violations,
    }
    return Story(job, scene, task_id, events, report, checks)


def _lines(story: Story) -> list[str]:
    from rushes.cli.doctor import report_lines

    scene = story.scene
    held = plural(len(scene.lost), "task")
    lines = [
        f"{scene.victim} got kill -9 while it held {held}. What became of task {story.task_id}:"
    ]
    lines += _story_lines(story)
    lines += ["", f"demo.total returned {story.job['result']}", ""]
    lines += [
        f"{styled('✔', 'green') if holds else styled('✘', 'red')} {what}"
        for what, holds in story.checks.items()
    ]
    return [*lines, "", f"doctor --strict: {report_lines(story.report)[-1]}", _verdict(story)]


def _verdict(story: Story) -> str:
    word = "nothing was lost, nothing was done twice" if story.is_clean else "NOT as it should be"
    return f"{plural(story.scene.total, 'task')} in {story.scene.seconds:.1f} s: {word}"


def _task_story(story: Story) -> list[dict[str, object]]:
    """Return the events of the one task, without the others that moved with it."""
    from rushes.api.models import rfc3339
    from rushes.api.views import name_of

    steps = []
    for event in story.events:
        moved = event.data.get("tasks")
        epochs: dict[int, int] = dict(moved) if isinstance(moved, list) else {}
        steps.append(
            {
                "at": rfc3339(event.at),
                "type": event.type,
                "claim": epochs.get(story.task_id),
                "worker": name_of(str(event.data.get("worker") or "")),
                "cause": event.data.get("cause"),
            }
        )
    return steps


def _story_lines(story: Story) -> list[str]:
    rows = [
        (
            str(step["at"])[11:-1],
            step["type"],
            f"claim {step['claim']}",
            step["worker"] or "the lease ran out",
        )
        for step in _task_story(story)
        if step["claim"] is not None
    ]
    return table(("time", "event", "claim", "who"), rows, indent="  ")[1:]


def _view(story: Story) -> dict[str, object]:
    from rushes.cli.doctor import report_view

    scene = story.scene
    return {
        "ok": story.is_clean,
        "seconds": round(scene.seconds, 1),
        "job": story.job,
        "killed_worker": scene.victim,
        "lost_tasks": scene.lost,
        "task": {"task_id": story.task_id, "events": _task_story(story)},
        "checks": story.checks,
        "doctor": report_view(story.report),
    }


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or ["it left no log"])[-1]
