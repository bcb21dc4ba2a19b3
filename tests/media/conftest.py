"""Fixtures for the media functions. Every test uses the wheel's ffmpeg unless it says otherwise."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from rushes.media import ffmpeg, sandbox


class Recorder(sandbox.Watch):
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.fractions: list[float] = []
        self.outputs: list[sandbox.Output] = []
        self.ticks = 0

    def tick(self) -> None:
        self.ticks += 1

    def progress(self, fraction: float) -> None:
        self.fractions.append(fraction)

    def ran(self, output: sandbox.Output) -> None:
        self.outputs.append(output)


@pytest.fixture(scope="session")
def wheel() -> ffmpeg.Ffmpeg:
    """The ffmpeg that every machine can have."""
    found = ffmpeg.wheel()
    if found is None:
        pytest.fail("imageio-ffmpeg is missing: run `make test`, which installs it", pytrace=False)
    return found


@pytest.fixture(autouse=True)
def _wheel_only(wheel: ffmpeg.Ffmpeg) -> Iterator[None]:
    ffmpeg.choose(wheel)
    yield
    ffmpeg.choose(None)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where a function under test may write."""
    path = tmp_path / "work"
    path.mkdir()
    return path


@pytest.fixture
def watch() -> Recorder:
    return Recorder()
