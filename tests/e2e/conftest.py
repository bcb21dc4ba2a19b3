"""The whole product, as its users start it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.island import Island, islands
from tests.e2e.place import Place


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    place = Place(tmp_path)
    yield place
    place.close()


@pytest.fixture(scope="session")
def two_islands() -> Iterator[list[Island]]:
    """Two machines for all tests: browsers have to wait while they are made and removed."""
    with islands(2) as made:
        yield made
