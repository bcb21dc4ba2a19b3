"""One text for two databases: tags, macros, and what the loader refuses."""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path

import psycopg
import pytest

import rushes
from rushes.errors import Invalid
from rushes.store.database import Database
from rushes.store.ids import new_id
from rushes.store.queries import Dialect, load, parse, script

GUARD = r"WHERE[\s\S]*\bstate (= '|IN \()"
PLANNABLE = re.compile(r"(SELECT|INSERT|UPDATE|DELETE|WITH)\b")
DIALECTS: tuple[Dialect, ...] = ("postgres", "sqlite")


@pytest.mark.parametrize(
    "dialect, statement",
    [
        ("postgres", "SELECT id FROM tasks\n LIMIT %(n)s\n   FOR UPDATE"),
        ("sqlite", "SELECT id FROM tasks\n LIMIT :n"),
    ],
)
def test_tagged_line_is_kept_for_its_dialect_only(dialect: Dialect, statement: str):
    text = (
        "-- name: take\n-- What it does.\nSELECT id FROM tasks\n"
        " LIMIT :n\n   FOR UPDATE  --@postgres\n"
    )

    assert parse([text], dialect) == {"take": statement}


def test_statement_of_the_other_dialect_only_is_empty():
    text = "-- name: lock\nSELECT 1 FOR UPDATE  --@postgres\n"

    assert parse([text], "sqlite") == {"lock": ""}


def test_fragment_is_put_in_and_may_use_macros_itself():
    text = "-- name: q\nSELECT {both}\n-- fragment: both\n{one}, {now}\n-- fragment: one\n1\n"

    [statement] = parse([text], "sqlite").values()

    assert statement.startswith("SELECT 1, (SELECT coalesce(:now, CAST(")


def test_types_are_written_as_each_database_calls_them():
    text = "-- name: t\nCREATE TABLE t (id {uuid}, is_on {flag}, n {bigint}, list {json})\n"

    assert parse([text], "postgres")["t"].endswith("(id uuid, is_on boolean, n bigint, list jsonb)")
    assert parse([text], "sqlite")["t"].endswith("(id TEXT, is_on INTEGER, n INTEGER, list TEXT)")


def test_batch_is_one_json_parameter():
    text = "-- name: b\nSELECT id FROM {rows:claims(id bigint, epoch integer)} AS c\n"

    postgres, sqlite = (parse([text], dialect)["b"] for dialect in DIALECTS)

    assert (
        "json_to_recordset(CAST(%(claims)s AS json)) AS entry(id bigint, epoch integer)" in postgres
    )
    assert "json_extract(value, '$.epoch') AS epoch FROM json_each(:claims)" in sqlite


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    "body", ["SELECT id FROM t WHERE name LIKE 'a%'", "SELECT ':word'", "SELECT 7 % 2"]
)
def test_bare_percent_and_parameter_in_a_literal_are_refused(dialect: Dialect, body: str):
    with pytest.raises(ValueError, match="is not supported"):
        parse([f"-- name: q\n{body}\n"], dialect)


@pytest.mark.parametrize("sort", ["name", "fragment"])
def test_two_of_one_name_are_refused(sort: str):
    text = f"-- {sort}: twice\nSELECT 1\n"

    with pytest.raises(ValueError, match=f"two SQL {sort}s are called twice"):
        parse([text, text], "sqlite")


def test_unknown_word_is_refused():
    with pytest.raises(KeyError, match="colour"):
        parse(["-- name: q\nSELECT {colour}\n"], "sqlite")


def test_migration_is_split_at_semicolons_that_end_a_line():
    text = (
        "-- a comment; really\nCREATE TABLE a (x text DEFAULT ';' );\n\nCREATE TABLE b (y text);\n"
    )

    assert script(text, "sqlite") == [
        "CREATE TABLE a (x text DEFAULT ';' )",
        "CREATE TABLE b (y text)",
    ]


def test_every_statement_is_used():
    """By its name in quotes; those that remove the rows of a video are put together."""
    code = "".join(path.read_text() for path in Path(rushes.__file__).parent.rglob("*.py"))

    unused = [name for name in load("sqlite") if f'"{name}"' not in code]

    assert [name for name in unused if not name.startswith("purge_")] == []


def test_both_dialects_have_the_same_statements():
    assert load("postgres").keys() == load("sqlite").keys()


def test_statements_cast_in_a_way_that_both_databases_read():
    assert [name for name, text in load("sqlite").items() if "::" in text] == []


def test_text_with_a_nul_is_refused_before_the_database_sees_it(db: Database):
    """B-HTTP-4: PostgreSQL cannot hold it; it is the same mistake on both."""
    with pytest.raises(Invalid, match="NUL"):
        db.read(lambda tx: tx.rows("secret", name="a\0b"))


def test_every_statement_can_be_planned(db: Database):
    """000-001, 002-001: every parameter is known to the database, every column exists."""
    statements = {name: text for name, text in load(db.dialect).items() if PLANNABLE.match(text)}

    broken = {name: error for name, text in statements.items() if (error := _plan(db, text))}

    assert broken == {}
    assert len(statements) > 60


@pytest.mark.parametrize("name", ["claim", "list_jobs", "job_logs", "job_executions", "job_events"])
def test_what_is_read_in_order_is_kept_in_order(db: Database, name: str):
    """003-012, 003-014, 003-024, 003-077: an index ends in the order, so nothing is sorted."""
    statement = load(db.dialect)[name]

    owner = None if name == "list_jobs" else "me"
    asked = {"n": 10, "job_id": new_id(), "lane": "default", "owner": owner}

    plan = " ".join(str(row) for row in _planned(db, statement, asked)).lower()

    assert "index" in plan
    assert "sort" not in plan
    assert "temp b-tree for order" not in plan


def test_every_statement_that_writes_tasks_names_its_state(db: Database):
    """001-007, 003-025: a change of state that names no source could undo another."""
    changes = {name: text for name, text in load(db.dialect).items() if changes_state(text)}

    assert [name for name, text in changes.items() if not re.search(GUARD, text)] == []
    assert len(changes) >= 14


def changes_state(statement: str) -> bool:
    """Whether a statement sets `tasks.state`."""
    found = re.search(r"UPDATE tasks\s+SET([\s\S]*?)\n\s*(FROM|WHERE)", statement)
    return bool(found and re.search(r"(?<![.\w])state\s+=", found[1]))


def test_planning_finds_a_statement_that_is_wrong(db: Database):
    assert "colour" in _plan(db, "SELECT colour FROM tasks")


def _plan(db: Database, statement: str) -> str:
    """Let the database plan a statement. Returns what is wrong with it."""
    try:
        _planned(db, statement)
    except (sqlite3.Error, psycopg.Error) as error:
        return str(error).splitlines()[0]
    return ""


def _planned(
    db: Database, statement: str, given: dict[str, object] | None = None
) -> list[dict[str, object]]:
    parameters = dict.fromkeys(re.findall(r"(?<![:\w]):([a-z][a-z0-9_]*)\b|%\((\w+)\)s", statement))
    values = dict.fromkeys(name for names in parameters for name in names if name) | (given or {})
    explain = "EXPLAIN" if db.dialect == "postgres" else "EXPLAIN QUERY PLAN"
    rows = db.transact(
        lambda tx: tx._connection.execute(f"{explain} {statement}", values).fetchall()
    )
    return [dict(row) for row in rows]
