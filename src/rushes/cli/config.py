"""`rushes config …`: what is set, where it comes from, and whether it is right."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Annotated

import typer

from rushes.cli.connection import AsJson, given, settings_of
from rushes.cli.output import say, say_json, table
from rushes.errors import Invalid

if TYPE_CHECKING:
    from rushes.settings import Settings

HIDDEN = "***"
OF_THE_CLIENT = ("RUSHES_SERVER", "RUSHES_KEY")  # options of the command line, not settings

app = typer.Typer(help="What is set, and whether it is right.", no_args_is_help=True)


@app.command()
def show(
    ctx: typer.Context,
    origin: Annotated[
        bool, typer.Option("--origin", help="Also say where each value comes from.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Print every setting. Passwords are hidden."""
    settings = settings_of(ctx)
    values = _values(settings)
    origins = {name: _origin(name, settings, given(ctx)) for name in values}
    if as_json:
        entries = {name: {"value": value} for name, value in values.items()}
        for name in entries if origin else ():
            entries[name]["origin"] = origins[name]
        say_json({"settings": entries})
        return
    from rushes.settings import PREFIX

    rows = [
        (PREFIX + name.upper(), _shown(value), origins[name] if origin else "")
        for name, value in values.items()
    ]
    say(*table(("setting", "value", "origin"), rows))


@app.command()
def check(ctx: typer.Context, as_json: AsJson = False) -> None:
    """Check the settings, the stages they name and the database. Writes nothing.

    Exit code 2: a setting is wrong. 6: the database cannot be reached, or has another schema.
    """
    settings = settings_of(ctx)
    _check_names()
    _check_stages(settings)
    schema = _check_database(settings)
    if as_json:
        url = hidden(settings.url)
        say_json({"ok": True, "database_url": url, "schema_version": schema})
    else:
        state = f"schema {schema}" if schema else "will be made at the first use"
        say("settings: ok", f"database: ok, {hidden(settings.url)}, {state}")


def hidden(url: str) -> str:
    """Return a database URL without its password.

    >>> hidden("postgresql://ann:geheim@db:5432/rushes?sslmode=require&password=x")
    'postgresql://ann:***@db:5432/rushes?sslmode=require&password=***'
    """
    in_place = re.sub(r"^(\w+://[^:@/]*:).*@", rf"\1{HIDDEN}@", url)
    return re.sub(r"(password=)[^&\s]*", rf"\1{HIDDEN}", in_place)


def _values(settings: Settings) -> dict[str, object]:
    values = settings.model_dump(mode="json")
    values["database_url"] = hidden(settings.url)
    return {name: _flat(value) for name, value in values.items()}


def _shown(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else "" if value is None else str(value)


def _flat(value: object) -> object:
    return ",".join(str(entry) for entry in value) if isinstance(value, list) else value


def _origin(name: str, settings: Settings, options: dict[str, object]) -> str:
    from rushes.settings import PREFIX

    if name in options:
        return "option"
    if name not in settings.model_fields_set:
        return "default"
    return "environment" if PREFIX + name.upper() in map(str.upper, os.environ) else ".env"


def _check_names() -> None:
    """Refuse variables that look like settings and are none: most often a slip of the pen."""
    from difflib import get_close_matches

    from rushes.settings import PREFIX, Settings

    known = [*OF_THE_CLIENT, *(PREFIX + name.upper() for name in Settings.model_fields)]
    for name in sorted(os.environ):
        if name.upper().startswith(PREFIX) and name.upper() not in known:
            near = get_close_matches(name.upper(), known, n=1)
            hint = f"did you mean {near[0]}?" if near else "rushes config show lists them"
            raise Invalid(f"{name}: there is no such setting", hint=hint)


def _check_stages(settings: Settings) -> None:
    from importlib import import_module

    for module in settings.stages:
        try:
            import_module(module)
        except Exception as error:  # it is somebody else's code
            raise Invalid(f"RUSHES_STAGES: {module} cannot be imported: {error!r}") from error


def _check_database(settings: Settings) -> int:
    """Return the schema of the database; 0 for an SQLite file that is not there yet."""
    from contextlib import closing
    from pathlib import Path

    from rushes.store.database import open_database
    from rushes.store.migrate import check_version

    file = Path(settings.url.removeprefix("sqlite:///"))
    if settings.url.startswith("sqlite:///") and not file.exists():
        return 0
    with closing(open_database(settings.url)) as database:
        version = database.schema_version()
        check_version(version)
    return version
