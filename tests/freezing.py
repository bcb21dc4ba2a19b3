"""Freezes a process, as a suspended machine does."""

from __future__ import annotations

import os
import signal
import sqlite3
from contextlib import closing
from pathlib import Path

from tests.waiting import until


def freeze(pid: int, database_url: str) -> None:
    """Stop a process between its transactions: one that holds SQLite's lock freezes everybody."""

    def stopped() -> bool:
        os.kill(pid, signal.SIGSTOP)
        if _can_be_written(database_url):
            return True
        os.kill(pid, signal.SIGCONT)
        return False

    until(stopped)


def _can_be_written(database_url: str) -> bool:
    scheme, _, path = database_url.partition(":///")
    if scheme != "sqlite":
        return True  # a row's lock ends with idle_in_transaction_session_timeout
    with closing(sqlite3.connect(Path(path), timeout=1, isolation_level=None)) as connection:
        try:
            connection.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError:
            return False
        connection.execute("ROLLBACK")
    return True
