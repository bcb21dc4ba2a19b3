"""Starting up: quick, and without what a command does not need."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

PROBE = """
import json, sys
from rushes.cli.main import main
try:
    main()
except SystemExit:
    pass
print(json.dumps(sorted(sys.modules)))
"""
HEAVY = (
    *("httpx", "fastapi", "rushes.client", "rushes.api.desk"),
    *("psycopg", "pydantic_settings", "rich", "sqlite3", "rushes.store", "rushes.app"),
)


@pytest.mark.parametrize(
    "arguments, light",
    [
        (["--version"], ("typer", "pydantic", *HEAVY)),
        (["--help"], ("pydantic", *HEAVY)),
        (["jobs", "list", "--help"], HEAVY),
        (["add", "--help"], HEAVY),
        (["demo", "--limit", "x"], HEAVY),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_start_imports_only_what_it_needs(arguments, light):
    done = subprocess.run(
        [sys.executable, "-c", PROBE, *arguments], capture_output=True, text=True, check=True
    )

    loaded = set(json.loads(done.stdout.splitlines()[-1]))

    assert {name for name in light if name in loaded} == set()


@pytest.mark.parametrize("module", ["rushes", "rushes.cli.main"])
def test_python_runs_the_command_as_a_module(module: str):
    done = subprocess.run(
        [sys.executable, "-m", module, "--version"], capture_output=True, text=True, check=True
    )

    assert done.stdout == "rushes 0.1.0\n"


def test_help_lists_every_group(cli):
    page = cli("--help").out

    for name in ("jobs", "workers", "worker", "queue", "db", "doctor", "config", "demo"):
        assert f"\n  {name} " in page
    for name in ("users", "keys", "login", "logout"):
        assert f"\n  {name} " in page
    for name in ("add", "list", "show", "text", "retranscode", "rm", "restore"):
        assert f"\n  {name} " in page


def test_version_is_told_among_other_options_too(cli):
    assert cli("--no-color", "--version").out == "rushes 0.1.0\n"
