"""`rushes demo`: true for its own film, and not true as soon as something is wrong."""

from __future__ import annotations

import html
import json
import os
import re
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from rushes.app import App, open_app, run_worker
from rushes.cli import demo, demo_story
from rushes.library import demo_check, layout
from rushes.library.demo_check import Made
from rushes.library.demo_film import LINES
from rushes.library.pipelines import Options
from rushes.library.upload import Added, Upload, add
from rushes.media import entities
from rushes.settings import load
from tests.cli.conftest import ROOT, Cli, rushes
from tests.media.clips import clip

PAGE = (ROOT / "docs/tutorial/first-video.md").read_text()
NO_NETWORK = """
import sys
def hook(event, arguments):
    if event in ("socket.connect", "socket.getaddrinfo"):
        raise RuntimeError(f"{event} {arguments}")
sys.addaudithook(hook)
"""
STAGES = ("probe", "thumbnail", "storyboard", "audio", "transcode", "playlist", "finalize")
FILES = (
    demo_check.broken_playlists,
    demo_check.broken_segments,
    demo_check.undecodable,
    demo_check.missing_pictures,
)


@dataclass(frozen=True)
class Played:
    """A small film without text that went through the pipeline, and what was told of it."""

    rushes: App
    added: Added
    made: Made
    said: list[str]
    bars: list[dict[str, float]]


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Played]:
    folder = tmp_path_factory.mktemp("played")
    said: list[str] = []
    bars: list[dict[str, float]] = []
    screen = demo.Screen(said.append, lambda percent: bars.append(dict(percent)))
    settings = load(data=folder, database_url=f"sqlite:///{folder}/rushes.db", **demo.SETTINGS)
    with open_app(settings) as app:
        added = add(app.library, Upload(path=clip("fps30"), options=Options(text=False)))
        run_worker(app, until=demo.follow(app, added, screen))
        layout.run_once(app.library)
        yield Played(app, added, demo_story.made_of(app, added.asset_id), said, bars)


@pytest.fixture
def made(played: Played, tmp_path: Path) -> Made:
    """The files of that film, to be broken."""
    copy = tmp_path / "film"
    shutil.copytree(played.made.folder.parent, copy)
    return replace(played.made, folder=copy / played.made.folder.name)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size * 2 // 3])


def blank(path: Path) -> None:
    kept = path.read_bytes()[: path.stat().st_size // 3]
    path.write_bytes(kept.ljust(path.stat().st_size, b"\0"))


def edit(old: str, new: str) -> Callable[[Path], None]:
    def change(path: Path) -> None:
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new))

    return change


DAMAGES: dict[str, tuple[str, Callable[[Path], None], set[str]]] = {
    "a segment is cut": (
        "180p/00000.m4s",
        cut,
        {"broken_playlists", "broken_segments", "undecodable"},
    ),
    "a segment is gone": (
        "180p/00000.m4s",
        Path.unlink,
        {"broken_playlists", "broken_segments", "undecodable"},
    ),
    "most of a segment is blank": ("180p/00000.m4s", blank, {"broken_segments", "undecodable"}),
    "an init is cut": ("180p/init.mp4", cut, {"broken_segments", "undecodable"}),
    "the sound is cut": (
        "audio/und/00000.m4s",
        cut,
        {"broken_playlists", "broken_segments", "undecodable"},
    ),
    "a playlist has no end": (
        "180p/playlist.m3u8",
        edit("#EXT-X-ENDLIST", ""),
        {"broken_playlists"},
    ),
    "a playlist is gone": ("180p/playlist.m3u8", Path.unlink, {"broken_playlists"}),
    "the way in leads nowhere": (
        "../master.m3u8",
        edit("v1/180p", "v2/180p"),
        {"broken_playlists"},
    ),
    "the poster is cut": ("poster.jpg", cut, {"missing_pictures"}),
    "a sheet of the storyboard is gone": ("storyboard-0.jpg", Path.unlink, {"missing_pictures"}),
    "the storyboard is empty": ("storyboard.vtt", edit("#xywh", "#none"), {"missing_pictures"}),
}


