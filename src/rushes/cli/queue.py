"""`rushes queue …`: the kinds of task that wait, and whether they may be claimed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from rushes.cli.connection import AsJson, reach
from rushes.cli.output import printable, say, say_json, table

if TYPE_CHECKING:
    from rushes.api import models

Kind = Annotated[str, typer.Argument(help="A kind of task; queue list shows them.")]

app = typer.Typer(help="See what waits; pause and resume kinds of task.", no_args_is_help=True)


@app.command("list")
def list_kinds(ctx: typer.Context, as_json: AsJson = False) -> None:
    """List the kinds of task: ready, running, paused."""
    with reach(ctx) as rushes:
        page = rushes.queue.list()
    if as_json:
        say_json(page)
        return
    rows = [
        (printable(kind.kind), kind.lane, kind.ready, kind.running, _paused(kind))
        for kind in page.items
    ]
    say(*table(("kind", "lane", "ready", "running", "paused"), rows))


@app.command()
def pause(
    ctx: typer.Context,
    kind: Kind,
    reason: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Why, for whoever asks later.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Claim no more tasks of a kind; those that run go on."""
    with reach(ctx) as rushes:
        paused = rushes.queue.pause(kind, reason=reason)
    if as_json:
        say_json(paused)
    else:
        say(f"{kind} is paused")


@app.command()
def resume(ctx: typer.Context, kind: Kind, as_json: AsJson = False) -> None:
    """Claim tasks of a kind again."""
    with reach(ctx) as rushes:
        was_paused = any(known.paused for known in rushes.queue.list().items if known.kind == kind)
        resumed = rushes.queue.resume(kind)
    if as_json:
        say_json(resumed, was_paused=was_paused)
    else:
        say(f"{kind} is resumed" if was_paused else f"{kind} was not paused")


def _paused(kind: models.Kind) -> str | None:
    if not kind.paused:
        return None
    reason = f": {kind.paused_reason}" if kind.paused_reason else ""
    return printable(f"by {kind.paused_by}{reason}")
