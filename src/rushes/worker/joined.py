"""The server that this machine works for, and its key: one file that nobody else may read."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from rushes.errors import Invalid, Unavailable

FILE = "worker.json"


class Joined(NamedTuple):
    server: str
    key: str
    name: str


def load(folder: Path) -> Joined | None:
    """Return what `store` kept in a data folder."""
    path = folder / FILE
    try:
        told = json.loads(path.read_text())
        return Joined(str(told["server"]), str(told["key"]), str(told["name"]))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise Unavailable(f"{path} cannot be read: {error.strerror}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise Invalid(
            f"{path} is damaged", hint="remove it, then: rushes worker join URL"
        ) from error


def check_place(folder: Path) -> None:
    """Raise Unavailable unless a key can be kept in this folder."""
    with _draft(folder) as draft:
        draft.unlink()


def store(folder: Path, joined: Joined) -> Path:
    """Keep it, for this person alone. Returns where."""
    path = folder / FILE
    with _draft(folder) as draft:
        with draft.open("w") as file:
            json.dump(joined._asdict(), file)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    return path


def forget(folder: Path) -> bool:
    """Remove it. Returns whether there was one."""
    with suppress(FileNotFoundError):
        (folder / FILE).unlink()
        return True
    return False


@contextmanager
def _draft(folder: Path) -> Iterator[Path]:
    """Give an empty file that nobody else may read, in a folder that is made if need be."""
    draft = folder / f"{FILE}.new"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        draft.unlink(missing_ok=True)
        os.close(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        yield draft
    except OSError as error:
        raise Unavailable(f"{folder / FILE} cannot be written: {error.strerror}") from error
