"""Sampling: the right pictures, at the right times, as a person sees them, in little memory."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from rushes.errors import Invalid, Retryable
from rushes.media import sample as sampling
from rushes.media.child.phash import bits_apart, cells, distance, phash
from rushes.media.probe import probe
from rushes.media.sample import Part, Rules, Sample, parts, sample
from rushes.media.source import VideoStream
from tests.media import cards
from tests.media.clips import RECIPES, bars, clip
from tests.media.numbered import COUNT, FPS, X264, draw, encode, read_jpeg, read_number

ALL = Rules(force_every_ms=1)
WHOLE = Part(start_ms=0, end_ms=4_000)
CHANGES = 15
FRAMES_PER_LINE = 8
MEMORY_KB = 5_000

# VmHWM and not ru_maxrss, which counts what pytest itself had when it started the child
MEASURE = """
import re, sys
from rushes.media.child.sampler import run
view = {"stream": 0, "width": 320, "height": 180}
part = {"start_ms": 0, "end_ms": 1_000_000}
print(run(sys.argv[1], view, part, {"force_every_ms": 1}, sys.argv[2])["looked_at"])
print(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1])
"""


def _ticker(target: Path) -> None:
    """a still picture of 640x360 on which one line of 24 px changes every 8 frames, 15 lines"""
    lines = [f"Headline {number}: {number * 7919 % 1000} points" for number in range(CHANGES)]
    pictures = [np.asarray(cards.line_on_scenery(line)) for line in lines]
    encode(target, (p for p in pictures for _ in range(FRAMES_PER_LINE)), *X264)


def _cross_fade(target: Path) -> None:
    """scenery 9 of 320x180 turns by two thirds into scenery 10 in 110 frames"""
    one, other = (np.asarray(cards.scenery(320, 180, seed=seed), float) for seed in (9, 10))
    shares = (min(1, max(0, (number - 5) / 110)) * 2 / 3 for number in range(COUNT))
    encode(target, ((one + (other - one) * s).astype(np.uint8) for s in shares), *X264)


def _scenes(target: Path) -> None:
    """three sceneries, cut at frames 30 and 75, each moving a little"""
    wide = [np.asarray(cards.scenery(480, 180, seed=seed)) for seed in (1, 2, 3)]
    places = ((int(n >= 30) + int(n >= 75), n) for n in range(COUNT))
    encode(target, (np.ascontiguousarray(wide[s][:, n : n + 320]) for s, n in places), *X264)


def _pq(target: Path) -> None:
    """number 5 in PQ, where 203 cd/m² is white"""
    levels = np.where(draw(5) > 128, 0.58, 0.1) * 65535
    picture = np.ascontiguousarray(levels.astype("<u2")).view(np.uint8)
    tags = "color_primaries=bt2020:color_trc=smpte2084:colorspace=bt2020nc:range=tv"
    ten_bits = ("-c:v", "libx265", "-preset", "ultrafast", "-x265-params", "log-level=none")
    encode(
        target,
        [picture] * 2,
        *("-vf", f"scale=out_range=tv,format=yuv420p10le,setparams={tags}", *ten_bits),
        kind="gray16le",
    )


RECIPES |= {
    "ticker": ("mp4", _ticker),
    "cross_fade": ("mp4", _cross_fade),
    "scenes": ("mp4", _scenes),
    "pq": ("mp4", _pq),
    "red": ("mp4", f"-f lavfi -i color=0xC81E1E:size=320x180:rate=10:duration=1 {' '.join(X264)}"),
    "long": ("mp4", f"{bars(seconds=40)} {' '.join(X264)}"),
    "short": ("mp4", f"{bars(seconds=4)} {' '.join(X264)}"),
}


@cache
def film(name: str) -> tuple[Path, VideoStream]:
    with TemporaryDirectory() as folder:
        return clip(name), probe(clip(name), folder=Path(folder)).video


def take(name: str, folder: Path, part: Part = WHOLE, rules: Rules = ALL) -> Sample:
    path, video = film(name)
    return sample(path, video, part, folder=folder, rules=rules)


def numbers(taken: Sample) -> list[tuple[int, int]]:
    return [(frame.t_ms, read_number(read_jpeg(frame.path))) for frame in taken.frames]


def hashes(taken: Sample) -> list[int]:
    return [
        phash(cells(read_jpeg(frame.path).mean(axis=2).astype(np.uint8))) for frame in taken.frames
    ]


def test_every_change_of_a_small_line_is_kept(folder):
    """002-017: 15 of 15 with the tile rule, and 1 of 15 by the hash alone."""
    with_tiles = take("ticker", folder, rules=Rules())
    by_hash_alone = take("ticker", folder, rules=Rules(tiles=False))

    shown = {int(frame.t_ms * FPS / 1000) // FRAMES_PER_LINE for frame in with_tiles.frames}
    assert shown == set(range(CHANGES))
    assert len(with_tiles.frames) == CHANGES
    assert len(by_hash_alone.frames) == 1


def test_a_slow_fade_is_not_kept_together_by_its_small_steps(folder):
    """C37: compared with the last picture kept, not with the one before."""
    rules = Rules(tiles=False)
    every = hashes(take("cross_fade", folder, rules=ALL))

    kept = hashes(take("cross_fade", folder, rules=rules))

    alike = bits_apart(rules.dedupe_threshold)
    steps = [distance(one, other) for one, other in pairwise(every)]
    assert max(steps) <= alike
    assert len(kept) >= 4
    assert distance(kept[-1], every[-1]) <= alike


def test_a_still_film_gives_a_picture_every_so_often(folder):
    """C37: one picture is forced every N seconds."""
    taken = take("red", folder, Part(start_ms=0, end_ms=1_000), Rules(force_every_ms=300))

    assert [frame.t_ms for frame in taken.frames] == [0, 300, 600, 900]
    assert taken.looked_at == 10


@pytest.mark.parametrize("name", ["numbered", "numbered_rotated"])
def test_ten_pictures_a_second_are_looked_at_each_with_its_time(name, folder, watch):
    """002-016, 002-018: from 30 to 10 a second, named by the ms; upright, in the shown size."""
    path, video = film(name)

    taken = sample(path, video, WHOLE, folder=folder, rules=ALL, watch=watch)

    assert numbers(taken) == [(t, t * FPS // 1000) for t in range(0, 4_000, 100)]
    assert {(frame.width, frame.height) for frame in taken.frames} == {(192, 108)}
    assert read_jpeg(taken.frames[0].path).shape == (108, 192, 3)
    assert Path(taken.frames[12].path).name == "000001200.jpg"
    assert watch.fractions == sorted(watch.fractions)
    assert 0 < watch.fractions[-1] <= 1


def test_parts_cut_anywhere_give_what_the_whole_film_gives(folder):
    """C77: no picture and no scene cut twice, none lost, wherever the borders are."""
    name = "numbered_remuxed"
    whole = take(name, folder, Part(start_ms=0, end_ms=4_100))
    borders = [0, 730, 2_021, 2_350, 4_100]  # 2021: a key frame and a cut

    pieces = [
        take(name, folder, Part(start_ms=start, end_ms=end)) for start, end in pairwise(borders)
    ]

    assert [frame for piece in pieces for frame in piece.frames] == list(whole.frames)
    assert [cut for piece in pieces for cut in piece.cuts_ms] == list(whole.cuts_ms)
    assert sum(piece.looked_at for piece in pieces) == whole.looked_at == 40
    assert numbers(whole) == [(21 + t, t * FPS // 1000) for t in range(0, 4_000, 100)]
    assert 2_021 in whole.cuts_ms


def test_scene_cuts_are_found_in_the_same_pass(folder):
    assert take("scenes", folder, rules=Rules()).cuts_ms == (1_000, 2_500)
    assert take("cross_fade", folder, rules=Rules()).cuts_ms == ()


def test_variable_frame_rate_keeps_its_times(folder):
    taken = numbers(take("numbered_vfr", folder))

    assert [round(t * FPS / 1000) for t, _ in taken] == [number for _, number in taken]
    assert [number for _, number in taken if 40 < number < 90] == [42, 76, 80, 84, 88]


def test_pixels_become_square_and_colours_stay(folder):
    shown = take("sar", folder, Part(start_ms=0, end_ms=50)).frames[0]
    red = take("red", folder, Part(start_ms=0, end_ms=50)).frames[0]

    assert (shown.width, shown.height) == (320, 180) == read_jpeg(shown.path).shape[1::-1]
    assert np.abs(read_jpeg(red.path).reshape(-1, 3).mean(axis=0) - (200, 30, 30)).max() < 8


def test_hdr_white_is_white(folder):
    frame = take("pq", folder, Part(start_ms=0, end_ms=10)).frames[0]

    pixels = read_jpeg(frame.path)

    assert read_number(pixels) == 5
    assert np.percentile(pixels, 95) > 235


def test_interlaced_pictures_have_no_combs(folder):
    """A comb is a line that differs from both its neighbours, which are like each other."""
    path, video = film("interlaced")
    rules, part = Rules(force_every_ms=1, target_fps=5), Part(start_ms=400, end_ms=1_900)
    combed = sample(path, replace(video, interlaced=False), part, folder=folder, rules=rules)
    before = sum(_combs(frame.path) for frame in combed.frames)

    clean = sample(path, video, part, folder=folder, rules=rules)

    assert sum(_combs(frame.path) for frame in clean.frames) < before / 2


def test_memory_does_not_grow_with_the_film(tmp_path):
    """Ten times the length, the same peak; their brightness alone would be 20 MB more."""
    short, long = (_peak(clip(name), tmp_path / name) for name in ("short", "long"))

    assert (short.looked_at, long.looked_at) == (40, 400)
    assert long.peak_kb - short.peak_kb < MEMORY_KB


def test_a_film_that_breaks_off_is_sampled_as_far_as_it_goes(folder):
    taken = take("truncated", folder)

    assert [frame.t_ms for frame in taken.frames] == list(range(0, 2_466, 100))


@pytest.mark.parametrize(
    "part, rules",
    [
        (Part(start_ms=5, end_ms=5), Rules()),
        (Part(start_ms=-1, end_ms=5), Rules()),
        (WHOLE, Rules(target_fps=0)),
        (WHOLE, Rules(dedupe_threshold=95)),
        (WHOLE, Rules(force_every_ms=0)),
    ],
)
def test_nonsense_is_refused_before_anything_is_opened(part, rules, folder):
    _, video = film("red")

    with pytest.raises(Invalid):
        sample(Path("no such film"), video, part, folder=folder, rules=rules)


def test_a_picture_that_was_not_written_is_noticed(folder, watch):
    hear = sampling._hear(WHOLE, folder, [], watch)
    (folder / "000000200.jpg").symlink_to("/etc/passwd")

    with pytest.raises(Retryable, match=r"000000100\.jpg was not written"):
        hear({"t_ms": 100, "kept": [192, 108]})
    with pytest.raises(Retryable, match=r"000000200\.jpg was not written"):
        hear({"t_ms": 200, "kept": [192, 108]})


@given(st.integers(0, 10**8), st.integers(10**4, 10**6))
def test_parts_cover_a_film_without_hole_or_overlap(duration_ms, length_ms):
    cut = parts(duration_ms, length_ms)

    assert cut[0].start_ms == 0
    assert cut[-1].end_ms == max(1, duration_ms)
    assert all(one.end_ms == other.start_ms for one, other in pairwise(cut))
    assert all(0 < part.end_ms - part.start_ms <= length_ms for part in cut)
    assert parts(duration_ms, length_ms, linear=True) == parts(duration_ms, max(1, duration_ms))


def test_a_result_survives_being_stored(folder):
    taken = take("red", folder, Part(start_ms=0, end_ms=300))
    stored = TypeAdapter(Sample)

    assert stored.validate_json(stored.dump_json(taken)) == taken


def _combs(path: str) -> float:
    grey = read_jpeg(path).mean(axis=2)
    above, line, below = grey[:-2], grey[1:-1], grey[2:]
    odd_one_out = np.minimum(np.abs(line - above), np.abs(line - below)) - np.abs(above - below)
    return float(np.clip(odd_one_out, 0, None).mean())


class _Peak:
    def __init__(self, printed: str) -> None:
        self.looked_at, self.peak_kb = map(int, printed.split())


def _peak(path: Path, folder: Path) -> _Peak:
    folder.mkdir()
    command = [sys.executable, "-c", MEASURE, str(path), str(folder)]
    return _Peak(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
