"""`rushes worker …`: this machine's worker."""

from __future__ import annotations

from typing import Annotated

import typer

from rushes.cli import secret
from rushes.cli.connection import AsJson, connect, settings_of
from rushes.cli.output import printable, say, say_json
from rushes.errors import Conflict, Invalid

LONGEST_TOKEN = 200

app = typer.Typer(help="Run this machine's worker.", no_args_is_help=True)


@app.callback()
def group() -> None:
    """Run this machine's worker."""


@app.command()
def join(
    ctx: typer.Context,
    server: Annotated[
        str, typer.Argument(metavar="URL", help="The server, such as https://films.example.")
    ],
    token: Annotated[
        str | None,
        typer.Option(
            metavar="TOKEN",
            envvar="RUSHES_JOIN_TOKEN",
            help="What `rushes workers invite` printed; unset: it is asked for, or read from "
            "the first line of standard input.",
        ),
    ] = None,
    name: Annotated[
        str | None, typer.Option(metavar="NAME", help="Its name; unset: that of this machine.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Register this machine as a worker of a server; `rushes worker run` then works for it.

    It needs nothing else: no database, no shared disk, no open port. The key is kept in the data
    folder, in a file that only you can read.
    """
    from rushes.app import join_server

    given = token or secret.ask("token", longest=LONGEST_TOKEN, command="worker join URL")
    found = join_server(settings_of(ctx), server, given.strip(), name)
    if as_json:
        say_json({"server": found.server, "name": found.name})
    else:
        say(f"{printable(found.name)} has joined {found.server}; next: rushes worker run")


@app.command()
def leave(ctx: typer.Context, as_json: AsJson = False) -> None:
    """Forget the server that this machine has joined, and the key to it."""
    from rushes.worker.joined import forget

    was = forget(settings_of(ctx).folder)
    if as_json:
        say_json({"left": was})
    else:
        say("left" if was else "this machine has joined no server")


@app.command()
def run(
    ctx: typer.Context,
    name: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Its name; a process that has it is replaced. Unset: a free one.",
        ),
    ] = None,
    slots: Annotated[
        int | None, typer.Option(min=1, max=1000, metavar="N", help="Tasks at once in each lane.")
    ] = None,
    lanes: Annotated[
        str | None, typer.Option(metavar="LANES", help="Lanes to serve, such as default=4,gpu=1.")
    ] = None,
    no_maintenance: Annotated[
        bool, typer.Option("--no-maintenance", help="Leave recovery to other processes.")
    ] = False,
    until_idle: Annotated[
        bool, typer.Option("--until-idle", help="Stop when no job is open any more.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Claim tasks and run them until SIGTERM or Ctrl-C, here or for the server that was joined.

    Then what is not finished is handed back; a second signal does not wait for checkpoints. The
    log goes to stderr. Exit code 5: another process took over the name.
    """
    from rushes.app import run_far_worker, run_worker
    from rushes.observability.logging import configure
    from rushes.worker.joined import load

    settings = settings_of(ctx, worker_slots=slots, worker_lanes=lanes)
    configure(settings.log_level)
    found = load(settings.folder)
    if found is not None:
        _check_far(name, until_idle)
        replaced = run_far_worker(settings, found)
    else:
        with connect(ctx, worker_slots=slots, worker_lanes=lanes) as rushes:
            maintain = not no_maintenance
            replaced = run_worker(rushes, name=name, maintain=maintain, until_idle=until_idle)
    if replaced is not None:
        raise Conflict(replaced, hint="give each process of a machine its own --name")
    if as_json:
        say_json({"stopped": True})
    else:
        say("stopped")


def _check_far(name: str | None, until_idle: bool) -> None:
    if name is not None or until_idle:
        raise Invalid(
            "this machine has joined a server, which knows its name and its jobs",
            hint="leave --name and --until-idle out, or: rushes worker leave",
        )
