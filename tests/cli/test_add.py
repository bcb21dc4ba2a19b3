"""`rushes add`: what is taken, what is refused, how it ends, and who may be there besides."""

from __future__ import annotations

import doctest
import errno
import json
import os
import shutil
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from rushes.app import App, open_app
from rushes.cli import attend, intake
from rushes.client import Client
from rushes.domain.asset import Asset
from rushes.domain.graph import JobRequest, Step
from rushes.domain.job import Status
from rushes.engine import operator
from rushes.engine.doctor import examine
from rushes.engine.submit import submit
from rushes.library import wishes
from rushes.settings import load
from rushes.store import assets, jobs, tasks
from tests.cli.conftest import Answer, Cli, rushes
from tests.media.clips import X264, bars, clip, lavfi
from tests.waiting import until

NOT_A_FILM = b"\x00\x01 not a film, but nothing that could be told from its name"
QUICK = ("--no-text",)
LATER = {"demo.shard": Step(items=[{"number": 1, "milliseconds": 1}])}
FAR_AWAY = 4_000_000_000_000  # in the year 2096


@pytest.fixture
def app(surroundings: None) -> Iterator[App]:
    """The library that the commands see."""
    with open_app(load()) as opened:
        yield opened


@pytest.fixture
def film(tmp_path: Path) -> Path:
    """Two seconds of 320x180 without sound."""
    return Path(shutil.copy(clip("silent"), tmp_path / "holiday.mp4"))


def all_assets(app: App) -> list[Asset]:
    return app.db.read(assets.list_page)


def only_job(app: App) -> str:
    [asset] = all_assets(app)
    assert asset.job_id is not None
    return asset.job_id


def status(app: App, job_id: str) -> Status:
    return app.db.read(lambda tx: jobs.get(tx, job_id)).status


def events(answer: Answer, kind: str) -> list[dict[str, Any]]:
    return [line for line in answer.lines if line["event"] == kind]


def named(found: list[Path]) -> list[str]:
    return [path.name for path in found]


@pytest.mark.timeout(240)
def test_films_become_ready_and_bad_files_do_not_stop_them(cli: Cli, app: App, film: Path):
    """000-159: a file in, a film out; each of the others gets its own sentence.

    The command ends with its own films, though another job is open.
    """
    later = submit(app.engine, JobRequest(kind="demo", steps=LATER, run_at=FAR_AWAY)).job_id
    (film.parent / "empty.mp4").touch()
    (film.parent / "broken.mp4").write_bytes(clip("headless").read_bytes())
    names = ("missing.mp4", "empty.mp4", "broken.mp4", film.name)

    answer = cli("add", *names, *QUICK, "--tag", "home", "--priority", "high")

    ready, broken = (
        next(one for one in all_assets(app) if one.filename == name) for name in names[:1:-1]
    )
    playlist = app.library.storage.root / "assets" / ready.id / "master.m3u8"
    assert answer.code == 10
    assert (ready.status, ready.tags, broken.status) == ("ready", ("home",), "failed")
    assert "error: missing.mp4: there is no such file (SOURCE_MISSING)" in answer.err
    assert "error: empty.mp4: the file is empty (SOURCE_EMPTY)" in answer.err
    assert f"▶ holiday.mp4 can be watched: {playlist}" in answer.err
    assert "holiday.mp4: 100 %  completed" in answer.err
    failed, hint, done = answer.out.splitlines()
    assert failed.startswith("❌ broken.mp4  SOURCE_CORRUPT: ")
    assert hint.startswith("   hint: ")
    assert done.startswith("✅ holiday.mp4  ready in ")
    assert done.endswith(f" · 180p · {ready.id[-8:]} · {playlist}")
    assert playlist.exists()
    assert status(app, later) is Status.QUEUED


@pytest.mark.timeout(240)
def test_two_processes_on_a_new_folder_do_each_task_once(film: Path, tmp_path: Path):
    """000-160: both end when their own film is ready; the queue is one."""
    other = Path(shutil.copy(clip("one_frame"), tmp_path / "other.mp4"))

    both = [rushes("add", str(path), *QUICK, "--json") for path in (film, other)]
    ends = [process.communicate(timeout=200) for process in both]

    assert [process.returncode for process in both] == [0, 0], ends
    for out, _ in ends:
        last = json.loads(out.splitlines()[-1])
        assert (last["event"], last["status"]) == ("finished", "completed")
        assert Path(last["playlist"]).exists()
    with open_app(load()) as app:
        attempts = [
            (one["task_id"], one["outcome"])
            for asset in all_assets(app)
            for one in app.db.read(lambda tx, asset=asset: tasks.attempts(tx, asset.job_id))
        ]
        assert len({task for task, outcome in attempts if outcome == "done"}) == len(
            [outcome for _, outcome in attempts if outcome == "done"]
        )
        assert examine(app.engine, strict=True).findings == []


