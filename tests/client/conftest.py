"""The same library through both doors: opened here, and served."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from rushes.client import Client
from rushes.settings import Settings, load
from rushes.store.database import open_database
from tests.client.server import Served, served
from tests.library.studio import Studio


@pytest.fixture
def settings(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, sqlite_url: str, sqlite_template: Path
) -> Settings:
    """Nothing of this machine's own; the database is there, and empty."""
    for name in [name for name in os.environ if name.startswith("RUSHES_")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    shutil.copy(sqlite_template, sqlite_url.removeprefix("sqlite:///"))
    return load(data=tmp_path / "data", database_url=sqlite_url, storage_reserve_gb=0)


@pytest.fixture
def studio(settings: Settings) -> Iterator[Studio]:
    with closing(open_database(settings.url)) as database:
        yield Studio(database, settings.folder)


@pytest.fixture
def server(settings: Settings) -> Iterator[Served]:
    with served(settings) as server:
        yield server


@pytest.fixture
def far(server: Served) -> Iterator[Client]:
    with Client(server.url, key=server.key) as client:
        yield client


@pytest.fixture(params=["here", "there"])
def client(request: pytest.FixtureRequest, server: Served) -> Iterator[Client]:
    """A client of the library, and one of its server."""
    if request.param == "here":
        yield Client.at(server.app.library)
        return
    with Client(server.url, key=server.key) as client:
        yield client
