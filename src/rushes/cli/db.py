"""`rushes db …`: the schema of the database."""

from __future__ import annotations

import typer

from rushes.cli.connection import AsJson, settings_of
from rushes.cli.output import say, say_json

app = typer.Typer(help="The schema of the database.", no_args_is_help=True)


@app.command()
def upgrade(ctx: typer.Context, as_json: AsJson = False) -> None:
    """Bring the database up to the schema of this program.

    Safe to repeat, and from several places at once.
    """
    from contextlib import closing

    from rushes.store.database import open_database
    from rushes.store.migrate import check_version

    with closing(open_database(settings_of(ctx).url)) as database:
        applied = database.migrate()
        version = database.schema_version()
        check_version(version)
    if as_json:
        say_json({"database": database.dialect, "applied": applied, "schema_version": version})
        return
    say(*(f"applied {name}" for name in applied))
    say(f"{database.dialect}: schema {version}" + ("" if applied else ", nothing to do"))
