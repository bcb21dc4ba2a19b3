"""`rushes list`, `show`, `rm`, `restore`, `text`, `retranscode` and `jobs watch`.

The films are those of a studio: its worker's hands are the test, so nothing is encoded.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rushes.engine import operator
from rushes.library import edit, layout
from rushes.media.source import Decision
from rushes.store.database import open_database
from tests.cli.conftest import Cli, rushes
from tests.library.studio import FILM, Studio


@pytest.fixture
def studio(
    surroundings: None, sqlite_url: str, sqlite_template: Path, tmp_path: Path
) -> Iterator[Studio]:
    """A library in the data folder that the commands see."""
    shutil.copy(sqlite_template, sqlite_url.removeprefix("sqlite:///"))
    with closing(open_database(sqlite_url)) as database:
        yield Studio(database, tmp_path / "data")


def ready(studio: Studio, content: bytes = b"a film", **wishes: object) -> str:
    """A film that is finished and laid out."""
    film = studio.add(content, **wishes).asset_id
    studio.finish()
    layout.run_once(studio.library)
    return film


def test_list_shows_newest_first_with_status_title_and_size(anywhere: Cli, studio: Studio):
    """000-003: the words for a film."""
    first = ready(studio, title="A day", tags=("home", "2026"))
    second = studio.add(b"another film", title="A night").asset_id

    header, newest, oldest = anywhere("list").out.splitlines()

    assert header.split() == ["video", "status", "title", "length", "size", "tags", "age"]
    assert newest.split()[:5] == [second[-8:], "⏳", "pending", "A", "night"]
    assert oldest.split()[:5] == [first[-8:], "✅", "ready", "A", "day"]
    assert "20.0 s" in oldest
    assert "home, 2026" in oldest


def test_list_can_be_narrowed_and_continued(anywhere: Cli, studio: Studio):
    films = [ready(studio, f"film {n}".encode()) for n in range(3)]
    waiting = studio.add(b"another").asset_id

    page = anywhere("list", "--status", "ready", "--limit", "2", "--json").json
    rest = anywhere("list", "--limit", "2", "--before", page["next_cursor"], "--json").json
    pending = anywhere("list", "--status", "pending", "--json").json

    assert [item["asset_id"] for item in page["items"]] == [films[2], films[1]]
    assert ([item["asset_id"] for item in rest["items"]], rest["next_cursor"]) == ([films[0]], None)
    assert [item["asset_id"] for item in pending["items"]] == [waiting]


def test_empty_library_says_so(anywhere: Cli, studio: Studio):
    assert anywhere("list").out == "no videos\n"
    assert anywhere("list", "--json").json == {"items": [], "next_cursor": None}


def test_show_tells_milestones_decisions_qualities_files_and_the_job(
    anywhere: Cli, studio: Studio, tmp_path: Path
):
    """000-031, 000-032: how far each quality is."""
    why = Decision(what="deinterlaced", why="its frames are two half pictures")
    studio.source = replace(FILM, decisions=(why,))
    film = ready(studio, title="A day")
    job_id = studio.asset(film).job_id

    page = anywhere("show", "@last").out

    for words in (
        "✅ ready  A day",
        film,
        "20.0 s · 854x480",
        "playable after",
        "ready after",
        f"job {job_id} completed 100 %",
        "· deinterlaced: its frames are two half pictures",
        "version 1 plays",
        f"{tmp_path}/data/assets/{film}/master.m3u8",
        f"{tmp_path}/data/originals/{film}/source.mp4",
    ):
        assert words in page
    table = [line.split() for line in page.splitlines()]
    assert ["480p", "854x480", "completed", "4/4", "100", "%"] in table
    assert ["360p", "640x360", "completed", "4/4", "100", "%"] in table


def test_show_in_json_has_every_version_with_its_qualities(anywhere: Cli, studio: Studio):
    """000-031: quality, status, segments, percent, times, error."""
    film = studio.add()
    studio.do("probe")
    chunk = studio.take("transcode", 0)
    assert studio.end(chunk, studio.encoded(chunk, without=("480p",)))

    told = anywhere("show", film.asset_id[-8:], "--json").json

    [version] = told["versions"]
    failed, growing = version["qualities"]
    assert (told["status"], told["job_id"], version["job_id"]) == (
        "processing",
        film.job_id,
        film.job_id,
    )
    assert (failed["quality"], failed["status"]) == ("480p", "failed")
    assert failed["error_message"] == "FFMPEG_FAILED: it broke"
    assert (growing["status"], growing["segments_completed"], growing["segments_total"]) == (
        "in_progress",
        1,
        4,
    )
    assert growing["progress_percent"] == 25
    assert told["files"]["playlist"] is None


def test_show_tells_why_a_film_failed(anywhere: Cli, studio: Studio):
    film = studio.add()
    operator.kill(studio.engine, film.job_id, name="ann")

    told = anywhere("show", film.asset_id, "--json").json

    assert (told["status"], told["job_status"]) == ("failed", "killed")


def test_rm_hides_a_film_and_restore_brings_it_back(anywhere: Cli, studio: Studio):
    film = ready(studio, title="A day")

    gone = anywhere("rm", film[-8:], "--yes")
    listed, deleted = anywhere("list").out, anywhere("list", "--deleted", "--json").json["items"]
    back = anywhere("restore", "@last")

    assert (gone.code, back.code) == (0, 0)
    assert f"rushes restore {film[-8:]}" in gone.out
    assert "is purged on" in gone.out
    assert (listed, [item["asset_id"] for item in deleted]) == ("no videos\n", [film])
    assert "is restored, ready" in back.out
    assert studio.asset(film).deleted_at is None


def test_rm_tells_what_it_stopped_and_restore_how_to_go_on(anywhere: Cli, studio: Studio):
    film = studio.add()

    [told] = anywhere("rm", film.asset_id, "--yes", "--json").json["items"]
    back = anywhere("restore", film.asset_id[:30]).out

    assert told["stopped_job"] == film.job_id
    assert told["purged_at"] > told["deleted_at"]
    assert f"rushes jobs retry {film.job_id[-8:]}" in back


def test_rm_deletes_all_or_none(anywhere: Cli, studio: Studio):
    first, second = ready(studio), ready(studio, b"another")
    edit.delete(studio.library, second)

    answer = anywhere("rm", first, second, "--yes")

    assert answer.code == 5
    assert studio.asset(first).deleted_at is None


def test_rm_asks_nobody_in_a_pipe(anywhere: Cli, studio: Studio):
    film = ready(studio)

    answer = anywhere("rm", film)

    assert (answer.code, studio.asset(film).deleted_at) == (2, None)
    assert "hint: say --yes" in answer.err


def test_rm_can_be_tried_out(anywhere: Cli, studio: Studio):
    film = ready(studio, title="A day")

    answer = anywhere("rm", film, film[-8:], "--dry-run")

    assert answer.out == f"{film[-8:]} A day would be deleted\n"
    assert studio.asset(film).deleted_at is None


def test_text_is_printed_in_each_format(anywhere: Cli, studio: Studio):
    film = ready(studio, text=True)

    plain, srt, vtt = (anywhere("text", film, *form).out for form in ((), ("--srt",), ("--vtt",)))
    told = anywhere("text", film, "--json").json

    assert plain == "0:00.0-0:01.0  Hello @world\n"
    assert srt == "1\n00:00:00,000 --> 00:00:01,000\nHello @world\n"
    assert vtt == "WEBVTT\n\n1\n00:00:00.000 --> 00:00:01.000\nHello @world\n"
    assert told["asset_id"] == film
    assert told["items"][0]["entities"][0]["value"] == "@world"


def test_text_that_was_not_read_says_how_to_get_it(anywhere: Cli, studio: Studio):
    film = ready(studio)

    answer = anywhere("text", film)

    assert (answer.code, answer.out) == (5, "")
    assert f"rushes retranscode {film[-8:]} --text" in answer.err


@pytest.mark.parametrize(
    "arguments, code, word",
    [
        (["show", "ffffffff"], 3, "NOT_FOUND"),
        (["show", "x"], 3, "NOT_FOUND"),
        (["rm", "ffffffff", "--yes"], 3, "NOT_FOUND"),
        (["restore", "ffffffff"], 3, "NOT_FOUND"),
        (["restore", "@last"], 3, "NOT_FOUND"),
        (["text", "ffffffff"], 3, "NOT_FOUND"),
        (["retranscode", "ffffffff"], 3, "NOT_FOUND"),
        (["list", "--before", "ffffffff"], 2, "INVALID_INPUT"),
        (["jobs", "watch", "ffffffff"], 3, "NOT_FOUND"),
        (["list", "--status", "done"], 2, "INVALID_INPUT"),
        (["retranscode", "@last", "--qualities", "721p"], 2, "INVALID_INPUT"),
        (["retranscode", "@last", "--qualities", "1080p"], 2, "INVALID_INPUT"),
        (["retranscode", "@last", "--qualities", ","], 2, "INVALID_INPUT"),
        (["retranscode", "@last", "--priority", "11"], 2, "INVALID_INPUT"),
        (["text", "@last", "--srt", "--vtt"], 2, "INVALID_INPUT"),
        (["list", "--limit", "0"], 2, "USAGE"),
        (["show"], 2, "USAGE"),
        (["rm"], 2, "USAGE"),
        (["restore", "LAST"], 5, "CONFLICT"),
        (["retranscode", "@last", "--missing-only"], 5, "CONFLICT"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_wrong_input_is_one_clear_line(anywhere: Cli, studio: Studio, arguments, code, word):
    film = ready(studio)
    arguments = [film if argument == "LAST" else argument for argument in arguments]

    text, told = anywhere(*arguments), anywhere(*arguments, "--json")

    assert (text.code, text.out) == (code, "")
    error, *hint = text.err.splitlines()
    assert error.startswith("error: ")
    assert error.endswith(f" ({word})")
    assert [line[:6] for line in hint] in ([], ["hint: "])
    if "--srt" not in arguments:
        assert (told.code, told.problem["code"]) == (code, word)
    assert studio.asset(film).newest == 1


def test_id_that_fits_more_than_one_film_is_refused(anywhere: Cli, studio: Studio):
    first, _ = ready(studio), ready(studio, b"another")

    answer = anywhere("rm", first[:6], "--yes")

    assert answer.code == 2
    assert answer.err.startswith(f"error: {first[:6]!r} fits more than one video")
    assert studio.asset(first).deleted_at is None


def test_retranscode_can_be_left_to_others(anywhere: Cli, studio: Studio):
    """000-074, 000-076: the film stays ready while it is queued."""
    film = ready(studio)

    queued = anywhere("retranscode", film[-8:], "--qualities", "480p", "--no-wait")
    again = anywhere("retranscode", film[-8:], "--no-wait")

    assert queued.code == 0
    assert "is in the queue" in queued.out
    assert (again.code, "ACTIVE_JOB_EXISTS" in again.err) == (5, True)
    assert (studio.asset(film).newest, studio.asset(film).status) == (2, "ready")


@pytest.mark.timeout(240)
def test_retranscode_that_fails_leaves_what_was_there(cli: Cli, studio: Studio):
    """000-076: the original of this film is no film at all."""
    film = ready(studio, title="A day")

    answer = cli("retranscode", film)

    assert (answer.code, studio.asset(film).status, studio.asset(film).version) == (1, "ready", 1)
    assert answer.out.startswith("❌ A day  SOURCE_")
    assert "   the version that was there plays on\n" in answer.out


def test_watch_shows_a_film_until_it_is_ready(studio: Studio):
    """004-022: progress of a running job, then its end."""
    film = studio.add()
    studio.do("probe")
    studio.do("audio")
    studio.do("transcode", 0)
    layout.run_once(studio.library)

    code, (first, *_, last) = watched(studio, film.job_id, until_seen=1)

    assert (code, first["event"]) == (0, "playable")
    assert first["playlist"].endswith(f"/assets/{film.asset_id}/master.m3u8")
    assert (last["event"], last["status"], last["percent"]) == ("finished", "completed", 100)
    assert [quality["status"] for quality in last["qualities"]] == ["completed", "completed"]


def watched(studio: Studio, *jobs: str, until_seen: int) -> tuple[int, list[dict[str, Any]]]:
    """Watch jobs from another process; once it has seen so many of them, do their work."""
    process = rushes("jobs", "watch", *jobs, "--json")
    assert process.stdout is not None
    told: list[dict[str, Any]] = []
    while len({line["job_id"] for line in told}) < until_seen:
        told.append(json.loads(process.stdout.readline()))
    studio.finish()
    layout.run_once(studio.library)
    out, err = process.communicate(timeout=60)
    assert err == ""
    return process.returncode, told + [json.loads(line) for line in out.splitlines()]


def test_end_of_a_film_that_is_cut_off_says_so(cli: Cli, studio: Studio):
    """B-UP-4: never silent."""
    studio.source = replace(FILM, damage=("truncated",))
    ready(studio, title="A day")

    answer = cli("jobs", "watch", "@last")

    assert answer.code == 0
    assert answer.out.startswith("✅ A day  ready in ")
    assert " · ⚠ SOURCE_TRUNCATED: the file ends too early" in answer.out
    job = cli("jobs", "show", "@last", "--json").json
    assert (job["status"], job["warnings"]) == ("completed", 1)
    assert [item["code"] for item in job["reported"]] == ["SOURCE_TRUNCATED"]
    assert "⚠ SOURCE_TRUNCATED: the file ends too early" in cli("jobs", "show", "@last").out


def test_watch_of_a_killed_job_tells_by_whom_and_why(anywhere: Cli, studio: Studio):
    """004-024; the exit code is that of the job."""
    film = studio.add(title="A day")
    operator.kill(studio.engine, film.job_id, name="ann", reason="wrong file")

    answer = anywhere("jobs", "watch", "@last")

    assert answer.code == 8
    assert answer.out.splitlines() == [
        "🛑 A day  killed by user:ann: wrong file",
        f"   go on: rushes jobs retry {film.job_id[-8:]}",
    ]


def test_watch_without_a_job_takes_all_that_are_open(cli: Cli, studio: Studio):
    nothing = cli("jobs", "watch")
    films = [studio.add(f"film {n}".encode()).job_id for n in range(2)]

    code, told = watched(studio, until_seen=2)

    finished = [line["job_id"] for line in told if line["event"] == "finished"]
    assert (nothing.code, nothing.out) == (0, "no job is open\n")
    assert (code, sorted(finished)) == (0, films)
