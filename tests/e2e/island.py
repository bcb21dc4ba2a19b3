"""Machines of a test's own: network namespaces, each with one wire to this machine."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

from tests.network import changing
from tests.system import missing


@dataclass(frozen=True, slots=True)
class Island:
    """A machine. `here` is our end of its wire, `there` its own."""

    name: str
    here: str
    there: str

    @property
    def prefix(self) -> tuple[str, ...]:
        """What a command is run with to be run there."""
        return ("ip", "netns", "exec", self.name)

    def cut(self, direction: Literal["both", "to", "from"] = "both") -> None:
        """Let packets vanish: those to the island, those from it, or all."""
        if direction in ("both", "to"):
            _ip("route", "add", "blackhole", f"{self.there}/32")
        if direction in ("both", "from"):
            _ip("-n", self.name, "route", "add", "blackhole", f"{self.here}/32")

    def heal(self) -> None:
        _ip("route", "del", "blackhole", f"{self.there}/32", check=False)
        _ip("-n", self.name, "route", "del", "blackhole", f"{self.here}/32", check=False)


@contextmanager
def islands(number: int) -> Iterator[list[Island]]:
    """Make machines, and remove them with their wires."""
    if shutil.which("ip") is None:
        missing("iproute2")
    if os.geteuid() != 0:
        raise AssertionError("network namespaces need root: run the tests as root")
    tag, net = os.getpid() % 100_000, f"10.{200 + os.getpid() % 50}"
    made = [Island(f"rushes{tag}n{n}", f"{net}.{n}.1", f"{net}.{n}.2") for n in range(number)]
    try:
        with changing():
            for place in made:
                _make(place, place.name.removeprefix("rushes"))
        yield made
    finally:
        with changing():
            for place in made:
                _ip("netns", "del", place.name, check=False)


def _make(place: Island, tag: str) -> None:
    here, there = f"ra{tag}", f"rb{tag}"
    _ip("netns", "add", place.name)
    _ip("link", "add", here, "type", "veth", "peer", "name", there)
    _ip("link", "set", there, "netns", place.name)
    _ip("link", "set", here, "addrgenmode", "none")  # no second address, a while later
    _ip("addr", "add", f"{place.here}/30", "dev", here)
    _ip("link", "set", here, "up")
    _ip("-n", place.name, "addr", "add", f"{place.there}/30", "dev", there)
    _ip("-n", place.name, "link", "set", there, "up")
    _ip("-n", place.name, "link", "set", "lo", "up")


def _ip(*words: str, check: bool = True) -> None:
    done = subprocess.run(["ip", *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0 or not check, done.stderr
