"""`rushes keys …`: keys for programs, and for the command line on other machines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from rushes.cli.connection import AsJson, connect, person
from rushes.cli.output import duration, note, printable, say, say_json, table
from rushes.library.wishes import parts

if TYPE_CHECKING:
    from rushes.domain.person import Key

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
        str | None, typer.Option(metavar="NAME", help="The user it is for; else this machine.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Create a key and print it: it is shown this once."""
    from datetime import timedelta

    from rushes.domain.person import parse_scopes
    from rushes.library import keys
    from rushes.library.keys import KeyRequest

    wanted = KeyRequest(
        name=name,
        scopes=parse_scopes(parts(scopes)),
        user=user,
        lifetime=None if days is None else timedelta(days=days),
    )
    with connect(ctx) as rushes:
        made = keys.create_key(rushes.db, person(), wanted)
    if as_json:
        say_json({**key_view(made.key), "key": made.text})
        return
    say(made.text)
    note("keep it in a safe place: it is not shown again")


@app.command("list")
def list_keys(ctx: typer.Context, as_json: AsJson = False) -> None:
    """List keys that are not revoked, newest first."""
    from rushes.cli.reading import clock
    from rushes.library import keys

    with connect(ctx) as rushes:
        found = keys.list_keys(rushes.db, person())
        now = rushes.db.read(clock)
    if as_json:
        say_json({"items": [key_view(key) for key in found], "next_cursor": None})
        return
    headers = ("id", "kind", "name", "user", "scopes", "used", "ends")
    say(*(table(headers, [_row(key, now) for key in found]) if found else ["no keys"]))


@app.command()
def revoke(
    ctx: typer.Context,
    key_id: Annotated[
        str, typer.Argument(metavar="ID", help="The ten characters that `keys list` shows.")
    ],
    as_json: AsJson = False,
) -> None:
    """End a key, at once."""
    from rushes.library import keys

    with connect(ctx) as rushes:
        key = keys.revoke_key(rushes.db, person(), key_id)
    if as_json:
        say_json(key_view(key))
    else:
        say(f"key {key.id} ({printable(key.name)}) is revoked")


def key_view(key: Key) -> dict[str, object]:
    """Return what a caller is told of a key."""
    from rushes.cli.views import rfc3339

    return {
        "key_id": key.id,
        "kind": key.kind,
        "name": key.name,
        "user": key.user,
        "scopes": sorted(key.scopes),
        "created_at": rfc3339(key.created_at),
        "expires_at": rfc3339(key.expires_at),
        "last_used_at": rfc3339(key.used_at),
        "revoked_at": rfc3339(key.revoked_at),
    }


def _row(key: Key, now: int) -> tuple[object, ...]:
    return (
        key.id,
        key.kind,
        printable(key.name),
        printable(key.user or ""),
        ",".join(sorted(key.scopes)),
        "never" if key.used_at is None else f"{duration(now - key.used_at)} ago",
        _end(key, now),
    )


def _end(key: Key, now: int) -> str:
    if key.expires_at is None:
        return "never"
    return "ended" if key.expires_at <= now else f"in {duration(key.expires_at - now)}"
