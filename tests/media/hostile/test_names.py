"""A user's file name is a name and nothing else, whatever it looks like."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from rushes.media import ffmpeg
from rushes.media.probe import probe
from tests.media.clips import clip

NAMES = [
    "-y.mp4",
    "x%03d.mp4",
    "concat:a|b",
    "subfile,,start,0,end,9,,:x",
    "http:",
    "data:video",
    "a;touch evil",
    "$(touch evil)",
    "`touch evil`",
    "a'b\"c\\d.mp4",
    "two\nlines.mp4",
    " blanks ",
    "\u202egnp.4pm",
    "film\u0301 \U0001f3ac.mp4",
    "CON",
    "x" * 251 + ".mp4",
    os.fsdecode(b"not \xff utf-8.mp4"),
]


@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_name_is_only_a_name(name, folder, tmp_path):
    film = tmp_path / "upload" / name
    film.parent.mkdir()
    film.write_bytes(clip("silent").read_bytes())

    found = probe(film, folder=folder)
    ffmpeg.run(
        [*ffmpeg.input_options(), "-i", ffmpeg.source(film), "-c", "copy", "copy.mp4"],
        folder=folder,
        reads=[film],
    )

    assert found.video.frames == 60
    assert (folder / "copy.mp4").stat().st_size > 100_000
    assert sorted(path.name for path in folder.iterdir()) == ["copy.mp4"]
    assert list(film.parent.iterdir()) == [film]


def test_bare_name_is_an_option_or_two_files_to_who_passes_it_on(tmp_path, wheel):
    """The controls: what ffmpeg makes of such names without our prefix."""
    for name in ("a", "b", "-y.mp4"):
        (tmp_path / name).write_bytes(clip("ts").read_bytes())

    def read(name: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [wheel.path, "-nostdin", name, "-i", "a", "-f", "null", "-"]
            if name.startswith("-")
            else [wheel.path, "-nostdin", "-i", name, "-f", "null", "-"],
            cwd=tmp_path,
            env={"GCONV_PATH": "/none"},
            capture_output=True,
            text=True,
            check=False,
        )

    assert "Unrecognized option 'y.mp4'" in read("-y.mp4").stderr
    assert read("concat:a|b").returncode == 0


def test_source_is_always_an_absolute_file():
    assert ffmpeg.source(Path("concat:a|b")) == f"file:{Path.cwd()}/concat:a|b"