@pytest.mark.timeout(240)
def test_interrupted_work_is_handed_back_and_stays_in_the_queue(
    app: App, film: Path, monkeypatch: pytest.MonkeyPatch
):
    """003: Ctrl-C costs no attempt, and somebody else goes on."""
    monkeypatch.setenv("RUSHES_TEST", "1")
    monkeypatch.setenv("RUSHES_FAILPOINTS", "stage.before_spawn=delay:4000@1")
    process = rushes("add", str(film), *QUICK)

    def held() -> list[str]:
        found = [task for one in all_assets(app) for task in of_job(app, one.job_id or "")]
        return [task.step for task in found if task.state == "running"]

    until(lambda: held() == ["transcode"], 120)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)

    job_id = only_job(app)
    [chunk] = [task for task in of_job(app, job_id) if task.step == "transcode"]
    assert (process.returncode, out) == (130, "")
    assert "1 job stays in the queue; go on with: rushes worker run" in err
    assert "Traceback" not in err
    assert (chunk.state, chunk.attempt) == ("ready", 0)
    assert status(app, job_id) is Status.RUNNING


def of_job(app: App, job_id: str) -> list[Any]:
    return app.db.read(lambda tx: tasks.of_job(tx, job_id))


def test_killed_job_ends_the_command_with_its_own_code(cli: Cli, app: App, film: Path):
    operator.pause(app.engine, "probe", by="ann")

    def kill() -> None:
        until(lambda: all_assets(app))
        operator.kill(app.engine, only_job(app), name="ann", reason="wrong file")

    killer = threading.Thread(target=kill)
    killer.start()
    answer = cli("add", film, *QUICK)
    killer.join()

    assert answer.code == 8
    assert answer.out.startswith("🛑 holiday.mp4  killed by user:ann: wrong file\n")


def test_reader_that_goes_away_is_no_error_and_costs_no_film(app: App, film: Path):
    operator.pause(app.engine, "probe", by="ann")
    process = rushes("add", str(film), *QUICK, "--json")

    assert process.stdout is not None
    process.stdout.readline()
    process.stdout.close()
    process.wait(timeout=60)

    assert process.stderr is not None
    assert process.stderr.read() == ""
    process.stderr.close()
    assert status(app, only_job(app)) is Status.QUEUED


@pytest.mark.timeout(240)
def test_retranscode_makes_a_new_version_here(cli: Cli, app: App, tmp_path: Path):
    """000-074, 000-078: submitted and done by one command."""
    film = Path(shutil.copy(clip("one_frame"), tmp_path / "short.mp4"))
    assert cli("add", film, *QUICK).code == 0

    answer = cli("retranscode", "@last", "--qualities", "180p")

    [asset] = all_assets(app)
    assert (answer.code, asset.version, asset.status) == (0, 2, "ready")
    assert answer.out.startswith("✅ short  ready in ")
    assert "can be watched" not in answer.err


@pytest.mark.timeout(240)
def test_text_is_read_in_the_original(cli: Cli, app: App, tmp_path: Path):
    """002-008, 002-015: in its full size, although the only quality is smaller."""
    film = tmp_path / "sharp.mp4"
    lavfi(f"{bars('640x480', seconds=1)} -frames:v 1 {X264}", film)

    answer = cli("add", film, "--qualities", "360p")

    [asset] = all_assets(app)
    rows = app.db.read(lambda tx: list(tx.rows("artifacts", asset_id=asset.id, version=1)))
    keys = {row["name"]: row["key"] for row in rows}
    [frame] = [key for name, key in keys.items() if name.startswith("frames/")]
    assert (answer.code, asset.source_key) == (0, f"originals/{asset.id}/source.mp4")
    assert [name for name in keys if name.endswith("init.mp4")] == [
        f"assets/{asset.id}/v1/360p/init.mp4"
    ]
    with Image.open(app.library.storage.root / frame) as picture:
        assert picture.size == (640, 480)


