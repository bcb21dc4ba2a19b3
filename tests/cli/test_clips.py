"""`rushes clip` and `rushes clips`: a part of a film as a file, here and at a server."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from rushes.cli import clip_text
from rushes.library.wishes import time_of
from rushes.settings import load
from rushes.store.database import open_database
from tests.cli.conftest import Cli
from tests.library.studio import CLIP, Studio
from tests.media.clips import clip
from tests.media.numbered import numbers_of


@pytest.fixture
def studio(surroundings: None, sqlite_url: str) -> Iterator[Studio]:
    """The library that commands see, whose worker is the test."""
    with closing(open_database(sqlite_url)) as database:
        database.migrate()
        yield Studio(database, load().folder.absolute())


@pytest.mark.timeout(240)
def test_clips_are_cut_exactly_and_fast(cli: Cli, tmp_path: Path):
    """R9, 002-040: without a server; a fast one says where it begins before it is cut."""
    assert cli("add", clip("numbered"), "--no-text").code == 0
    cut = ("clip", "@last", "--padding", "0")

    exact = cli(*cut, "--from", "0:00.71", "--to", "2.93", "-o", tmp_path / "exact.mp4")
    fast = cli(*cut, "--from", "1.71", "--to", "2.93", "--fast", "-o", tmp_path / "fast.mp4")
    again = cli(*cut, "--from", "1.71", "--to", "2.93", "--fast", "--json")

    assert (exact.code, numbers_of(tmp_path / "exact.mp4")) == (0, list(range(22, 88)))
    assert "0:00.733 to 0:02.933 · 2.2 s" in exact.out
    assert numbers_of(tmp_path / "fast.mp4")[:58] == list(range(30, 88))
    assert fast.out.splitlines()[0] == "it will begin at 0:01.000, at a key frame"
    assert [line["event"] for line in again.lines] == ["asked", "ready"]
    assert again.lines[0]["created"] is False
    assert "made by ffmpeg" in cli("clips", "show", exact_id(cli)).out


def exact_id(cli: Cli) -> str:
    found = cli("clips", "list", "--json").json["items"]
    return str(next(one["clip_id"] for one in found if one["mode"] == "exact"))


def test_clips_are_listed_shown_and_deleted(anywhere: Cli, studio: Studio, tmp_path: Path):
    film = studio.add().asset_id
    studio.finish()
    asked = anywhere("clip", film, "--from", "5", "--to", "8", "--title", "Vote", "--no-wait")
    assert (asked.code, "is in the queue" in asked.out) == (0, True)
    studio.finish()

    made = anywhere("clip", film, "--from", "5", "--to", "8", "-o", tmp_path / "vote.mp4")
    listed = anywhere("clips", "list", "--video", film)
    shown = anywhere("clips", "show", "@last")

    assert (made.code, (tmp_path / "vote.mp4").read_bytes()) == (0, CLIP)
    assert "Vote" in listed.out
    assert "0:03.000  0:10.000" in listed.out
    assert "175 frames, 854x480" in shown.out
    assert "source SHA-256" in shown.out
    assert "is deleted" in anywhere("clips", "delete", "@last").out
    assert anywhere("clips", "list").out == "no clips\n"
    assert anywhere("clips", "show", "@last").code == 3
    assert list(tmp_path.glob("*.part")) == []


@pytest.mark.parametrize(
    "text", ["", "x", "-1", "1:2:3:4", "1.2345", "1:", "٣", "1e3", "NaN", "1,5"]
)
def test_what_is_no_time_is_refused(anywhere: Cli, studio: Studio, text: str):
    """B-HTTP-7."""
    answer = anywhere("clip", "@last", f"--from={text}", "--to", "5")

    assert (answer.code, "is not a time" in answer.err) == (2, True)


@pytest.mark.parametrize("ms", [0, 733, 62_500, 3_599_999, 3_600_000, 86_399_999])
def test_times_are_written_as_they_are_read(ms: int):
    assert time_of(clip_text.timecode(ms)) == ms


def test_file_of_a_clip_that_is_not_ready_cannot_be_had(anywhere: Cli, studio: Studio):
    film = studio.add().asset_id
    studio.finish()
    together = ("--no-wait", "--out", "x.mp4")

    assert anywhere("clip", film, "--from", "5", "--to", "8", *together).code == 2
    assert anywhere("clip", film, "--from", "5", "--to", "80", "--no-wait").code == 2
    nowhere = anywhere("clip", film, "--from", "5", "--to", "8", "-o", "none/x.mp4")
    assert (nowhere.code, "there is no folder none" in nowhere.err) == (2, True)
    assert anywhere("clips", "list", "--json").json["items"] == []
    assert anywhere("clip", "0000", "--from", "5", "--to", "8").code == 3
