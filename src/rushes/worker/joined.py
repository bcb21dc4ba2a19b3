"""The server that this machine works for, and its key: one file that nobody else may read."""

from __future__ import annotations

import json
import os
from contextlib import suppress
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


def store(folder: Path, joined: Joined) -> Path:
    """Keep it, for this person alone. Returns where."""
    path, draft = folder / FILE, folder / f"{FILE}.new"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        draft.unlink(missing_ok=True)
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as file:
            json.dump(joined._asdict(), file)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except OSError as error:
        raise Unavailable(f"{path} cannot be written: {error.strerror}") from error
    return path


def forget(folder: Path) -> bool:
    """Remove it. Returns whether there was one."""
    with suppress(FileNotFoundError):
        (folder / FILE).unlink()
        return True
    return False
