"""`rushes up` and `rushes serve`: the server, with workers beside it or without."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, Annotated

import typer

from rushes.cli.connection import AsJson, connect
from rushes.cli.output import note, say, say_line
from rushes.errors import Invalid

if TYPE_CHECKING:
    from rushes.app import App

Host = Annotated[
    str | None,
    typer.Option(metavar="ADDRESS", help="The address to listen on.", show_default=False),
]
Port = Annotated[
    int | None, typer.Option(min=0, max=65_535, metavar="N", help="The port; 0 is any free one.")
]


def up(
    ctx: typer.Context,
    host: Host = None,
    port: Port = None,
    slots: Annotated[
        int | None, typer.Option(min=1, max=1000, metavar="N", help="Tasks at once in each lane.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Start everything: the server, and workers in the same process.

    The first time it shows the admin key, which is shown only once, and a link that logs in once.
    Ctrl-C stops it; what was running is handed back and goes on next time.
    """
    gc.disable()
    from rushes.app import open_server, run_worker

    with connect(ctx, host=host, port=port, worker_slots=slots) as rushes:
        check_address(rushes)
        with open_server(rushes) as address:
            _welcome(rushes, address, as_json=as_json)
            replaced = run_worker(rushes)
    if replaced:
        note(replaced)


def serve(
    ctx: typer.Context, host: Host = None, port: Port = None, as_json: AsJson = False
) -> None:
    """Start the server alone; `rushes worker run` does the work, here or on other machines."""
    gc.disable()
    from rushes.app import run_server

    with connect(ctx, host=host, port=port) as rushes:
        check_address(rushes)
        run_server(rushes, ready=lambda address: _welcome(rushes, address, as_json=as_json))


def check_address(rushes: App) -> None:
    """Refuse to be reached from elsewhere while nobody could prove who they are."""
    from rushes.api.run import LOOPBACK
    from rushes.library.keys import has_credentials

    if rushes.settings.host not in LOOPBACK and not has_credentials(rushes.db):
        raise Invalid(
            f"nobody has a key or a password yet, so {rushes.settings.host} is refused",
            hint="start once on 127.0.0.1, which makes the admin key; or: rushes users add",
        )


def _welcome(rushes: App, address: str, *, as_json: bool) -> None:
    """Say where the server is. The key is made now: nobody would see that of a failed start."""
    from rushes.domain.person import FIRST_ADMIN
    from rushes.library.keys import first_admin
    from rushes.library.sessions import make_link

    gc.enable()  # it was off to start faster
    gc.freeze()
    key = first_admin(rushes.db)
    link = f"{address}/login#{make_link(rushes.db, FIRST_ADMIN)}" if key else None
    if as_json:
        say_line({"event": "up", "address": address, "admin_key": key, "login": link})
        return
    say(f"Rushes is up at {address}")
    if key:
        say(
            f"   admin key, shown only this once: {key}",
            f"   log in once, within 15 minutes:  {link}",
        )