def test_film_whose_work_cannot_begin_says_why(
    cli: Cli, app: App, film: Path, monkeypatch: pytest.MonkeyPatch
):
    """Somebody who waits wants to know for what."""
    monkeypatch.setattr(attend, "EXPLAIN_AFTER", 0.0)
    operator.pause(app.engine, "probe", by="ann", reason="too hot")
    assert cli("add", film, *QUICK, "--no-wait").code == 0
    job_id = only_job(app)
    seen: list[str] = []

    def show(sights: Any) -> None:
        seen.append(sights[0].waits_for)

    crowd = attend.Crowd(Client.at(app.library), [job_id], show)
    crowd.look()

    assert "paused by ann: too hot" in seen[0]


def test_no_wait_only_puts_films_into_the_queue(cli: Cli, app: App, film: Path):
    answer = cli("add", film, "--no-wait", "--title", "A day", "--qualities", "720p, 480p")

    [asset] = all_assets(app)
    assert (answer.code, asset.title, asset.status) == (0, "A day", "pending")
    assert answer.out == "1 film in the queue; next: rushes worker run\n"
    assert status(app, only_job(app)) is Status.QUEUED


def test_objects_of_no_wait_tell_what_was_added_refused_and_skipped(cli: Cli, app: App, film: Path):
    folder = film.parent / "films"
    folder.mkdir()
    shutil.move(film, folder / "a.mp4")
    (folder / ".b.mp4").touch()

    answer = cli("add", folder, "missing.mp4", "--no-wait", "--json")

    [added], [refused], [skipped] = (
        events(answer, kind) for kind in ("added", "refused", "skipped")
    )
    assert (answer.code, answer.err) == (10, "")
    assert (added["asset_id"], added["created"]) == (all_assets(app)[0].id, True)
    assert (refused["path"], refused["code"]) == ("missing.mp4", "SOURCE_MISSING")
    assert (Path(skipped["path"]).name, skipped["reason"]) == (".b.mp4", "hidden")


def test_duplicate_is_refused_with_the_film_that_is_there(cli: Cli, app: App, film: Path):
    first = cli("add", film, "--no-wait", "--json").lines[0]["asset_id"]

    again = cli("add", film, "--no-wait")
    allowed = cli("add", film, "--no-wait", "--duplicate", "allow")

    assert (again.code, allowed.code) == (5, 0)
    assert again.err.startswith(f"error: {film}: this film is in the library as {first}")
    assert "(DUPLICATE_OF)" in again.err
    assert len(all_assets(app)) == 2


def test_same_key_adds_a_film_once(cli: Cli, app: App, film: Path):
    """003-063: repeating a request with its key is harmless."""
    arguments = ("add", film, "--no-wait", "--idempotency-key", "k", "--json")

    first, again = cli(*arguments), cli(*arguments)

    assert (first.lines[0]["created"], again.lines[0]["created"]) == (True, False)
    assert first.lines[0]["job_id"] == again.lines[0]["job_id"]
    assert len(all_assets(app)) == 1


@pytest.mark.parametrize(
    "arguments, code, word",
    [
        (["missing.mp4"], 1, "SOURCE_MISSING"),
        (["missing/film.mp4"], 1, "SOURCE_MISSING"),
        (["x" * 300], 1, "SOURCE_MISSING"),
        (["empty.mp4"], 1, "SOURCE_EMPTY"),
        (["text.mp4"], 1, "SOURCE_UNSUPPORTED"),
        (["picture.mp4"], 1, "SOURCE_UNSUPPORTED"),
        (["pipe.mp4"], 1, "SOURCE_UNSUPPORTED"),
        (["folder"], 1, "SOURCE_MISSING"),
        (["/dev/null"], 1, "SOURCE_UNSUPPORTED"),
        (["odd.mp4", "--qualities", "721p"], 2, "INVALID_INPUT"),
        (["odd.mp4", "--qualities", ","], 2, "INVALID_INPUT"),
        (["odd.mp4", "--languages", "klingon!"], 2, "INVALID_INPUT"),
        (["odd.mp4", "--priority", "11"], 2, "INVALID_INPUT"),
        (["odd.mp4", "--priority", "soon"], 2, "INVALID_INPUT"),
        (["odd.mp4", "--title", "x" * 501], 2, "INVALID_INPUT"),
        (["odd.mp4", "--tag", " "], 2, "INVALID_INPUT"),
        (["odd.mp4", "text.mp4", "odd.mp4", "--title", "x"], 2, "INVALID_INPUT"),
        (["odd.mp4", "--duplicate", "maybe"], 2, "USAGE"),
        ([], 2, "USAGE"),
    ],
    ids=lambda value: " ".join(value)[:40] if isinstance(value, list) else None,
)
def test_wrong_input_is_one_clear_line(
    cli: Cli, app: App, tmp_path: Path, arguments, code: int, word: str
):
    """B-UP-1, B-UP-12, B-UP-27: never a traceback, and nothing is written."""
    (tmp_path / "empty.mp4").touch()
    (tmp_path / "text.mp4").write_text("once upon a time")
    (tmp_path / "picture.mp4").write_bytes(clip("image").read_bytes())
    (tmp_path / "odd.mp4").write_bytes(NOT_A_FILM)
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe.mp4")

    answer = cli("add", *arguments, "--no-wait")

    assert (answer.code, answer.out) == (code, "")
    error, *hint = answer.err.splitlines()
    assert error.startswith("error: ")
    assert error.endswith(f" ({word})")
    assert [line[:6] for line in hint] in ([], ["hint: "])
    assert all_assets(app) == []


