"""What every command begins with: its settings, and the library or the server that it is about."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from rushes.errors import Invalid

if TYPE_CHECKING:
    from rushes.app import App
    from rushes.cli.login import Login
    from rushes.client import Client
    from rushes.domain.person import Principal
    from rushes.settings import Settings

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Only say what would happen; change nothing.")
]
JobId = Annotated[
    str,
    typer.Argument(
        metavar="ID", help="A job: any unique beginning or end of its id, or @last for the newest."
    ),
]
HERE = ("database_url", "data")
"""Options that are about this machine's own library."""


def given(ctx: typer.Context) -> dict[str, object]:
    """Return the settings that were given as options before the command."""
    return {name: ctx.obj[name] for name in HERE if ctx.obj[name]}


def settings_of(ctx: typer.Context, **overrides: object) -> Settings:
    """Return the settings of a command for this machine: options first, then the environment."""
    from rushes.settings import load

    check_here(ctx)
    chosen = {name: value for name, value in overrides.items() if value is not None}
    return load(**given(ctx), **chosen)


def check_here(ctx: typer.Context) -> None:
    """Refuse --server for a command that is about this machine; a login does not matter to it."""
    if ctx.obj["is_far"]:
        raise Invalid(f"{ctx.command_path} works on this machine only: leave --server out")


@contextmanager
def connect(ctx: typer.Context, **overrides: object) -> Iterator[App]:
    """Open the library of this machine for one command."""
    from rushes.app import open_app

    with open_app(settings_of(ctx, **overrides)) as app:
        yield app


@contextmanager
def reach(ctx: typer.Context) -> Iterator[Client]:
    """Reach the server or, without one, the library of this machine."""
    from rushes.client import Client

    server = server_of(ctx)
    if server is not None:
        with Client(server.server, key=server.key) as client:
            yield client
    else:
        with connect(ctx) as app:
            yield Client.at(app.library, person())


def server_of(ctx: typer.Context) -> Login | None:
    """Return the server that a command is about: the one given, else the one logged in to."""
    from rushes.cli import login

    server, key = ctx.obj["server"], ctx.obj["key"]
    if ctx.obj["is_far"] and given(ctx):
        raise Invalid("--server is another machine: leave --data and --database-url out")
    if given(ctx):
        return None
    known = login.stored()
    if server is None:
        return known and login.Login(known.server, key or known.key)
    same = known is not None and known.server == server.rstrip("/")
    return login.Login(server, key or (known.key if known and same else None))


def person() -> Principal:
    """Return whoever is at this machine, under their name."""
    from dataclasses import replace

    from rushes.domain.person import LOCAL

    return replace(LOCAL, name=caller())


def caller() -> str:
    """Return the name under which a person's deeds are written down."""
    import getpass

    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container may run a user that has no name
        return "unknown"
