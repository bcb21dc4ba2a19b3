"""The entry point `rushes`: runs a command and turns how it ended into an exit code.

Start-up is a budget: `--version` imports nothing, every other command imports typer and then,
inside the command, what it needs. The exit codes are a contract with scripts: `EXIT` and below.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from rushes import __version__
from rushes.errors import RushesError, Unavailable

FAILED, USAGE, INTERRUPTED = 1, 2, 130
EXIT = {401: 4, 403: 4, 404: 3, 409: 5, 410: 3, 412: 5, 422: USAGE, 503: 6, 504: 7}
"""Exit code by the status of an error; any other deliberate error is FAILED."""


def main() -> None:
    if sys.argv[1:] == ["--version"]:
        sys.stdout.write(f"rushes {__version__}\n")
        return
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code. Errors are told on stderr."""
    import typer
    from typer.main import get_command

    from rushes.cli.commands import app
    from rushes.cli.output import tell_error, tell_usage

    as_json = "--json" in arguments
    try:
        code = get_command(app).main(list(arguments), prog_name="rushes", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except typer.TyperException as error:
        tell_usage(error, as_json=as_json)
        return error.exit_code
    except RushesError as error:
        tell_error(error, as_json=as_json)
        return EXIT.get(error.status, FAILED)
    except (KeyboardInterrupt, typer.Abort):
        return INTERRUPTED
    except BrokenPipeError:
        _close_stdout()
        return FAILED
    except Exception as error:
        known = _from_driver(error)
        if known is None:
            raise
        tell_error(known, as_json=as_json)
        return EXIT[known.status]


def _from_driver(error: Exception) -> Unavailable | None:
    """Return what a database driver raised by itself, such as a full disk, as our own error."""
    modules = {type(one).__module__.partition(".")[0] for one in (error, error.__cause__)}
    if modules.isdisjoint(("sqlite3", "psycopg", "psycopg_pool")):
        return None
    return Unavailable(f"the database failed: {(str(error) or repr(error)).splitlines()[0]}")


def _close_stdout() -> None:
    """Whoever read our output has gone; keep the interpreter from failing on it once more."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    main()
