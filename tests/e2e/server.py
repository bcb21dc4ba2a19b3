"""Servers as processes of their own, and curl as it talks to them."""

from __future__ import annotations

import json
import socket
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from rushes.client import Client
from tests.e2e.place import Place

STOP_S = 30


@dataclass
class Server:
    """A server that is up. `key` is the admin's, which only the first one is told."""

    process: subprocess.Popen[str]
    address: str
    key: str

    def kill(self) -> None:
        self._close()
        self.process.kill()
        self.process.communicate(timeout=STOP_S)

    def stop(self) -> None:
        """End it as an operator does; it has to go without a word."""
        self._close()
        self.process.terminate()
        _, err = self.process.communicate(timeout=STOP_S)
        assert self.process.returncode == 0, err
        assert "Traceback" not in err, err

    @cached_property
    def client(self) -> Client:
        return Client(self.address, key=self.key)

    def _close(self) -> None:
        if "client" in self.__dict__:
            self.client.close()

    def command(self, path: str, *options: str) -> list[str]:
        secret = ("-H", f"Authorization: Bearer {self.key}")
        return ["curl", "-sS", "--globoff", *secret, *options, f"{self.address}{path}"]

    def curl(self, path: str, *options: str) -> str:
        done = subprocess.run(
            self.command(path, *options), capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def json(self, path: str, *options: str) -> Any:
        return json.loads(self.curl(path, *options))

    def headers(self, path: str, *options: str) -> dict[str, str]:
        lines = self.curl(path, "-D", "-", "-o", "/dev/null", *options).splitlines()[1:]
        return {name.lower(): value.strip() for name, _, value in (x.partition(":") for x in lines)}


def start(
    place: Place, command: str = "serve", *, port: int = 0, key: str = "", failpoints: str = ""
) -> Server:
    """Start a server and wait until it says where it is."""
    before = dict(place.settings)
    if failpoints:
        place.settings |= {"RUSHES_TEST": "1", "RUSHES_FAILPOINTS": failpoints}
    process = place.start(command, "--port", port, "--json")
    place.settings = before
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line, process.communicate()
    up = json.loads(line)
    return Server(process, up["address"], key or up["admin_key"])


@contextmanager
def running(place: Place, command: str = "serve", *, failpoints: str = "") -> Iterator[Server]:
    """A server until the block is left."""
    server = start(place, command, failpoints=failpoints)
    try:
        yield server
        server.stop()
    finally:
        server.kill()


def free_port() -> int:
    """Return a port that a server can have again after it died."""
    with closing(socket.create_server(("127.0.0.1", 0))) as probe:
        return int(probe.getsockname()[1])
