"""What a machine says of itself: only what it was seen to do."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rushes.errors import Permanent
from rushes.library import machine
from rushes.media import ffmpeg
from tests.media.test_ffmpeg import program


def test_machine_tells_what_was_tried():
    """000-027, 000-028: encoders that work, cores, whether text is read; no GPU if none encodes."""
    found = machine.try_out()

    assert found.metadata["cores"] == os.cpu_count()
    assert found.metadata["encoders"] == ["libx264", "aac"]
    assert found.capabilities == {"ocr"}


def test_machine_that_cannot_encode_says_so(tmp_path: Path):
    idle = program(tmp_path / "ffmpeg", "echo ffmpeg version 7.0 x; exit 0")
    ffmpeg.choose(ffmpeg.find(idle))
    try:
        with pytest.raises(Permanent, match="libx264"):
            machine.try_out()
    finally:
        ffmpeg.choose(None)
