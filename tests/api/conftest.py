"""The API, called as over HTTP, beside the hands of a studio."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from rushes.settings import Settings
from rushes.store.database import open_database
from tests.api.house import House, Visitor, open_house
from tests.library.studio import Studio


@pytest.fixture
def studio(tmp_path: Path, sqlite_url: str, sqlite_template: Path) -> Iterator[Studio]:
    shutil.copy(sqlite_template, sqlite_url.removeprefix("sqlite:///"))
    with closing(open_database(sqlite_url)) as database:
        yield Studio(database, tmp_path / "data")


@pytest.fixture
def house(studio: Studio, tmp_path: Path) -> Iterator[House]:
    settings = Settings(data=tmp_path / "data", storage_reserve_gb=0)
    house, notifier = open_house(studio, settings)
    with closing(notifier):
        yield house


@pytest.fixture
def admin(house: House) -> Visitor:
    return house.admin


@pytest.fixture
def ann(house: House) -> Visitor:
    return house.visitor(house.key(house.user("ann")))


@pytest.fixture
def bob(house: House) -> Visitor:
    return house.visitor(house.key(house.user("bob")))


@pytest.fixture(scope="module")
def lasting_studio(
    tmp_path_factory: pytest.TempPathFactory, sqlite_template: Path
) -> Iterator[Studio]:
    """A studio for all tests of a module, with a film that is ready."""
    folder = tmp_path_factory.mktemp("house")
    shutil.copy(sqlite_template, folder / "rushes.db")
    with closing(open_database(f"sqlite:///{folder / 'rushes.db'}")) as database:
        studio = Studio(database, folder / "data")
        studio.add(title="A day", text=True)
        studio.finish()
        yield studio


@pytest.fixture(scope="module")
def lasting_house(lasting_studio: Studio) -> Iterator[House]:
    settings = Settings(data=lasting_studio.storage.root, storage_reserve_gb=0)
    house, notifier = open_house(lasting_studio, settings)
    with closing(notifier):
        yield house
