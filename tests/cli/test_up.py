"""`rushes up` and `serve` that do not come up: said in a sentence, and nothing is changed."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from rushes.library import keys
from tests.cli.conftest import Cli
from tests.world import World, sql


@pytest.fixture
def taken() -> Iterator[int]:
    """A port that another program has."""
    with closing(socket.create_server(("127.0.0.1", 0))) as other:
        yield other.getsockname()[1]


@pytest.mark.parametrize("command", ["up", "serve"])
def test_first_start_on_a_port_that_is_taken_makes_no_key(
    cli: Cli, world: World, taken: int, command: str
):
    """It would be shown to nobody, and the next start would have none to show."""
    answer = cli(command, "--port", taken)

    assert (answer.code, answer.out) == (2, "")
    assert f"cannot listen on 127.0.0.1:{taken}" in answer.err
    assert "another program has the port; choose another one with --port" in answer.err
    assert sql(world.db, "SELECT id FROM keys") == []


@pytest.mark.parametrize("host", ["192.0.2.1", "ä" * 70])
def test_address_that_this_machine_does_not_have_is_one_clear_line(
    cli: Cli, world: World, host: str
):
    keys.first_admin(world.db)

    answer = cli("serve", "--host", host, "--port", "0")

    assert (answer.code, answer.out) == (2, "")
    assert f"cannot listen on {host}:0: " in answer.err
    assert "hint: look at --host and --port" in answer.err


@pytest.mark.parametrize("folder, word", [("nowhere", "is not a folder"), ("data", "lie in each")])
def test_folder_that_cannot_be_watched_is_told_at_the_start(
    cli: Cli, world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str, word: str
):
    """Films that are dropped into it would wait for ever."""
    (tmp_path / "data").mkdir()
    monkeypatch.setenv("RUSHES_WATCH_FOLDERS", str(tmp_path / folder))

    answer = cli("up", "--port", "0")

    assert (answer.code, answer.out) == (2, "")
    assert word in answer.err
    assert sql(world.db, "SELECT id FROM keys") == []
