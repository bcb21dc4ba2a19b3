"""`rushes workers …`: all workers, as the database knows them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from rushes.cli.connection import AsJson, connect
from rushes.cli.output import duration, printable, say, say_json, table

if TYPE_CHECKING:
    from rushes.domain.worker import Worker
    from rushes.engine.engine import Engine

Name = Annotated[str, typer.Argument(help="The worker's name, or the beginning of its id.")]

app = typer.Typer(help="See workers, drain, disable and resume them.", no_args_is_help=True)


@app.command("list")
def list_workers(ctx: typer.Context, as_json: AsJson = False) -> None:
    """List workers: what they do, when they were last heard of."""
    from rushes.cli.views import worker_view
    from rushes.engine.engine import millis
    from rushes.store import workers

    with connect(ctx) as rushes:
        found, now = rushes.db.read(workers.list_all)
        offline_after = millis(rushes.engine.limits.offline_after)
    views = [worker_view(worker, now=now, offline_after=offline_after) for worker in found]
    if as_json:
        say_json({"items": views, "next_cursor": None})
        return
    rows = [
        _row(worker, str(view["status"]), now) for worker, view in zip(found, views, strict=True)
    ]
    headers = ("worker", "status", "load", "lanes", "has", "version", "heartbeat", "done", "failed")
    say(*(table(headers, rows) if rows else ["no workers"]))


@app.command()
def drain(ctx: typer.Context, name: Name, as_json: AsJson = False) -> None:
    """Let a worker finish what it holds and take nothing new."""
    from rushes.engine import operator

    _change(ctx, name, operator.drain, as_json)


@app.command()
def disable(ctx: typer.Context, name: Name, as_json: AsJson = False) -> None:
    """Keep a worker from working until it is resumed.

    Also when it starts again.
    """
    from rushes.engine import operator

    _change(ctx, name, operator.disable, as_json)


@app.command()
def resume(ctx: typer.Context, name: Name, as_json: AsJson = False) -> None:
    """Let a drained or disabled worker work again."""
    from rushes.engine import operator

    _change(ctx, name, operator.resume_worker, as_json)


def _change(
    ctx: typer.Context, name: str, act: Callable[[Engine, str], None], as_json: bool
) -> None:
    from rushes.store import workers

    with connect(ctx) as rushes:
        worker = rushes.db.read(lambda tx: workers.find(tx, name))
        act(rushes.engine, worker.id)
        worker = rushes.db.read(lambda tx: workers.find(tx, worker.id))
    if as_json:
        say_json({"worker_id": worker.id, "name": worker.name, "mode": worker.mode})
    else:
        say(f"{printable(worker.name)} is {worker.mode}")


def _row(worker: Worker, status: str, now: int) -> tuple[object, ...]:
    lanes = [f"{lane}={slots}" for lane, slots in worker.lanes.items()]
    return (
        printable(worker.name),
        status,
        f"{worker.load}/{worker.slots}",
        printable(", ".join(lanes)),
        printable(", ".join(worker.capabilities)),
        printable(worker.version),
        f"{duration(now - worker.last_heartbeat)} ago",
        worker.tasks_done,
        worker.tasks_failed,
    )
