"""What every command begins with: its settings, and the engine wired to them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rushes.app import App
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


def given(ctx: typer.Context) -> dict[str, object]:
    """Return the settings that were given as options before the command."""
    return {name: value for name, value in ctx.obj.items() if value}


def settings_of(ctx: typer.Context, **overrides: object) -> Settings:
    """Return the settings of this command: options first, then the environment."""
    from rushes.settings import load

    chosen = {name: value for name, value in overrides.items() if value is not None}
    return load(**given(ctx), **chosen)


@contextmanager
def connect(ctx: typer.Context, **overrides: object) -> Iterator[App]:
    """Open the engine for one command."""
    from rushes.app import open_app

    with open_app(settings_of(ctx, **overrides)) as app:
        yield app


def caller() -> str:
    """Return the name under which a person's deeds are written down."""
    import getpass

    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container may run a user that has no name
        return "unknown"
