"""`rushes users …`: who may use this installation."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from rushes.cli.connection import AsJson, connect, person
from rushes.cli.output import duration, printable, say, say_json, table
from rushes.errors import Invalid

if TYPE_CHECKING:
    from rushes.domain.person import Principal, User
    from rushes.store.database import Database

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
    from rushes.library import people
    from rushes.library.people import NewUser

    check_name(name, "the name")
    wanted = NewUser(
        name=name,
        role=Role.ADMIN if admin else Role.USER,
        password=None if no_password else _ask_password(),
    )
    with connect(ctx) as rushes:
        user = people.add_user(rushes.db, person(), wanted)
    _tell(user, f"{user.name} is added", as_json)


@app.command("list")
def list_users(ctx: typer.Context, as_json: AsJson = False) -> None:
    """List users by name."""
    from rushes.cli.reading import clock
    from rushes.library import people

    with connect(ctx) as rushes:
        found = people.list_users(rushes.db, person())
        now = rushes.db.read(clock)
    if as_json:
        say_json({"items": [user_view(user) for user in found], "next_cursor": None})
        return
    rows = [
        (
            printable(user.name),
            user.role,
            status_of(user),
            "yes" if user.has_password else "no",
            f"{duration(now - user.created_at)} ago",
        )
        for user in found
    ]
    say(*(table(("user", "role", "status", "password", "added"), rows) if rows else ["no users"]))


@app.command()
def disable(ctx: typer.Context, name: Name, as_json: AsJson = False) -> None:
    """Keep a user out, at once.

    Their sessions end; their keys work again once they are enabled.
    """
    from rushes.library import people

    _change(ctx, name, people.disable, as_json)


@app.command()
def enable(ctx: typer.Context, name: Name, as_json: AsJson = False) -> None:
    """Let a disabled user in again."""
    from rushes.library import people

    _change(ctx, name, people.enable, as_json)


@app.command()
def password(ctx: typer.Context, name: Name, as_json: AsJson = False) -> None:
    """Give a user a new password and end their sessions.

    It is asked for on the terminal, or read from the first line of standard input.
    """
    from rushes.library import people
    from rushes.library.people import NewPassword
    from rushes.store.people import find_user

    by = person()
    with connect(ctx) as rushes:
        known = rushes.db.read(lambda tx: find_user(tx, name, by))
        wanted = NewPassword(user=known.id, password=_ask_password())
        user = people.set_password(rushes.db, by, wanted)
    _tell(user, f"{user.name} has a new password", as_json)


def user_view(user: User) -> dict[str, object]:
    """Return what a caller is told of a user."""
    from rushes.cli.views import rfc3339

    return {
        "user_id": user.id,
        "name": user.name,
        "role": user.role,
        "status": status_of(user),
        "has_password": user.has_password,
        "created_at": rfc3339(user.created_at),
        "disabled_at": rfc3339(user.disabled_at),
    }


def status_of(user: User) -> str:
    return "active" if user.disabled_at is None else "disabled"


def _change(
    ctx: typer.Context, name: str, act: Callable[[Database, Principal, str], User], as_json: bool
) -> None:
    with connect(ctx) as rushes:
        user = act(rushes.db, person(), name)
    _tell(user, f"{user.name} is {status_of(user)}", as_json)


def _tell(user: User, line: str, as_json: bool) -> None:
    if as_json:
        say_json(user_view(user))
    else:
        say(printable(line))


def _ask_password() -> str:
    """Ask on the terminal; without one, read a line. Never an option: others see those."""
    from rushes.domain.person import LONGEST_PASSWORD

    if sys.stdin.isatty():
        return str(typer.prompt("password", hide_input=True, confirmation_prompt=True, err=True))
    try:
        line = sys.stdin.readline(LONGEST_PASSWORD + 2).rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise Invalid("the password on standard input is not text") from error
    if not line:
        raise Invalid(
            "there is no password on standard input",
            hint="call it on a terminal, or: rushes users … < FILE",
        )
    return line
