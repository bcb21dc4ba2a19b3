"""Finds the films among the files and folders that a person names, and says what it leaves out.

A file that is named is taken whatever it is called: its content decides. In a folder a film must
be called like one. Nothing but a regular file is ever opened: a pipe would wait for ever.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rushes.errors import Permanent, RushesError
from rushes.library.folder import BELOW, HIDDEN, NAMED, entries, refusal

__all__ = ["BELOW", "HIDDEN", "NAMED", "Intake", "gather", "refusal"]


@dataclass(slots=True)
class Intake:
    """What was found: films to add, what was left out and why, what cannot be had at all."""

    films: list[Path] = field(default_factory=list)
    skipped: dict[str, list[Path]] = field(default_factory=dict)
    refused: list[tuple[Path, RushesError]] = field(default_factory=list)


def gather(paths: Sequence[Path], *, recursive: bool = False) -> Intake:
    """Look at what was named, in this order; what is wrong with one does not stop the others."""
    intake = Intake()
    for path in paths:
        try:
            if path.is_dir():
                _from_folder(intake, path, recursive=recursive)
            else:
                path.stat()  # what is not there has an error of its own
                intake.films.append(path)
        except OSError as error:
            intake.refused.append((path, refusal(error)))
    return intake


def _from_folder(intake: Intake, root: Path, *, recursive: bool) -> None:
    found, left_out = len(intake.films), 0
    known: dict[tuple[int, int], Path] = {}
    for path, objection in entries(root, root.resolve(), recursive=recursive):
        reason = objection or _known(path, known)
        if reason is None:
            intake.films.append(path)
        else:
            intake.skipped.setdefault(reason, []).append(path)
            left_out += 1
    if len(intake.films) == found:
        seen = f"; {left_out} entries were left out" if left_out else ""
        hint = None if recursive else "--recursive looks into the folders below, too"
        error = Permanent(
            f"no film is in this folder{seen}", error_code="SOURCE_MISSING", hint=hint
        )
        intake.refused.append((root, error))


def _known(path: Path, known: dict[tuple[int, int], Path]) -> str | None:
    """Say that a file was found before under another name, or that it has just gone."""
    try:
        status = path.stat()
    except OSError as error:
        return refusal(error).message
    first = known.setdefault((status.st_dev, status.st_ino), path)
    return None if first is path else f"the same file as {first.name}"
