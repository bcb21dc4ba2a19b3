"""The examples in the docstrings of the domain hold."""

from __future__ import annotations

import doctest
import pkgutil
from importlib import import_module

import pytest

import rushes.domain

MODULES = [
    f"rushes.domain.{module.name}" for module in pkgutil.iter_modules(rushes.domain.__path__)
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_hold(name: str):
    assert doctest.testmod(import_module(name)).failed == 0


def test_there_are_examples():
    assert sum(doctest.testmod(import_module(name)).attempted for name in MODULES) > 0
