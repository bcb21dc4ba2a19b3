"""`rushes queue …`: the kinds of task that wait, and whether they may be claimed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from rushes.cli.connection import AsJson, caller, connect
from rushes.cli.output import printable, say, say_json, table

if TYPE_CHECKING:
    from rushes.app import App

Kind = Annotated[str, typer.Argument(help="A kind of task; queue list shows them.")]

app = typer.Typer(help="See what waits; pause and resume kinds of task.", no_args_is_help=True)


@app.command("list")
def list_kinds(ctx: typer.Context, as_json: AsJson = False) -> None:
    """List the kinds of task: ready, running, paused."""
    with connect(ctx) as rushes:
        items = _kinds(rushes)
    if as_json:
        say_json({"items": items, "next_cursor": None})
        return
    rows = [
        (
            printable(str(item["kind"])),
            item["lane"],
            item["ready"],
            item["running"],
            _paused(item) if item["paused"] else None,
        )
        for item in items
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
    from rushes.engine import operator

    with connect(ctx) as rushes:
        operator.pause(rushes.engine, kind, by=caller(), reason=reason)
    if as_json:
        say_json({"kind": kind, "paused": True, "reason": reason})
    else:
        say(f"{kind} is paused")


@app.command()
def resume(ctx: typer.Context, kind: Kind, as_json: AsJson = False) -> None:
    """Claim tasks of a kind again."""
    from rushes.engine import operator
    from rushes.errors import NotFound

    with connect(ctx) as rushes:
        known = kind in rushes.engine.kinds
        was_paused = operator.resume(rushes.engine, kind, by=caller())
    if not was_paused and not known:
        raise NotFound(f"there is no kind {kind!r}", hint="rushes queue list shows them")
    if as_json:
        say_json({"kind": kind, "paused": False, "was_paused": was_paused})
    else:
        say(f"{kind} is resumed" if was_paused else f"{kind} was not paused")


def _kinds(rushes: App) -> list[dict[str, object]]:
    """Return every kind that this program knows, or that the database holds."""
    from rushes.cli.views import rfc3339
    from rushes.store import queue

    depths = rushes.db.read(queue.depths)
    pauses = {row["kind"]: row for row in rushes.db.read(lambda tx: tx.rows("pauses"))}
    items = []
    for name in sorted({*rushes.engine.kinds, *depths, *pauses}):
        kind, depth = rushes.engine.kinds.get(name), depths.get(name, queue.EMPTY)
        pause = pauses.get(name)
        items.append(
            {
                "kind": name,
                "lane": kind.lane if kind else None,
                "ready": depth.ready,
                "running": depth.running,
                "paused": pause is not None,
                "paused_by": pause["paused_by"] if pause else None,
                "paused_reason": pause["reason"] if pause else None,
                "paused_at": rfc3339(pause["at"]) if pause else None,
            }
        )
    return items


def _paused(item: dict[str, object]) -> str:
    reason = f": {item['paused_reason']}" if item["paused_reason"] else ""
    return printable(f"by {item['paused_by']}{reason}")
