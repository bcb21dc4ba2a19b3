"""Where a stage finds what it reads and puts what it makes: on this machine, or far away."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from rushes.domain.artifact import Artifact


class Files(Protocol):
    """The files of one attempt of one task."""

    def fetch(self, key: str) -> Path:
        """Return a file to read. It is not the stage's to change. Raises NotFound."""

    def sizes(self, keys: Sequence[str]) -> dict[str, int]:
        """Return how long files are that are there, without bringing them here."""

    def folder(self, asset_id: str) -> Path:
        """Return the folder of this attempt. Nobody looks there until its files are committed."""

    def keep(self, files: Mapping[str, Path]) -> list[Artifact]:
        """Bring {name: path} to where they will stay. They are committed with the result."""

    def discard(self) -> None:
        """Remove what the attempt made; called when it did not end well."""

    def close(self) -> None:
        """Leave nothing behind on this machine but what was kept."""
