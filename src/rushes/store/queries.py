"""Loads the named SQL statements of `sql/`, one text for two databases.

    -- name: claim_tasks
    -- What it does, in a sentence or two.
    SELECT id FROM tasks WHERE state = 'ready' LIMIT :n
       FOR UPDATE SKIP LOCKED  --@postgres

A line ending in `--@postgres` or `--@sqlite` is kept for that dialect only. Macros:

    {now}                         the time of the caller, else the database's clock, in ms; a
                                  subquery, so that it is read once per statement
    {rows:claims(id bigint, …)}   the parameter :claims, a JSON array of objects, as a table
    {ids:tasks}                   the parameter :tasks, a JSON array of numbers, as a table of `id`
    {subset:a, b}                 every element of the JSON array a is in the JSON array b
    {word}                        a type of `TYPES`, or the fragment `-- fragment: word`

Neither `:word` inside a string literal nor a bare `%` is supported; both are refused.
"""

from __future__ import annotations

import re
from functools import cache
from importlib import resources
from typing import Literal

Dialect = Literal["postgres", "sqlite"]

_PART = re.compile(r"^-- (name|fragment): (\w+)$", re.MULTILINE)
_TAGGED = re.compile(r"^(?P<sql>.*?)\s*--@(?P<dialect>\w+)$")
_PARAMETER = re.compile(r"(?<![:\w]):([a-z][a-z0-9_]*)\b")
_ROWS = re.compile(r"\{rows:(\w+)\(([^)]*)\)\}")
_IDS = re.compile(r"\{ids:(\w+)\}")
_SUBSET = re.compile(r"\{subset:([\w.]+), ([\w.]+)\}")
_WORD = re.compile(r"\{(\w+)\}")
_LITERAL = re.compile(r"'[^']*'")

TYPES: dict[Dialect, dict[str, str]] = {
    "postgres": {
        "uuid": "uuid",
        "json": "jsonb",
        "flag": "boolean",
        "bigint": "bigint",
        "real": "double precision",
        "identity": "bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
        "now": "(SELECT coalesce(CAST(:now AS bigint),"
        " CAST(floor(date_part('epoch', clock_timestamp()) * 1000) AS bigint)))",
    },
    "sqlite": {
        "uuid": "TEXT",
        "json": "TEXT",
        "flag": "INTEGER",
        "bigint": "INTEGER",
        "real": "REAL",
        "identity": "INTEGER PRIMARY KEY AUTOINCREMENT",
        "now": "(SELECT coalesce(:now,"
        " CAST((julianday('now') - 2440587.5) * 86400000.0 AS INTEGER)))",
    },
}


@cache
def load(dialect: Dialect) -> dict[str, str]:
    """Return {name: SQL} of every statement in sql/, ready for the driver of `dialect`."""
    folder = resources.files("rushes.store").joinpath("sql")
    texts = [
        file.read_text("utf-8")
        for file in sorted(folder.iterdir(), key=lambda file: file.name)
        if file.name.endswith(".sql")
    ]
    return parse(texts, dialect)


def parse(texts: list[str], dialect: Dialect) -> dict[str, str]:
    """Return {name: SQL} of the statements in `texts`."""
    bodies: dict[str, dict[str, str]] = {"name": {}, "fragment": {}}
    for text in texts:
        _, *parts = _PART.split(text)
        for sort, name, body in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
            if name in bodies[sort]:
                raise ValueError(f"two SQL {sort}s are called {name}")
            bodies[sort][name] = _keep(body, dialect)
    words = {**TYPES[dialect], **bodies["fragment"]}
    return {
        name: _for_driver(render(body, dialect, words), dialect)
        for name, body in bodies["name"].items()
    }


def script(text: str, dialect: Dialect) -> list[str]:
    """Return the statements of a migration, which are separated by a semicolon at a line's end."""
    body = render(_keep(text, dialect), dialect, TYPES[dialect])
    return [part.strip() for part in re.split(r";\s*$", body, flags=re.MULTILINE) if part.strip()]


def render(body: str, dialect: Dialect, words: dict[str, str]) -> str:
    """Replace the macros; fragments may use macros themselves."""
    while True:
        text = _WORD.sub(lambda match: words[match[1]], body)
        text = _ROWS.sub(lambda match: _rows(match[1], match[2], dialect), text)
        text = _IDS.sub(lambda match: _ids(match[1], dialect), text)
        text = _SUBSET.sub(lambda match: _subset(match[1], match[2], dialect), text)
        if text == body:
            return text
        body = text


def _keep(body: str, dialect: Dialect) -> str:
    lines = (_line(raw, dialect) for raw in body.splitlines())
    return "\n".join(line for line in lines if line.strip()).rstrip().removesuffix(";")


def _line(raw: str, dialect: Dialect) -> str:
    """Return the line as this dialect sees it; empty when it sees nothing."""
    if raw.lstrip().startswith("-- "):
        return ""
    tagged = _TAGGED.match(raw)
    if tagged is None:
        return raw
    return tagged["sql"] if tagged["dialect"] == dialect else ""


def _for_driver(sql: str, dialect: Dialect) -> str:
    if "%" in sql or any(_PARAMETER.search(literal) for literal in _LITERAL.findall(sql)):
        raise ValueError(f"a bare % or a :word in a literal is not supported: {sql}")
    return _PARAMETER.sub(r"%(\1)s", sql) if dialect == "postgres" else sql


def _rows(parameter: str, columns: str, dialect: Dialect) -> str:
    if dialect == "postgres":
        return f"(SELECT * FROM json_to_recordset(CAST(:{parameter} AS json)) AS entry({columns}))"
    names = [column.split()[0] for column in columns.split(",")]
    picks = ", ".join(f"json_extract(value, '$.{name}') AS {name}" for name in names)
    return f"(SELECT {picks} FROM json_each(:{parameter}))"


def _ids(parameter: str, dialect: Dialect) -> str:
    if dialect == "postgres":
        array = f"json_array_elements_text(CAST(:{parameter} AS json))"
        return f"(SELECT CAST(value AS bigint) AS id FROM {array})"
    return f"(SELECT value AS id FROM json_each(:{parameter}))"


def _subset(small: str, large: str, dialect: Dialect) -> str:
    if dialect == "postgres":
        return f"({small} <@ {large})"
    return (
        f"NOT EXISTS (SELECT 1 FROM json_each({small}) AS one"
        f" WHERE one.value NOT IN (SELECT value FROM json_each({large})))"
    )
