"""The command line, called as a shell would, beside an engine that prepares what it finds."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from rushes.cli.main import run
from rushes.settings import load
from rushes.store.database import open_database
from tests.client.server import Served, served
from tests.kinds import KINDS
from tests.world import World

ROOT = Path(__file__).parent.parent.parent


@dataclass(frozen=True, slots=True)
class Answer:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def lines(self) -> list[Any]:
        """The objects of a stream."""
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def problem(self) -> Any:
        return json.loads(self.err)


class Cli:
    """Calls commands in this process: `cli("jobs", "list")`, at a server if there is one."""

    def __init__(
        self, capsys: pytest.CaptureFixture[str], server: Callable[[], Served] | None = None
    ) -> None:
        self._capsys = capsys
        self._server = server

    def __call__(self, *arguments: object) -> Answer:
        before = self.options if self._server else ()
        self._capsys.readouterr()
        code = run([*before, *(str(argument) for argument in arguments)])
        captured = self._capsys.readouterr()
        return Answer(code, captured.out, captured.err)

    @property
    def options(self) -> tuple[str, ...]:
        """What sends a command to the server."""
        assert self._server is not None
        server = self._server()
        return ("--server", server.url, "--key", server.key)


@pytest.fixture(scope="session")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the processes of these tests keep compiled code: starting is most of what they do."""
    return tmp_path_factory.mktemp("compiled")


@pytest.fixture(autouse=True)
def surroundings(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, sqlite_url: str, compiled: Path
) -> None:
    """Nothing of this machine's own settings; the database is a file of the test's own."""
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    monkeypatch.setenv("PYTHONPYCACHEPREFIX", str(compiled))
    for name in [name for name in os.environ if name.startswith("RUSHES_")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("RUSHES_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("RUSHES_DATABASE_URL", sqlite_url)


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Cli:
    return Cli(capsys)


@pytest.fixture
def server(surroundings: None) -> Iterator[Callable[[], Served]]:
    """A server of the library that the commands see. It starts when it is first asked for."""
    with ExitStack() as stack:
        started: list[Served] = []

        def start() -> Served:
            if not started:
                started.append(stack.enter_context(served(load())))
            return started[0]

        yield start


@pytest.fixture(params=["here", "there"])
def anywhere(
    request: pytest.FixtureRequest,
    capsys: pytest.CaptureFixture[str],
    server: Callable[[], Served],
) -> Cli:
    """Commands on the library of this machine, and the same ones at a server."""
    return Cli(capsys, server if request.param == "there" else None)


@pytest.fixture
def world(surroundings: None, sqlite_url: str) -> Iterator[World]:
    """An engine on the database that commands see, by the clock of that database."""
    with closing(open_database(sqlite_url)) as database:
        database.migrate()
        world = World(database, KINDS)
        world.now = None  # type: ignore[assignment]
        yield world


def rushes(*arguments: str, **options: Any) -> subprocess.Popen[str]:
    """Start a command as a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "rushes.cli.main", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )
