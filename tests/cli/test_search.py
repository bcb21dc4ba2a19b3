"""`rushes search`, `reindex`, `subtitles` and the formats of `text`."""

from __future__ import annotations

import csv
import io
import json
import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from rushes.library import indexing
from rushes.library.indexing import Line, Source
from rushes.store.database import open_database
from tests.cli.conftest import Cli
from tests.library.studio import Studio

SRT = "1\n00:00:01,000 --> 00:00:02,000\nDer Rat stimmt ab\n"


@pytest.fixture
def studio(
    surroundings: None, sqlite_url: str, sqlite_template: Path, tmp_path: Path
) -> Iterator[Studio]:
    """A library in the data folder that the commands see."""
    shutil.copy(sqlite_template, sqlite_url.removeprefix("sqlite:///"))
    with closing(open_database(sqlite_url)) as database:
        yield Studio(database, tmp_path / "data")


def film(studio: Studio, *texts: str) -> str:
    made = studio.add(title="Press", text=True).asset_id
    studio.finish()
    lines = [
        Line(Source.SCREEN, 1000 * n, 1000 * n + 900, text) for n, text in enumerate(texts, 62)
    ]
    studio.db.transact(lambda tx: indexing.put(tx, made, lines))
    return made


def test_search_tells_when_where_and_what(anywhere: Cli, studio: Studio):
    made = film(studio, "Council votes", "Counci1 adjourned")

    told = anywhere("search", "council", "votes")

    header, row = told.out.splitlines()
    assert header.split() == ["time", "video", "text", "source", "sure", "link"]
    assert row.split()[:6] == ["1:02.0-1:02.9", "Press", "Council", "votes", "screen", "1.00"]
    assert row.split()[-1].endswith(f"/v/{made}?t=62")
    assert "1 moment in 1 video" in told.err


def test_search_in_json_is_what_the_server_answers(anywhere: Cli, studio: Studio):
    made = film(studio, "Council votes", "Counci1 adjourned")

    found = json.loads(anywhere("search", "--fuzzy", "council", "--json").out)

    assert [hit["url"] for hit in found["items"]] == [f"/v/{made}?t=62", f"/v/{made}?t=63"]


def test_nothing_found_says_what_may_be_meant_and_what_is_not_read_yet(
    anywhere: Cli, studio: Studio
):
    film(studio, "Council votes")
    studio.add(b"another", title="Still in OCR", text=True)

    told = anywhere("search", "C0uncil")

    assert "Council votes" in told.out
    assert "not searchable yet: Still in OCR (pending)" in told.err


def test_results_are_printed_as_files(anywhere: Cli, studio: Studio):
    made = film(studio, "=council()", "council")

    rows = list(csv.DictReader(io.StringIO(anywhere("search", "council", "--csv").out)))
    srt = anywhere("search", "council", "--video", made, "--srt").out
    table = anywhere("text", made, "--csv").out

    assert [row["text"] for row in rows] == ["'=council()", "council"]
    assert srt.startswith("1\n00:01:02,000 --> 00:01:02,900\n=council()\n")
    assert "'=council()" in table


def test_file_has_all_hits_or_says_that_there_are_more(anywhere: Cli, studio: Studio):
    film(studio, *(f"common {n}" for n in range(60)))

    whole, some = (anywhere("search", "common", "--csv", *more) for more in ((), ("--limit", 5)))

    assert (whole.out.count("common"), whole.err) == (60, "")
    assert (some.out.count("common"), some.err) == (5, "these are 5 moments; there are more\n")


@pytest.mark.parametrize(
    "arguments, word",
    [
        (("search", "x", "--exact", "--fuzzy"), "choose one"),
        (("search", "x", "--srt"), "of one video"),
        (("search", "x", "--since", "soon"), "is no date"),
        (("search", "x" * 501), "500"),
        (("search", "x", "--source", "radio"), "source"),
    ],
)
def test_wrong_search_is_one_clear_line(anywhere: Cli, studio: Studio, arguments, word: str):
    told = anywhere(*arguments)

    assert told.code == 2
    assert word in told.err


def test_subtitles_are_added_listed_and_removed(anywhere: Cli, studio: Studio, tmp_path: Path):
    made = film(studio)
    (tmp_path / "de.srt").write_text(SRT)

    assert "1 cue in de" in anywhere("subtitles", "add", made, "de", str(tmp_path / "de.srt")).out
    assert "subtitle" in anywhere("search", "stimmt", "--lang", "de", "--since", "7d").out
    assert anywhere("subtitles", "list", made).out.split()[-3:] == ["de", "subtitle", "1"]
    anywhere("subtitles", "rm", made, "de")
    assert "no subtitles" in anywhere("subtitles", "list", made).out


def test_index_can_be_made_anew(cli: Cli, studio: Studio):
    film(studio, "Council votes")

    told = json.loads(cli("reindex", "--json").out)

    assert told["indexed"] >= 3
    assert "Council votes" in cli("search", "council").out
