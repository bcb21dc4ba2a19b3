"""`rushes login` and `logout`: the server that commands are about, and the key to it.

Both are kept in one file that nobody else may read.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from rushes.cli import secret
from rushes.cli.connection import AsJson
from rushes.cli.output import printable, say, say_json
from rushes.errors import Invalid, Unavailable

LONGEST_KEY = 200


class Login(NamedTuple):
    """A server, and the key to it if there is one."""

    server: str
    key: str | None


class Homeless(Unavailable):
    """There is no place to keep a login, so there is none."""


def login(
    ctx: typer.Context,
    server: Annotated[
        str, typer.Argument(metavar="URL", help="The server, such as https://films.example.")
    ],
    as_json: AsJson = False,
) -> None:
    """Let commands work on a server from now on.

    The key is asked for on the terminal, or read from the first line of standard input; --key and
    RUSHES_KEY work, too. It is checked, and kept in a file that only you can read.
    """
    from rushes.client import Client
    from rushes.wire.http import check_key, check_server, first_call

    known = Login(check_server(server), check_key(_key(ctx)))
    with Client(known.server, key=known.key) as client, first_call(known.server):
        me = client.me()
    _store(known)
    if as_json:
        say_json({"server": known.server, "name": me.name, "scopes": me.scopes})
    else:
        say(f"logged in to {known.server} as {printable(me.name)} ({', '.join(me.scopes)})")


def logout(as_json: AsJson = False) -> None:
    """Forget the server and its key: commands work on this machine again."""
    known = stored()
    if known is not None:
        _file().unlink(missing_ok=True)
    if as_json:
        say_json({"server": known.server if known else None})
    else:
        say(f"logged out of {known.server}" if known else "nobody is logged in")


def stored() -> Login | None:
    """Return what was kept by `rushes login`."""
    try:
        told = json.loads(_file().read_text())
        return Login(str(told["server"]), str(told["key"]))
    except (FileNotFoundError, NotADirectoryError, Homeless):
        return None
    except OSError as error:
        raise Unavailable(f"{_file()} cannot be read: {error.strerror}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise Invalid(f"{_file()} is damaged", hint="remove it, then: rushes login URL") from error


def _store(known: Login) -> None:
    """Write the file beside, then give it its name: it is whole, and nobody else's, at any time."""
    path = _file()
    part = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        part.unlink(missing_ok=True)
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as file:
            json.dump(known._asdict(), file)
        part.replace(path)
    except OSError as error:
        raise Unavailable(f"{path} cannot be written: {error.strerror}") from error


def _file() -> Path:
    folder = os.environ.get("XDG_CONFIG_HOME") or "~/.config"
    try:
        return Path(folder).expanduser() / "rushes" / "login.json"
    except RuntimeError as error:
        raise Homeless("this user has no home folder", hint="set XDG_CONFIG_HOME") from error


def _key(ctx: typer.Context) -> str:
    given: str | None = ctx.obj["key"]
    return given or secret.ask("key", longest=LONGEST_KEY, command="login URL")
