"""The shape of the code: who imports whom, where SQL may stand, how long a file may grow."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "rushes"
SOURCES = sorted(PACKAGE.rglob("*.py"))

NAMELESS = {"utils", "util", "helpers", "helper", "common", "misc", "manager", "base", "core"}
ALLOWED_NAMES = {"storage/base.py"}
SQL = re.compile(
    r"\b(SELECT\s+[\w*(:,]|INSERT\s+INTO\s|UPDATE\s+\w+\s+SET\s|DELETE\s+FROM\s"
    r"|(CREATE|ALTER|DROP)\s+(TABLE|INDEX)\s)"
)
LONGEST = 400


def test_layers_import_only_downwards():
    checked = subprocess.run(
        [Path(sys.executable).parent / "lint-imports", "--no-logo"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_media_is_under_contract_as_soon_as_it_exists():
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    forbidden = {
        source: set(contract["forbidden_modules"])
        for contract in contracts["contracts"]
        if contract["type"] == "forbidden"
        for source in contract["source_modules"]
    }

    if (PACKAGE / "media").exists():
        assert forbidden["rushes.media"] >= {
            *("rushes.domain", "rushes.settings", "rushes.store", "rushes.engine"),
            *("psycopg", "sqlite3"),
        }


@pytest.mark.parametrize("name", ["loop", "executor", "heartbeat", "lane", "held"])
def test_worker_does_not_know_where_its_engine_is(name: str):
    """One loop and one executor for workers here and elsewhere: only their session differs."""
    tree = ast.parse((PACKAGE / "worker" / f"{name}.py").read_text())
    named = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}

    assert not named & {f"rushes.worker.{one}" for one in ("local", "remote", "files", "far_files")}
    assert not [module for module in named if module and module.startswith("rushes.engine")]


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: p.relative_to(PACKAGE).as_posix())
def test_file_is_named_and_short(path: Path):
    name = path.relative_to(PACKAGE).as_posix()

    assert path.stem not in NAMELESS or name in ALLOWED_NAMES
    assert path.parent.name not in NAMELESS
    assert len(path.read_text().splitlines()) <= LONGEST


@pytest.mark.parametrize(
    "path",
    [path for path in SOURCES if path.relative_to(PACKAGE).parts[0] != "store"],
    ids=lambda p: p.relative_to(PACKAGE).as_posix(),
)
def test_sql_stands_only_in_the_store(path: Path):
    texts = [
        node.value
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]

    assert [text for text in texts if SQL.search(text)] == []


@pytest.mark.parametrize(
    "text, is_sql",
    [
        ("SELECT id FROM tasks", True),
        ("UPDATE tasks\n   SET state", True),
        ("DELETE FROM jobs", True),
        ("select one of these", False),
        ("one guarded UPDATE moves each row", False),
    ],
)
def test_sql_is_told_from_prose(text: str, is_sql: bool):
    assert bool(SQL.search(text)) is is_sql