@pytest.mark.timeout(400)
def test_tutorial_holds_with_nothing_but_python_on_the_machine(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Shows 002-012, 002-019, 002-027 and 002-036: each stage follows the one before by itself.

    And 002-030, 002-031, 002-035: what was on the screen is known with its times, its names, tags,
    addresses and numbers.
    """
    commands = re.findall(r"^\$ rushes (.*)$", PAGE, re.MULTILINE)
    monkeypatch.delenv("RUSHES_DATABASE_URL")
    (tmp_path / "sitecustomize.py").write_text(NO_NETWORK)
    alone = {**os.environ, "PATH": str(tmp_path), "PYTHONPATH": str(tmp_path)}

    process = rushes(*commands[0].split(), "--json", env=alone)
    out, err = process.communicate(timeout=360)
    later = {command: cli(*command.split()) for command in commands[1:]}

    told = json.loads(out)
    assert [check for check in told["checks"] if not check["ok"]] == []
    assert (process.returncode, err, told["ok"]) == (0, "", True)
    assert [made["name"] for made in told["ladder"]] == ["720p", "480p", "360p", "audio/und"]
    assert [text["text"] for text in told["texts"]].count("Où est passée la forêt ?") == 1
    assert "(wheel)" in told["tools"]["ffmpeg"]
    assert 0 < told["after_ms"]["playable"] < told["after_ms"]["ready"]
    assert Path(told["folder"], "assets", told["asset_id"], "master.m3u8").is_file()
    assert {command: answer.err for command, answer in later.items() if answer.code} == {}


def test_recorded_terminal_is_small_and_asks_nobody_and_shows_every_claim():
    picture = (ROOT / "docs/assets/demo.svg").read_text()
    shown = html.unescape(picture).replace("\N{NO-BREAK SPACE}", " ")

    assert len(picture.encode()) <= 60_000
    assert re.findall(r"url\(\W*http|@import|/tmp/|/home/|/root/", picture) == []
    for words in (*demo_check.judge(None, []), *(line.text for line in LINES)):
        assert words in shown


def test_folder_that_is_in_use_is_left_alone(cli: Cli, tmp_path: Path):
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "notes.txt").write_text("mine")

    full, file = cli("demo", "--keep", kept), cli("demo", "--keep", kept / "notes.txt")

    assert (full.code, full.out) == (2, "")
    assert full.err.startswith(f"error: {kept} is not empty (INVALID_INPUT)\n")
    assert (file.code, file.out) == (2, "")
    assert [path.name for path in kept.iterdir()] == ["notes.txt"]


def test_demo_that_is_stopped_leaves_nothing_behind(tmp_path: Path, monkeypatch):
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))

    process = rushes("demo", "--json")
    deadline = time.monotonic() + 60
    while not list(folder.glob("rushes-demo-*/demo.mp4")) and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGTERM)
    out, _ = process.communicate(timeout=60)

    assert (process.returncode, out) == (128 + signal.SIGTERM, "")
    assert list(folder.iterdir()) == []


def test_every_stage_is_told_once_and_when_the_film_is_playable(played: Played):
    ticks = [line.split()[1] for line in played.said if line.startswith("✔ ")]

    assert sorted(ticks) == sorted(STAGES)
    assert [line[:16] for line in played.said].count("▶ playable after") == 1
    assert {step for percent in played.bars for step in percent} <= set(STAGES)
    assert all(0 <= value <= 100 for percent in played.bars for value in percent.values())


def test_story_lists_what_is_not_true(played: Played, tmp_path: Path):
    story = demo_story.tell(played.rushes, played.added, tools={}, began=time.monotonic())

    told, page = demo_story.view(story, None), list(demo_story.lines(story, tmp_path))

    assert (story.is_true, told["ok"]) == (False, False)
    wrong = [claim for claim, problems in story.checks.items() if problems]
    assert wrong == [
        "every line of text was found at its time",
        "every name, tag, address and number was found",
    ]
    assert [line[2:] for line in page if line.startswith("✘ ")] == wrong
    assert "    'Call +44 20 7946 0958' was not found" in page
    assert f"look    rushes --data {tmp_path} show @last" in page
    assert page[-1] == "not all of it is true"


def test_whole_film_passes_every_check(made: Made):
    assert [problem for check in FILES for problem in check(made)] == []


@pytest.mark.parametrize("damage", DAMAGES)
def test_broken_file_is_noticed_by_the_checks_that_read_it(made: Made, damage: str):
    name, hurt, wanted = DAMAGES[damage]

    hurt(made.folder / name)

    claims = list(demo_check.judge(made, []).values())[: len(FILES)]
    noticed = {check.__name__ for check, problems in zip(FILES, claims, strict=True) if problems}
    assert noticed == wanted


def test_lost_sound_and_lost_quality_are_noticed(made: Made):
    pictures = tuple(part for part in made.seen.renditions if not part.is_audio)
    mute = replace(made, seen=replace(made.seen, renditions=pictures))
    blind = replace(made, rungs=(*made.rungs, replace(made.rungs[0], name="90p")))

    whole = "every quality and the sound are whole, frame by frame"
    assert demo_check.judge(mute, [])[whole] == ["the film has lost its sound"]
    assert "the rungs should be" in demo_check.judge(blind, [])[whole][0]


def test_film_of_which_nothing_was_made_fails_every_check():
    assert all(demo_check.judge(None, []).values())


def read() -> list[dict[str, Any]]:
    """What a perfect reader finds in the film."""
    return [
        {
            "text": line.text,
            "start_ms": line.start_ms,
            "end_ms": line.end_ms,
            "entities": [
                {"kind": found.kind, "normalized": found.normalized}
                for found in entities.find(line.text)
            ],
        }
        for line in LINES
    ]


def test_perfect_reader_finds_everything():
    assert (demo_check.unseen(read()), demo_check.unfound(read())) == ([], [])


@pytest.mark.parametrize("line", LINES, ids=lambda line: line.text)
def test_text_that_is_missing_is_noticed(line):
    texts = [text for text in read() if text["text"] != line.text]

    assert demo_check.unseen(texts) == [f"{line.text!r} was not found"]


@pytest.mark.parametrize("edge", ["start_ms", "end_ms"])
@pytest.mark.parametrize(
    "late_ms, is_noticed", [(-101, True), (-100, False), (100, False), (101, True)]
)
def test_time_may_be_wrong_by_one_look_at_the_film(edge: str, late_ms: int, is_noticed: bool):
    texts = read()
    texts[3][edge] += late_ms

    assert bool(demo_check.unseen(texts)) is is_noticed


@pytest.mark.parametrize(
    "text, is_noticed",
    [
        ("FUSSGANGER HÖREN DAS LÄUTEN UBER DER STRASSE", False),
        ("Fußganger horen das Lauten uber der Strabe", True),
        ("Fußgänger hören das Läuten", True),
    ],
)
def test_reader_may_slip_in_a_tenth_of_the_letters(text: str, is_noticed: bool):
    texts = read()
    texts[3]["text"] = text

    assert bool(demo_check.unseen(texts)) is is_noticed


def test_every_entity_that_is_missing_is_noticed():
    texts = [{**text, "entities": text["entities"][1:]} for text in read()]

    assert demo_check.unfound(texts) == [
        "the hashtag #firstlight was not found",
        "the mention @harbournews was not found",
        "the number 12.5 EUR was not found",
        "the phone +442079460958 was not found",
        "the url example.org/ferry was not found",
    ]
