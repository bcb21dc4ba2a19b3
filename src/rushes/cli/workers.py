"""`rushes workers …`: all workers, as the database knows them."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from rushes.cli.connection import AsJson, reach
from rushes.cli.output import between, duration, now, printable, say, say_json, table

if TYPE_CHECKING:
    from rushes.api import models

Name = Annotated[str, typer.Argument(help="The worker's name, or the beginning of its id.")]

app = typer.Typer(help="See workers, drain, disable and resume them.", no_args_is_help=True)


@app.command("list")
def list_workers(ctx: typer.Context, as_json: AsJson = False) -> None:
    """List workers: what they do, when they were last heard of."""
    with reach(ctx) as rushes:
        page = rushes.workers.list()
    if as_json:
        say_json(page)
        return
    rows = [_row(worker, now()) for worker in page.items]
    headers = ("worker", "status", "load", "lanes", "has", "version", "heartbeat", "done", "failed")
    say(*(table(headers, rows) if rows else ["no workers"]))


@app.command()
def drain(ctx: typer.Context, name: Name, as_json: AsJson = False) -> None:
    """Let a worker finish what it holds and take nothing new."""
    with reach(ctx) as rushes:
        _tell(rushes.workers.drain(name), as_json)


@app.command()
def disable(ctx: typer.Context, name: Name, as_json: AsJson = False) -> None:
    """Keep a worker from working until it is resumed.

    Also when it starts again.
    """
    with reach(ctx) as rushes:
        _tell(rushes.workers.disable(name), as_json)


@app.command()
def resume(ctx: typer.Context, name: Name, as_json: AsJson = False) -> None:
    """Let a drained or disabled worker work again."""
    with reach(ctx) as rushes:
        _tell(rushes.workers.resume(name), as_json)


@app.command()
def show(ctx: typer.Context, name: Name, as_json: AsJson = False) -> None:
    """Show one worker: what it has and what it does."""
    with reach(ctx) as rushes:
        worker = rushes.workers.show(name)
    if as_json:
        say_json(worker)
        return
    told = {
        "status": f"{worker.status} ({worker.load}/{worker.slots} tasks)",
        "type": worker.type,
        "host": worker.hostname,
        "version": worker.version,
        "heartbeat": f"{duration(between(worker.last_heartbeat, now()))} ago",
        "has": ", ".join(worker.capabilities) or "-",
        "kinds": ", ".join(worker.kinds) or "-",
        "machine": ", ".join(f"{key} {value}" for key, value in worker.metadata.items()) or "-",
        "busy": "-" if worker.cpu_percent is None else _busy(worker),
        "done, failed": f"{worker.tasks_done}, {worker.tasks_failed}",
    }
    say(printable(worker.name), *(f"   {key:13}{printable(str(told[key]))}" for key in told))


@app.command()
def invite(
    ctx: typer.Context,
    kinds: Annotated[
        str, typer.Option(metavar="KINDS", help="What it may do, such as transcode,audio.")
    ] = "",
    minutes: Annotated[
        int, typer.Option(min=1, max=10_080, metavar="N", help="How long the token is good.")
    ] = 15,
    as_json: AsJson = False,
) -> None:
    """Make a token with which one machine may join as a worker. It is shown this once."""
    wanted = [word.strip() for word in kinds.split(",") if word.strip()]
    with reach(ctx) as rushes:
        made = rushes.workers.invite(kinds=wanted, expires_in=60 * minutes)
    if as_json:
        say_json(made)
    else:
        say("on the new machine, within " + duration(1000 * made.expires_in) + ":")
        say(f"   rushes worker join URL --token {made.token}")


@app.command()
def keys(
    ctx: typer.Context,
    name: Name,
    add: Annotated[bool, typer.Option("--add", help="Make another key; it is shown once.")] = False,
    revoke: Annotated[
        str | None,
        typer.Option(metavar="ID", help="End the key of this id at once, or `all`."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the keys of a worker; make another one, or end them."""
    with reach(ctx) as rushes:
        if revoke is not None:
            gone = rushes.workers.revoke_key(name, None if revoke == "all" else revoke)
            shown: object = gone
            lines = [f"revoked {id}" for id in gone.key_ids]
        elif add:
            made = rushes.workers.add_key(name)
            shown, lines = made, [f"key, shown only this once: {made.api_key}"]
        else:
            page = rushes.workers.keys(name)
            shown = page
            lines = [f"{one.key_id}  {', '.join(one.kinds or ['all kinds'])}" for one in page.items]
    if as_json:
        say_json(shown)
    else:
        say(*(lines or ["no keys"]))


def _tell(worker: models.Worker, as_json: bool) -> None:
    if as_json:
        say_json(worker)
    else:
        say(f"{printable(worker.name)} is {worker.mode}")


def _busy(worker: models.Worker) -> str:
    return f"processors {worker.cpu_percent} %, memory {worker.memory_percent} %"


def _row(worker: models.Worker, at: datetime) -> tuple[object, ...]:
    lanes = [f"{lane}={slots}" for lane, slots in worker.lanes.items()]
    return (
        printable(worker.name),
        worker.status,
        f"{worker.load}/{worker.slots}",
        printable(", ".join(lanes)),
        printable(", ".join(worker.capabilities)),
        printable(worker.version),
        f"{duration(between(worker.last_heartbeat, at))} ago",
        worker.tasks_done,
        worker.tasks_failed,
    )