def test_name_that_is_no_text_is_shown_and_kept_as_text(cli: Cli, app: App, tmp_path: Path):
    """B-UP-20, B-UP-27: a name in no encoding, with what steers a terminal."""
    path = os.fsencode(tmp_path) + b"/\xff\x1b[2Jx.mp4"
    Path(os.fsdecode(path)).write_bytes(NOT_A_FILM)

    added = cli("add", os.fsdecode(path), "--no-wait")
    again = cli("add", os.fsdecode(path), "--no-wait")

    assert (added.code, again.code) == (0, 5)
    assert "\x1b" not in again.err
    assert all_assets(app)[0].filename.endswith("x.mp4")


def test_folder_gives_its_films_and_says_what_it_leaves_out(tmp_path: Path):
    """B-UP-27: nothing outside, nothing but regular files, each with its reason."""
    root, outside = tmp_path / "films", tmp_path / "outside.mp4"
    (root / "below").mkdir(parents=True)
    for path in (root / "b.MOV", root / "a.mp4", root / "below" / "c.mkv", outside):
        path.write_bytes(NOT_A_FILM)
    (root / ".hidden.mp4").write_bytes(NOT_A_FILM)
    (root / "notes.txt").write_text("not a film")
    (root / "program.ts").write_text("const film = false;\n")
    (root / "out.mp4").symlink_to(outside)
    (root / "dead.mp4").symlink_to(root / "nothing.mp4")
    (root / "loop.mp4").symlink_to(root / "loop.mp4")
    (root / "up.mp4").symlink_to(root)
    (root / "z.mp4").symlink_to(root / "a.mp4")
    os.mkfifo(root / "pipe.mp4")
    with closing(socket.socket(socket.AF_UNIX)) as listener:
        listener.bind(str(root / "s.mp4"))

        flat, deep = intake.gather([root]), intake.gather([root], recursive=True)

    assert (named(flat.films), flat.refused) == (["a.mp4", "b.MOV"], [])
    assert named(deep.films) == ["a.mp4", "b.MOV", "c.mkv"]
    assert {reason: named(paths) for reason, paths in flat.skipped.items()} == {
        intake.HIDDEN: [".hidden.mp4"],
        intake.BELOW: ["below"],
        intake.NAMED: ["notes.txt"],
        "text, not a film": ["program.ts"],
        "a link that leads out of the folder": ["out.mp4"],
        "a link that leads nowhere": ["dead.mp4", "loop.mp4"],
        "a link to a folder": ["up.mp4"],
        "the same file as a.mp4": ["z.mp4"],
        "a pipe": ["pipe.mp4"],
        "a socket": ["s.mp4"],
    }


@pytest.mark.parametrize(
    "number, code",
    [
        (errno.EACCES, "STORAGE_DENIED"),
        (errno.ENOSPC, "DISK_FULL"),
        (errno.ENOENT, "SOURCE_MISSING"),
        (errno.EIO, "STORAGE_DENIED"),
    ],
)
def test_what_the_system_says_of_a_file_has_a_code(number: int, code: str):
    assert intake.refusal(OSError(number, os.strerror(number))).error_code == code


@pytest.mark.parametrize("module", [attend, wishes], ids=lambda module: module.__name__)
def test_examples_hold(module):
    assert doctest.testmod(module).failed == 0
