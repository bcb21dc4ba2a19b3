"""The tree of commands and the options that stand before them."""

from __future__ import annotations

from typing import Annotated

import typer

from rushes import __version__
from rushes.cli import (
    add,
    backup,
    clips,
    config,
    db,
    demo,
    doctor,
    jobs,
    keys,
    login,
    output,
    queue,
    retranscode,
    search,
    subtitles,
    text_export,
    up,
    users,
    videos,
    watch,
    worker,
    workers,
)

app = typer.Typer(
    name="rushes",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(add.add)
app.command("list")(videos.list_videos)
app.command()(videos.show)
app.command()(text_export.text)
app.command()(search.search)
app.command()(clips.clip)
app.add_typer(clips.app, name="clips")
app.add_typer(subtitles.app, name="subtitles")
app.command()(retranscode.retranscode)
app.command()(videos.rm)
app.command()(videos.restore)
jobs.app.command()(watch.watch)
app.add_typer(jobs.app, name="jobs")
app.add_typer(workers.app, name="workers")
app.add_typer(queue.app, name="queue")
app.add_typer(worker.app, name="worker")
app.command()(up.up)
app.command()(up.serve)
app.command()(login.login)
app.command()(login.logout)
app.add_typer(users.app, name="users")
app.add_typer(keys.app, name="keys")
app.add_typer(db.app, name="db")
app.add_typer(backup.app, name="backup")
app.add_typer(config.app, name="config")
app.command()(search.reindex)
app.command()(doctor.doctor)
app.add_typer(demo.app, name="demo")


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"rushes {__version__}")
        raise typer.Exit


@app.callback()
def rushes(
    ctx: typer.Context,
    database_url: Annotated[
        str | None,
        typer.Option(
            metavar="URL", help="sqlite:////path or postgresql://…, instead of RUSHES_DATABASE_URL."
        ),
    ] = None,
    data: Annotated[
        str | None, typer.Option(metavar="FOLDER", help="The data folder, instead of RUSHES_DATA.")
    ] = None,
    server: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            envvar="RUSHES_SERVER",
            help="Work on this server, not on this machine; see also `rushes login`.",
        ),
    ] = None,
    key: Annotated[
        str | None,
        typer.Option(
            metavar="KEY",
            envvar="RUSHES_KEY",
            help="The key to the server; others on this machine can see options.",
        ),
    ] = None,
    no_color: Annotated[
        bool, typer.Option("--no-color", help="Print without colours, like NO_COLOR=1.")
    ] = False,
    _version_shown: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Rushes: footage in; streamable, searchable, clippable video out.

    Every command takes --json. Ids may be shortened to any unique beginning or end, and @last is
    the newest. Exit codes: 0 ok, 1 failed, 2 usage or invalid input, 3 not found, 4 not allowed,
    5 conflict, 6 unreachable, 7 wait timed out, 8 job was killed, 10 done in part,
    130 interrupted.
    """
    source = ctx.get_parameter_source("server")
    ctx.obj = {
        "database_url": database_url,
        "data": data,
        "server": server or None,
        "key": key or None,
        "is_far": bool(server) and source is not None and source.name == "COMMANDLINE",
    }
    output.colours(not no_color)
