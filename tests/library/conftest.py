"""A library on each database, with a worker whose hands are the test."""

from __future__ import annotations

from pathlib import Path

import pytest

from rushes.store.database import Database
from tests.library.studio import Studio


@pytest.fixture
def studio(db: Database, tmp_path: Path) -> Studio:
    return Studio(db, tmp_path / "data")
