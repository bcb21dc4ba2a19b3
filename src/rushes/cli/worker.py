"""`rushes worker …`: this machine's worker."""

from __future__ import annotations

from typing import Annotated

import typer

from rushes.cli.connection import AsJson, connect
from rushes.cli.output import say, say_json
from rushes.errors import Conflict

FORMAT = "%(asctime)s %(levelname)-7s %(name)s: %(message)s"

app = typer.Typer(help="Run this machine's worker.", no_args_is_help=True)


@app.callback()
def group() -> None:
    """Run this machine's worker."""


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
    """Claim tasks and run them until SIGTERM or Ctrl-C.

    Then what is not finished is handed back; a second signal does not wait for checkpoints. The
    log goes to stderr. Exit code 5: another process took over the name.
    """
    import logging

    from rushes.app import run_worker

    with connect(ctx, worker_slots=slots, worker_lanes=lanes) as rushes:
        logging.basicConfig(format=FORMAT, level=rushes.settings.log_level.upper())
        replaced = run_worker(rushes, name=name, maintain=not no_maintenance, until_idle=until_idle)
    if replaced is not None:
        raise Conflict(replaced, hint="give each process of a machine its own --name")
    if as_json:
        say_json({"stopped": True})
    else:
        say("stopped")
