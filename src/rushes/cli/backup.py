"""`rushes backup …`: copy a library while it is in use, and bring a copy back."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rushes.cli.connection import AsJson, check_here, connect
from rushes.cli.output import note, plural, printable, say, say_json
from rushes.domain.room import amount

if TYPE_CHECKING:
    from rushes.library.backup import Summary

PARTLY = 10
SHOWN = 20  # missing files that are named

app = typer.Typer(help="Copy a library while it is in use; bring it back.", no_args_is_help=True)


@app.command()
def create(
    ctx: typer.Context,
    target: Annotated[Path, typer.Argument(metavar="FOLDER", help="A folder that is empty.")],
    as_json: AsJson = False,
) -> None:
    """Copy the database and all files into a folder. Nobody has to stop working.

    On the same disk the files are hard links and take no room.
    """
    from rushes.library import backup

    with connect(ctx) as rushes:
        summary = backup.create(rushes.library, target)
    _tell(summary, target, as_json=as_json)


@app.command()
def restore(
    ctx: typer.Context,
    source: Annotated[Path, typer.Argument(metavar="FOLDER", help="A finished backup.")],
    into: Annotated[Path, typer.Option(metavar="FOLDER", help="A data folder that is empty.")],
    as_json: AsJson = False,
) -> None:
    """Make a library of a backup, in an empty folder.

    Use it with --data FOLDER, or RUSHES_DATA; `rushes doctor --strict --deep` reads all of it.
    """
    from rushes.app import open_app
    from rushes.library import backup
    from rushes.settings import load

    check_here(ctx)
    summary = backup.restore(source, into)
    url = f"sqlite:///{into.absolute() / backup.DATABASE}"
    with open_app(load(data=into, database_url=url)) as rushes:
        backup.settle(rushes.library)
    _tell(summary, into, as_json=as_json)


def _tell(summary: Summary, folder: Path, *, as_json: bool) -> None:
    from dataclasses import asdict

    if as_json:
        say_json({"folder": str(folder), **asdict(summary)})
    else:
        what = f"{plural(summary.films, 'film')}, {plural(summary.files, 'file')}"
        how = f"{amount(summary.bytes)}, {amount(summary.copied_bytes)} of it copied"
        say(f"{printable(str(folder))}: {what}, {how}")
    if summary.missing:
        note(f"{plural(len(summary.missing), 'file')} missing, for example:")
        for key in summary.missing[:SHOWN]:
            note(f"  {printable(key)}")
        raise typer.Exit(PARTLY)
