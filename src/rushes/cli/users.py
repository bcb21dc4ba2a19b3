"""`rushes users …`: who may use this installation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from rushes.cli import secret
from rushes.cli.connection import AsJson, reach
from rushes.cli.output import between, duration, now, printable, say, say_json, table

if TYPE_CHECKING:
    from rushes.api.people import UserView

Name = Annotated[str, typer.Argument(metavar="NAME", help="The user's name, or their id.")]

app = typer.Typer(help="See users, add, disable and enable them.", no_args_is_help=True)


@app.command()
def add(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="1 to 100 characters.")],
    admin: Annotated[
        bool, typer.Option("--admin", help="They see everything and manage users.")
    ] = False,
    no_password: Annotated[
        bool, typer.Option("--no-password", help="They come in with a key or a login link only.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Add a user.

    The password is asked for on the terminal, or read from the first line of standard input.
    """
    from rushes.domain.person import Role, check_name

    check_name(name, "the name")
    given = None if no_password else _ask_password()
    with reach(ctx) as rushes:
        user = rushes.users.add(name, role=Role.ADMIN if admin else Role.USER, password=given)
    _tell(user, f"{user.name} is added", as_json)


@app.command("list")
def list_users(ctx: typer.Context, as_json: AsJson = False) -> None:
    """List users by name."""
    with reach(ctx) as rushes:
        page = rushes.users.list()
    if as_json:
        say_json(page)
        return
    at = now()
    rows = [
        (
            printable(user.name),
            user.role,
            status_of(user),
            "yes" if user.has_password else "no",
            f"{duration(between(user.created_at, at))} ago",
        )
        for user in page.items
    ]
    say(*(table(("user", "role", "status", "password", "added"), rows) if rows else ["no users"]))


@app.command()
def disable(ctx: typer.Context, name: Name, as_json: AsJson = False) -> None:
    """Keep a user out, at once.

    Their sessions end; their keys work again once they are enabled.
    """
    with reach(ctx) as rushes:
        user = rushes.users.disable(name)
    _tell(user, f"{user.name} is {status_of(user)}", as_json)


@app.command()
def enable(ctx: typer.Context, name: Name, as_json: AsJson = False) -> None:
    """Let a disabled user in again."""
    with reach(ctx) as rushes:
        user = rushes.users.enable(name)
    _tell(user, f"{user.name} is {status_of(user)}", as_json)


@app.command()
def password(ctx: typer.Context, name: Name, as_json: AsJson = False) -> None:
    """Give a user a new password and end their sessions.

    It is asked for on the terminal, or read from the first line of standard input.
    """
    with reach(ctx) as rushes:
        user = rushes.users.set_password(name, _ask_password())
    _tell(user, f"{user.name} has a new password", as_json)


def status_of(user: UserView) -> str:
    return "active" if user.disabled_at is None else "disabled"


def _tell(user: UserView, line: str, as_json: bool) -> None:
    if as_json:
        say_json(user)
    else:
        say(printable(line))


def _ask_password() -> str:
    from rushes.domain.person import LONGEST_PASSWORD

    return secret.ask("password", longest=LONGEST_PASSWORD, command="users …", confirm=True)
