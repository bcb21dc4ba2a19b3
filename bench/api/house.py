"""A Rushes with a history, as processes of their own: what the parts of this benchmark talk to."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from rushes.store.database import Database, open_database

PLAN = '{"noop":{"weight":1,"after":[]}}'


class House(NamedTuple):
    """Where a server is, and the key of its admin."""

    address: str
    key: str

    @property
    def door(self) -> tuple[str, int]:
        parts = urlsplit(self.address)
        return parts.hostname or "", parts.port or 0

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.key}"}


@contextmanager
def opened(folder: Path, url: str | None = None, *, command: str = "serve") -> Iterator[House]:
    """Start a server on a data folder, and stop it when the block is left."""
    mine = {name: value for name, value in os.environ.items() if not name.startswith("RUSHES_")}
    place = {"RUSHES_DATA": str(folder), **({"RUSHES_DATABASE_URL": url} if url else {})}
    line = [sys.executable, "-m", "rushes.cli.main", command, "--port", "0", "--json"]
    process = subprocess.Popen(line, env={**mine, **place}, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        up = json.loads(process.stdout.readline())
        yield House(up["address"], up["admin_key"])
    finally:
        process.terminate()
        process.wait(30)


def fill(url: str, jobs: int) -> None:
    """Put finished jobs into the tables, each with a task, its attempt and their events."""
    with closing(open_database(url)) as db:
        if db.schema_version() == 0:
            db.migrate()
        for statement in _statements(db, jobs):
            _execute(db, statement)


def _statements(db: Database, jobs: int) -> Iterator[str]:
    is_postgres = db.dialect == "postgres"
    counting = f"WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < {jobs})"
    series = f"generate_series(1, {jobs}) AS n" if is_postgres else f"({counting} SELECT n FROM s)"
    id = (
        "CAST('00000000-0000-7000-8000-' || lpad(CAST(n AS text), 12, '0') AS uuid)"
        if is_postgres
        else "printf('00000000-0000-7000-8000-%012d', n)"
    )
    yield (
        "INSERT INTO jobs (id, kind, priority, status, open_tasks, plan, spec, request_hash,"
        f" created_at, updated_at, started_at, finished_at) SELECT {id}, 'bench', 5, 'completed',"
        f" 0, '{PLAN}', '{'x' * 1000}', '', 1, 2, 1, 1000 FROM {series}"
    )
    yield (
        "INSERT INTO tasks (id, job_id, step, kind, lane, state, run_at, attempt, max_attempts,"
        " lease_epoch, last_owner, claimed_at, finished_at, priority, wait_ms, stall_ms, hard_ms,"
        f" needs, prefers, created_at, params) {'OVERRIDING SYSTEM VALUE' if is_postgres else ''}"
        f" SELECT n, {id}, 'noop', 'noop', 'default', 'done', 1, 1, 3, 1, 'x', 1, 1000, 5, 0, 0, 0,"
        f" '[]', '[]', 1, '{{}}' FROM {series}"
    )
    yield (
        "INSERT INTO attempts (task_id, epoch, attempt, job_id, owner, claimed_at, ended_at,"
        f" outcome) SELECT n, 1, 1, {id}, 'x', 1, 1000, 'done' FROM {series}"
    )
    for type in ("job.submitted", "job.completed"):
        yield (
            f"INSERT INTO events (job_id, type, at, data) SELECT {id}, '{type}', 1000, '{{}}'"
            f" FROM {series}"
        )
    if is_postgres:
        yield "SELECT setval(pg_get_serial_sequence('tasks', 'id'), (SELECT max(id) FROM tasks))"
        yield "VACUUM ANALYZE"


def _execute(db: Database, statement: str) -> None:
    if db.dialect == "sqlite":
        import sqlite3

        path = db.url.removeprefix("sqlite:///")
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute(statement)
        return
    import psycopg

    with psycopg.connect(db.url, autocommit=True) as other:
        other.execute(statement)
