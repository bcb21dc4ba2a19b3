"""Small files that say they are large, or are. Refused from the header, before any decoding."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path

import pytest

from rushes.errors import Permanent
from rushes.media.child.reader import open_film
from rushes.media.ffmpeg import source
from rushes.media.probe import Caps, probe
from rushes.media.sandbox import Watch
from tests.media.clips import X264, bars, clip, lavfi
from tests.media.hostile import corpus

HOUR_MS = 3_600_000
MEGABYTE = 1_000_000


def refusal(path: Path, folder: Path, caps: Caps = Caps()) -> str:  # noqa: B008
    with pytest.raises(Permanent) as caught:
        probe(path, folder=folder, caps=caps)
    return caught.value.error_code


MEASURE = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], stdin=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def peak_memory(*command: str) -> tuple[int, str]:
    """Return the most memory that a command used, in bytes, and what it complained about.

    A process is also charged with the memory of the one that started it, so a small one does.
    """
    measured = subprocess.run(
        [sys.executable, "-I", "-S", "-c", MEASURE, *command],
        capture_output=True,
        text=True,
        check=True,
    )
    return int(measured.stdout.split()[-1]) * 1024, measured.stderr


@pytest.mark.parametrize("side", [16_384, 16_000, 8192])
def test_picture_that_is_too_large_is_refused(side, folder, tmp_path):
    """16384² is more than ffmpeg itself allows, the others only more than we do."""
    assert refusal(corpus.huge_film(tmp_path / "film.mov", side), folder) == "SOURCE_TOO_LARGE"


def test_such_a_picture_fills_the_memory_of_who_decodes_it(tmp_path, wheel):
    film = corpus.huge_film(tmp_path / "film.mov", 16_000)

    spread = ("-vf", "format=rgb24", "-f", "null", "-")
    peak, _ = peak_memory(wheel.path, "-v", "error", "-i", source(film), *spread)

    assert film.stat().st_size < 2000
    assert peak > 500 * MEGABYTE


@pytest.mark.parametrize("side", [16_000, 8192])
def test_refusing_it_takes_no_memory(side, tmp_path):
    film = corpus.huge_film(tmp_path / "film.mov", side)
    code = f"from rushes.media.child.demux import read; read({str(film)!r}, {{}})"

    peak, said = peak_memory(sys.executable, "-c", code)

    assert "too large" in said
    assert peak < 100 * MEGABYTE


def test_decoder_itself_refuses_what_the_header_did_not_tell():
    with pytest.raises(Permanent) as caught:
        open_film(str(clip("fps30")), max_pixels=320 * 180 - 1)

    assert caught.value.error_code == "SOURCE_TOO_LARGE"


@pytest.mark.parametrize("side", [50_000, 16_000])
def test_still_picture_is_refused_by_its_first_bytes(side, folder, tmp_path):
    path = corpus.huge_png(tmp_path / "film.mp4", side)

    assert refusal(path, folder) == "SOURCE_UNSUPPORTED"


def test_such_a_still_picture_fills_the_memory_of_who_decodes_it(tmp_path, wheel):
    picture = corpus.huge_png(tmp_path / "film.png", 16_000, whole=True)

    peak, _ = peak_memory(wheel.path, "-v", "error", "-i", source(picture), "-f", "null", "-")

    assert picture.stat().st_size < 2 * MEGABYTE
    assert peak > 200 * MEGABYTE


def test_ten_hours_in_a_few_frames_are_refused_or_counted(folder, tmp_path):
    """Ten frames of an hour each: a tiny file that becomes 36,000 frames on our grid."""
    film = tmp_path / "film.mp4"
    lavfi(f"{bars('64x36', '1/3600', 36000)} {X264}", film)

    assert refusal(film, folder, Caps(duration_ms=9 * HOUR_MS)) == "SOURCE_TOO_LARGE"
    found = probe(film, folder=folder)
    assert (found.duration_ms, found.video.frames) == (10 * HOUR_MS, 36_000)
    assert film.stat().st_size < 10_000


@pytest.mark.parametrize("said_ms", [25.0 * HOUR_MS, 1e15])
def test_film_that_says_it_is_too_long_is_refused(said_ms, folder, tmp_path):
    film = corpus.wrong_duration(tmp_path / "film.mkv", said_ms)

    assert refusal(film, folder) == "SOURCE_TOO_LARGE"


@pytest.mark.parametrize("said_ms", [math.nan, math.inf, -math.inf, -1.0, 0.0, 1e300])
def test_length_that_is_no_length_does_no_harm(said_ms, folder, tmp_path):
    film = corpus.wrong_duration(tmp_path / "film.mkv", said_ms)

    found = probe(film, folder=folder)

    assert (found.duration_ms, found.video.frames) == (2000, 60)


@pytest.mark.parametrize("tracks", [101, 10_000])
def test_more_streams_than_allowed_are_refused(tracks, folder, tmp_path):
    film = corpus.many_tracks(tmp_path / "film.mkv", tracks)

    assert refusal(film, folder) in {"SOURCE_TOO_LARGE", "SOURCE_CORRUPT"}


def test_streams_are_counted_against_the_cap(folder, tmp_path):
    film = corpus.many_tracks(tmp_path / "film.mkv", 101)

    assert refusal(film, folder) == "SOURCE_TOO_LARGE"
    assert refusal(film, folder, Caps(streams=101)) == "SOURCE_CORRUPT"  # it has no frames


def test_chapters_and_titles_without_end_are_cut(folder, tmp_path):
    """10,000 chapters and a title of 1 MB in the film, another in its first chapter."""
    lengths = [MEGABYTE, *[9] * 9999]
    text = "".join(
        f"[CHAPTER]\nTIMEBASE=1/1000\nSTART={n}\nEND={n + 1}\ntitle={'x' * length}\n"
        for n, length in enumerate(lengths)
    )
    notes = tmp_path / "notes.txt"
    notes.write_text(f";FFMETADATA1\ntitle={'x' * MEGABYTE}\n{text}")
    film = tmp_path / "film.mkv"
    lavfi(f"-i {{silent}} -i {notes} -map_metadata 1 -c copy", film)
    heard: list[int] = []

    class Listen(Watch):
        def ran(self, output):
            heard.append(len(output.stdout))

    found = probe(film, folder=folder, watch=Listen())

    assert film.stat().st_size > 2 * MEGABYTE
    assert len(found.chapters) == 1000
    assert {len(chapter.title) for chapter in found.chapters} == {200, 9}
    assert heard[0] < 65_537


def test_attachment_is_never_written(folder, tmp_path):
    attached = tmp_path / "note.txt"
    attached.write_text("evil")
    film = tmp_path / "film.mkv"
    lavfi(
        f"-i {{silent}} -c copy -attach {attached} -metadata:s:t mimetype=text/plain"
        " -metadata:s:t filename=../../evil",
        film,
    )
    before = set(tmp_path.rglob("*"))

    probe(film, folder=folder)

    assert set(tmp_path.rglob("*")) == before
