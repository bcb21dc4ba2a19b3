"""The examples in the docstrings of the media functions hold."""

from __future__ import annotations

import doctest
from importlib import import_module
from pathlib import Path

import pytest

import rushes.media

FILES = Path(rushes.media.__file__).parent.glob("*.py")
MODULES = sorted(f"rushes.media.{path.stem}" for path in FILES if ">>> " in path.read_text())


@pytest.mark.parametrize("name", MODULES)
def test_examples_hold(name: str):
    found = doctest.testmod(import_module(name))

    assert found.attempted > 0
    assert found.failed == 0
