"""`rushes add`: films into the library, and their work done here unless somebody else is to."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from rushes.cli.connection import AsJson
from rushes.cli.main import EXIT, FAILED
from rushes.cli.options import NoWait, Priority, Qualities
from rushes.cli.output import note, plural, printable, say, say_line, tell_error
from rushes.domain.room import amount
from rushes.errors import Invalid, RushesError
from rushes.library.wishes import languages_of, priority_of, qualities_of

if TYPE_CHECKING:
    from rushes.api.desk.wishes import Wishes
    from rushes.cli.intake import Intake
    from rushes.cli.place import Place
    from rushes.client import Job

UNREAD = "the text on the screen is not read: pip install 'rushes[ocr]', then retranscode --text"
LARGE_BYTES = 256_000_000  # a copy of so much takes a while: say so
FOR_ALL = (401, 403, 503)  # what is refused like this is not about one film
NAMES = 3  # of skipped files that are told with the reason


def add(
    ctx: typer.Context,
    paths: Annotated[
        list[Path], typer.Argument(metavar="FILE|DIR…", help="Films, or folders with films.")
    ],
    no_wait: NoWait = False,
    priority: Priority = "normal",
    qualities: Qualities = None,
    languages: Annotated[
        str, typer.Option(metavar="LIST", help="Languages of the text on the screen.")
    ] = "en",
    title: Annotated[
        str | None, typer.Option(metavar="TEXT", help="The title; unset: the name of the file.")
    ] = None,
    tag: Annotated[
        list[str] | None, typer.Option(metavar="WORD", help="A tag; give it as often as needed.")
    ] = None,
    no_text: Annotated[
        bool, typer.Option("--no-text", help="Do not read the text on the screen.")
    ] = False,
    idempotency_key: Annotated[
        str | None,
        typer.Option(metavar="KEY", help="Adding again with the same key adds nothing."),
    ] = None,
    duplicate: Annotated[
        Literal["refuse", "allow"], typer.Option(help="What to do with a film that is there.")
    ] = "refuse",
    recursive: Annotated[
        bool, typer.Option("--recursive", "-r", help="Also look into folders below.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Add films and stay until they are ready.

    Needs no server: the work is done in this process, beside others that work on the same data.
    Ctrl-C hands it back; it stays in the queue. With a server the films are sent there, and Ctrl-C
    leaves the work to it. A file that is refused does not stop the others.
    Exit code 0: all are ready. 1: failed. 5: all are there already. 8: killed. 10: some of each.
    With --json one object per line: what was added, refused and skipped, progress, and the ends.
    """
    from rushes.cli.intake import gather
    from rushes.cli.place import workplace
    from rushes.library.upload import check_words

    check_words(title, tag or ())
    wishes: Wishes = {
        "title": title,
        "tags": tuple(tag or ()),
        "priority": priority_of(priority),
        "qualities": qualities_of(qualities),
        "languages": languages_of(languages),
        "text": not no_text,
        "idempotency_key": idempotency_key,
        "duplicate": duplicate,
    }
    found = gather(paths, recursive=recursive)
    if len(found.films) > 1 and (title or idempotency_key):
        raise Invalid(f"--title and --idempotency-key are for one film, not {len(found.films)}")
    with workplace(ctx) as here:
        if wishes["text"] and not no_wait and not here.reads_text:
            # where no worker can read text, the job would never end
            wishes["text"] = False
            note(UNREAD)
        raise typer.Exit(_add(here, found, wishes, no_wait=no_wait, as_json=as_json))


def _add(here: Place, found: Intake, wishes: Wishes, *, no_wait: bool, as_json: bool) -> int:
    """Take in what was found and, unless others are to, stay for it. Returns the exit code."""
    from rushes.cli import attend

    _tell_skipped(found, as_json=as_json)
    codes = [_refuse(path, error, as_json=as_json) for path, error in found.refused]
    added: list[Job] = []
    for path in found.films:
        taken = _take_in(here, path, wishes, as_json=as_json)
        if isinstance(taken, int):
            codes.append(taken)
        else:
            added.append(taken)
    if no_wait:
        if added and not as_json:
            say(f"{plural(len(added), 'film')} in the queue{here.next_step}")
        return attend.exit_code([*codes, *(0 for _ in added)])
    ends = here.stay([one.job_id for one in added], as_json=as_json) if added else []
    if not as_json:
        attend.tell_ends(ends)
    return attend.exit_code([*codes, *(attend.code_of(end) for end in ends)])


def _take_in(here: Place, path: Path, wishes: Wishes, *, as_json: bool) -> Job | int:
    """Take one film in; the exit code of one that is refused."""
    from rushes.cli.intake import refusal

    try:
        added = _bring(here, path, wishes, as_json=as_json)
    except RushesError as error:
        if error.status in FOR_ALL:
            raise
        return _refuse(path, error, as_json=as_json)
    except OSError as error:
        return _refuse(path, refusal(error), as_json=as_json)
    except KeyboardInterrupt:
        note(f"interrupted; what was taken in before stays in the queue{here.next_step}")
        raise
    _tell_added(path, added, as_json=as_json)
    return added


def _bring(here: Place, path: Path, wishes: Wishes, *, as_json: bool) -> Job:
    from rushes.cli.live import sending

    if here.app is None:
        with sending(printable(path.name), as_json=as_json) as progress:
            return here.client.videos.add(path, progress=progress, **wishes)
    if not as_json and (length := path.stat().st_size) > LARGE_BYTES:
        note(f"{printable(path.name)}: taking in {amount(length)}")
    return here.client.videos.add(path, **wishes)


def _refuse(path: Path, error: RushesError, *, as_json: bool) -> int:
    """Say why a file is not taken. Returns the exit code that it would have alone."""
    from rushes.api.problems import problem

    if as_json:
        say_line({"event": "refused", "path": printable(str(path)), **problem(error)})
    else:
        tell_error(error, as_json=False, about=printable(str(path)))
    return EXIT.get(error.status, FAILED)


def _tell_added(path: Path, added: Job, *, as_json: bool) -> None:
    if as_json:
        ids = {"asset_id": added.asset_id, "job_id": added.job_id, "created": added.created}
        say_line({"event": "added", "path": printable(str(path)), **ids})
    elif not added.created:
        note(f"{printable(path.name)}: was added before, as {added.asset_id[-8:]}")


def _tell_skipped(found: Intake, *, as_json: bool) -> None:
    for reason, paths in found.skipped.items():
        if as_json:
            for path in paths:
                say_line({"event": "skipped", "path": printable(str(path)), "reason": reason})
        else:
            names = ", ".join(printable(path.name) for path in paths[:NAMES])
            more = f" and {len(paths) - NAMES} more" if len(paths) > NAMES else ""
            note(f"skipped, {reason}: {names}{more}")
