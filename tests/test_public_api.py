"""The public names: these and no others, and they cost nothing until somebody asks for them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import rushes

NAMES = {
    *("Client", "Job", "JobFailed", "JobKilled", "WaitTimedOut"),
    *("RushesError", "NotFound", "Conflict", "Invalid", "Unavailable"),
    "__version__",
}
LIGHT = """
import sys
import rushes
assert not {"pydantic", "httpx", "rushes.client", "rushes.errors"} & set(sys.modules)
rushes.Client
assert "rushes.client" in sys.modules
assert not {"httpx", "fastapi", "psycopg", "rushes.app"} & set(sys.modules)
"""


def test_public_names_are_these():
    assert set(rushes.__all__) == NAMES


@pytest.mark.parametrize("name", sorted(NAMES))
def test_public_name_is_there_and_in_the_stub(name: str):
    assert getattr(rushes, name) is not None
    assert name in Path(f"{rushes.__file__}i").read_text()


def test_name_that_is_not_public_is_an_attribute_error():
    with pytest.raises(AttributeError):
        rushes.Server  # noqa: B018


def test_importing_the_package_imports_nothing_else():
    subprocess.run([sys.executable, "-c", LIGHT], check=True)
