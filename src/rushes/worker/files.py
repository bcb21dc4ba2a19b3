"""The files of a task on the machine that has them: read and written where they stay."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from rushes.domain.artifact import Artifact, attempt_folder, is_source
from rushes.domain.task import Claim
from rushes.errors import Permanent
from rushes.storage.local import LocalStorage


class LocalFiles:
    def __init__(self, storage: LocalStorage, claim: Claim) -> None:
        self._storage = storage
        self._claim = claim
        self._folder: Path | None = None

    def fetch(self, key: str) -> Path:
        path = self._storage.path(key)
        if not is_source(key) or not path.is_file():
            raise Permanent(
                f"the file {key} is missing",
                error_code="SOURCE_MISSING",
                hint="bring it back, or add the film again",
            )
        return path

    def sizes(self, keys: Sequence[str]) -> dict[str, int]:
        return {key: self.fetch(key).stat().st_size for key in keys}

    def folder(self, asset_id: str) -> Path:
        if self._folder is None:
            key = attempt_folder(asset_id, self._claim.id, self._claim.epoch)
            self._folder = self._storage.path(key)
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder.mkdir(parents=True)
        return self._folder

    def keep(self, files: Mapping[str, Path]) -> list[Artifact]:
        sealed = self._storage.seal(list(files.values()))
        return [
            Artifact(name, self._storage.key(path), one.bytes, one.sha256)
            for (name, path), one in zip(files.items(), sealed, strict=True)
        ]

    def discard(self) -> None:
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    def close(self) -> None:
        """What was made lies where it stays."""
