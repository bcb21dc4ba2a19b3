"""`rushes keys …`: keys for programs, and for the command line on other machines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from rushes.cli.connection import AsJson, reach
from rushes.cli.output import between, duration, note, now, printable, say, say_json, table
from rushes.errors import Unavailable
from rushes.library.wishes import parts

if TYPE_CHECKING:
    from datetime import datetime

    from rushes.api.people import KeyView

DAY_S = 86_400

app = typer.Typer(help="See keys, create and revoke them.", no_args_is_help=True)


@app.command()
def create(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="What the key is for.")],
    scopes: Annotated[
        str, typer.Option(metavar="LIST", help="What it may do: read, upload, write, admin.")
    ] = "read",
    days: Annotated[
        int | None, typer.Option(min=1, max=3650, metavar="N", help="It ends after so many days.")
    ] = None,
    user: Annotated[
        str | None, typer.Option(metavar="NAME", help="The user it is for; else whoever makes it.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Create a key and print it: it is shown this once."""
    from rushes.domain.person import parse_scopes

    wanted, expires_in = parse_scopes(parts(scopes)), None if days is None else days * DAY_S
    with reach(ctx) as rushes:
        made = rushes.keys.create(name, scopes=wanted, user=user, expires_in=expires_in)
    if as_json:
        say_json(made)
        return
    if made.key is None:
        raise Unavailable(
            f"key {made.key_id} was made, but the answer that had it was lost",
            hint=f"rushes keys revoke {made.key_id}, and make another",
        )
    say(made.key)
    note("keep it in a safe place: it is not shown again")


@app.command("list")
def list_keys(ctx: typer.Context, as_json: AsJson = False) -> None:
    """List keys that are not revoked, newest first."""
    with reach(ctx) as rushes:
        page = rushes.keys.list()
    if as_json:
        say_json(page)
        return
    headers, at = ("id", "kind", "name", "user", "scopes", "used", "ends"), now()
    rows = [_row(key, at) for key in page.items]
    say(*(table(headers, rows) if rows else ["no keys"]))


@app.command()
def revoke(
    ctx: typer.Context,
    key_id: Annotated[
        str, typer.Argument(metavar="ID", help="The ten characters that `keys list` shows.")
    ],
    as_json: AsJson = False,
) -> None:
    """End a key, at once."""
    with reach(ctx) as rushes:
        key = rushes.keys.revoke(key_id)
    if as_json:
        say_json(key)
    else:
        say(f"key {key.key_id} ({printable(key.name)}) is revoked")


def _row(key: KeyView, at: datetime) -> tuple[object, ...]:
    return (
        key.key_id,
        key.kind,
        printable(key.name),
        printable(key.user or ""),
        ",".join(sorted(key.scopes)),
        "never" if key.used_at is None else f"{duration(between(key.used_at, at))} ago",
        _end(key, at),
    )


def _end(key: KeyView, at: datetime) -> str:
    if key.expires_at is None:
        return "never"
    return "ended" if key.expires_at <= at else f"in {duration(between(at, key.expires_at))}"
