"""The storyboard: every tile shows its own moment, and WebVTT points at it."""

from __future__ import annotations

import re
from functools import cache
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from rushes.errors import Permanent
from rushes.media.probe import probe
from rushes.media.source import Source
from rushes.media.storyboard import MAX_TILES, Storyboard, plan, storyboard, webvtt
from tests.media.clips import RECIPES, clip
from tests.media.numbered import FPS, Pixels, numbered, read_jpeg, read_number

CUE = re.compile(
    r"(\d\d):(\d\d):(\d\d)\.(\d{3}) --> (\d\d):(\d\d):(\d\d)\.(\d{3})\n"
    r"(storyboard-\d+\.jpg)#xywh=(\d+),(\d+),(\d+),(\d+)"
)
SLOW = ("-vf", "setpts=30*PTS", "-r", "1", "-g", "7")

RECIPES |= {"numbered_slow": ("mp4", numbered(*SLOW))}


@cache
def film(name: str) -> tuple[Path, Source]:
    with TemporaryDirectory() as folder:
        return clip(name), probe(clip(name), folder=Path(folder))


def tiles(board: Storyboard) -> list[tuple[int, int, Pixels]]:
    """Return start, end and pixels of each tile, found the way a player finds them."""
    found = []
    sheets = {Path(sheet).name: read_jpeg(sheet) for sheet in board.sheets}
    for cue in CUE.findall(Path(board.vtt).read_text()):
        start, end = _ms(cue[:4]), _ms(cue[4:8])
        x, y, width, height = map(int, cue[9:])
        found.append((start, end, sheets[cue[8]][y : y + height, x : x + width]))
    return found


def _ms(clock: tuple[str, ...]) -> int:
    hours, minutes, seconds, rest = map(int, clock)
    return ((hours * 60 + minutes) * 60 + seconds) * 1000 + rest


@pytest.mark.parametrize("name", ["numbered", "numbered_one_key", "numbered_rotated"])
def test_each_tile_shows_a_picture_from_within_its_cue(name, folder, watch):
    path, source = film(name)

    board = storyboard(path, source, folder=folder, watch=watch)

    shown = tiles(board)
    assert [(start, end) for start, end, _ in shown] == [
        (t, t + 1000) for t in range(0, 4000, 1000)
    ]
    for start, end, pixels in shown:
        assert pixels.shape == (90, 160, 3)
        assert start <= read_number(pixels) * 1000 / FPS < end
    assert watch.fractions == [0.25, 0.5, 0.75, 1]


def test_more_than_a_hundred_tiles_go_on_a_second_sheet(folder):
    path, source = film("numbered_slow")

    board = storyboard(path, source, folder=folder)

    assert [Path(sheet).name for sheet in board.sheets] == ["storyboard-0.jpg", "storyboard-1.jpg"]
    assert read_jpeg(board.sheets[0]).shape == (900, 1600, 3)
    assert read_jpeg(board.sheets[1]).shape == (180, 1600, 3)
    assert [read_number(pixels) for _, _, pixels in tiles(board)] == list(range(120))


def test_one_frame_makes_one_tile(folder):
    path, source = film("one_frame")

    board = storyboard(path, source, folder=folder)

    assert len(tiles(board)) == 1
    assert read_jpeg(board.sheets[0]).shape == (90, 160, 3)


def test_a_portrait_film_has_portrait_tiles():
    board = plan(4_000, 1080, 1920)

    assert (board.tile_width, board.tile_height) == (90, 160)


@given(st.integers(0, 24 * 3_600_000), st.integers(2, 8192), st.integers(2, 8192))
def test_cues_cover_a_film_of_any_length_with_few_tiles(duration_ms, width, height):
    board = plan(duration_ms, width, height)
    cues = [board.cue(tile) for tile in range(board.tiles)]

    assert 1 <= board.tiles <= MAX_TILES
    assert cues[0][0] == 0
    assert cues[-1][1] == max(1, duration_ms)
    assert all(one[1] == other[0] for one, other in pairwise(cues))
    assert len(CUE.findall(webvtt(board))) == board.tiles
    assert len({board.place(tile) for tile in range(board.tiles)}) == board.tiles
    assert max(board.tile_width, board.tile_height) <= 160


def test_a_file_without_pictures_leaves_nothing_behind(folder):
    _, source = film("numbered")

    with pytest.raises(Permanent):
        storyboard(clip("image"), source, folder=folder)

    assert list(folder.iterdir()) == []


def test_a_result_survives_being_stored(folder):
    board = storyboard(*film("one_frame"), folder=folder)
    stored = TypeAdapter(Storyboard)

    assert stored.validate_json(stored.dump_json(board)) == board
