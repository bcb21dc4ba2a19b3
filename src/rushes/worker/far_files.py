"""The files of a task that lie on the server: fetched before they are read, sent when made.

A cut wire costs time: downloads and uploads go on where they ended. Only when nothing at all
arrives for a while is the server called away. Whether the task is still ours, its answers tell.
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

from rushes.domain.artifact import Artifact
from rushes.domain.task import Claim
from rushes.errors import NotFound, Permanent, Retryable, Unavailable
from rushes.wire.http import Http
from rushes.worker.cache import Cache, size_of
from rushes.worker.patience import Patience
from rushes.worker.protocol import Input, Inputs, Stored, Wanted

CHUNK = 1 << 18
BATCH = 500


class FarFiles:
    def __init__(self, http: Http, claim: Claim, cache: Cache, *, patience: Patience) -> None:
        self._http, self._claim, self._cache = http, claim, cache
        self._patience = patience
        self._folder: Path | None = None
        self._in_use: list[Path] = []

    def fetch(self, key: str) -> Path:
        try:
            size = self._look([key])[key].bytes
            path = self._cache.get(key, size, lambda part: self._load(key, part))
        except NotFound as error:
            raise Permanent(
                error.message, error_code="SOURCE_MISSING", hint="bring it back, then retry"
            ) from error
        self._in_use.append(path)
        return path

    def sizes(self, keys: Sequence[str]) -> dict[str, int]:
        return {key: found.bytes for key, found in self._look(keys).items()}

    def folder(self, _asset_id: str) -> Path:
        if self._folder is None:
            name = f"task-{self._claim.id}-{self._claim.epoch}-"
            self._folder = Path(tempfile.mkdtemp(prefix=name, dir=self._cache.scratch))
        return self._folder

    def keep(self, files: Mapping[str, Path]) -> list[Artifact]:
        return [self._bring(name, path) for name, path in files.items()]

    def discard(self) -> None:
        """What has arrived is collected by the server: no row names it."""

    def close(self) -> None:
        for path in self._in_use:
            self._cache.release(path)
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    def _look(self, keys: Sequence[str]) -> dict[str, Input]:
        found: dict[str, Input] = {}
        for start in range(0, len(keys), BATCH):
            body = Wanted(**self._about, keys=list(keys[start : start + BATCH]))
            ask = partial(self._http.ask, "/worker/inputs", body, Inputs)
            found |= {one.key: one for one in self._patience(ask).items}
        return found

    def _load(self, key: str, part: Path) -> None:
        """Append what is missing. Each try has a new address: the old one may have expired."""

        def attempt() -> None:
            source = self._look([key])[key]
            if size_of(part) < source.bytes:
                self._http.download(source.url, part, size_of(part))
            if size_of(part) > source.bytes:
                part.unlink()
            if size_of(part) != source.bytes:
                raise Unavailable(f"{key} did not come whole")

        self._patience(attempt, lambda: size_of(part))

    def _bring(self, name: str, path: Path) -> Artifact:
        with path.open("rb") as file:
            sha256 = hashlib.file_digest(file, "sha256").hexdigest()
            size = file.tell()
        claim = self._claim
        place = f"/worker/artifacts/{claim.id}/{claim.epoch}/{quote(name)}"
        told = {"Upload-Length": str(size), "Upload-SHA256": sha256}
        params, reached, is_first = {"owner": claim.owner}, 0, True

        def attempt() -> str:
            nonlocal reached, is_first
            if not is_first:  # only the server knows what arrived
                reached = self._http.get(place, Stored, **params).offset
            is_first = False
            stored = self._http.parsed(
                Stored,
                self._http.send(
                    "PUT",
                    place,
                    params=params,
                    headers={**told, "Upload-Offset": str(reached)},
                    content=_bytes(path, reached),
                ),
            )
            if stored.key is None:
                raise Unavailable(f"{name} did not arrive whole")
            return stored.key

        try:
            return Artifact(name, self._patience(attempt, lambda: reached), size, sha256)
        except Permanent as error:  # the server has no room for it now: no fault of the work
            raise Retryable(error.message, error_code=error.error_code, hint=error.hint) from error

    @property
    def _about(self) -> dict[str, Any]:
        claim = self._claim
        return {"owner": claim.owner, "task_id": claim.id, "lease_epoch": claim.epoch}


def _bytes(path: Path, offset: int) -> Iterator[bytes]:
    with path.open("rb") as file:
        file.seek(offset)
        while chunk := file.read(CHUNK):
            yield chunk
