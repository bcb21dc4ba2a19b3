"""Clips: the very frames that were asked for, the sound in step, and nothing unchecked."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import av
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from rushes.errors import Invalid, Retryable
from rushes.media import ffmpeg
from rushes.media.clip import (
    Clip,
    Mode,
    Window,
    clip_key,
    cut,
    fast_start,
    film_end_ms,
    first_frame,
    frame_ms,
    frame_range,
    window,
)
from rushes.media.probe import probe
from rushes.media.source import Source
from tests.media.clips import RECIPES, clip
from tests.media.numbered import CLICKS_S, FPS, SOUND_RATE, numbered, numbers_of

WANTED = Window(start_ms=710, end_ms=2_930)
TIMES = st.integers(-5_000, 50_000)
RATES = st.sampled_from([Fraction(*one) for one in ((25, 1), (30_000, 1001), (16, 1), (120, 1))])

WRAPPER = """#!/bin/sh
"{real}" "$@" || exit $?
for file; do :; done
{damage}
exit 0
"""
AGAIN = '"{real}" -v error -nostdin -y -i "$file"'
DAMAGES = {
    "loses the last frames": f'{AGAIN} -c copy -frames:v 40 new.mp4; mv new.mp4 "$file"',
    "loses the sound": f'{AGAIN} -c copy -an -movflags faststart new.mp4; mv new.mp4 "$file"',
    "puts the index at the end": f'{AGAIN} -c copy new.mp4; mv new.mp4 "$file"',
    "runs too slow": f"{AGAIN} -c copy -bsf:v setts=ts=TS*2 -movflags faststart new.mp4;"
    ' mv new.mp4 "$file"',
    "has another size": f"{AGAIN} -vf scale=96:54 -c:a copy -movflags faststart new.mp4;"
    ' mv new.mp4 "$file"',
    "is cut in the middle": 'truncate -s 9000 "$file"',
    "has a hole": 'dd if=/dev/zero of="$file" bs=1 seek=8000 count=400 conv=notrunc status=none',
    "is empty": ': > "$file"',
    "is not there": 'rm "$file"',
}


def at_rate(fps: str, *options: str) -> Callable[[Path], None]:
    return numbered("-vf", f"setpts=N/({fps})/TB", "-r", fps, *options)


LOOPS = 1_800
RECIPES |= {
    "numbered_24": ("mp4", at_rate("24000/1001")),
    "numbered_25": ("mp4", at_rate("25", "-bf", "3")),
    "numbered_29_97": ("mp4", at_rate("30000/1001")),
    "numbered_open": ("mp4", numbered("-x264-params", "open-gop=1:keyint=30:bframes=3")),
    "numbered_plain": ("mp4", numbered("-g", "30", "-bf", "0", "-an")),
    "numbered_two_hours": ("mp4", f"-stream_loop {LOOPS - 1} -i {{numbered_plain}} -c copy"),
    "numbered_one_key_ts": ("ts", "-i {numbered_one_key} -c copy"),
    "numbered_silent": ("mp4", "-i {numbered} -c copy -an"),
}


@cache
def film(name: str) -> tuple[Path, Source]:
    with TemporaryDirectory() as folder:
        return clip(name), probe(clip(name), folder=Path(folder))


def make(name: str, folder: Path, wanted: Window = WANTED, mode: Mode = Mode.EXACT) -> Clip:
    path, source = film(name)
    return cut(path, source, wanted, target=folder / "clip.mp4", mode=mode)


def clicks_of(path: str) -> list[float]:
    """Return when the sound becomes loud, in seconds, as a player would hear it."""
    times: list[float] = []
    with av.open(path) as container:
        stream = container.streams.audio[0]
        for frame in container.decode(stream):
            loud = np.flatnonzero(np.abs(frame.to_ndarray()[0]) > 0.2)
            times += [float(frame.time) + place / SOUND_RATE for place in loud]
    return [time for last, time in zip([-1.0, *times], times, strict=False) if time - last > 0.1]


@pytest.mark.parametrize(
    "name, first, last",
    [
        ("numbered", 22, 87),
        ("numbered_one_key", 22, 87),
        ("numbered_open", 22, 87),
        ("numbered_rotated", 22, 87),
        ("numbered_silent", 22, 87),
        ("numbered_remuxed", 21, 86),
        ("numbered_24", 18, 70),
        ("numbered_25", 18, 73),
        ("numbered_29_97", 22, 87),
    ],
)
def test_an_exact_clip_begins_and_ends_with_the_frames_of_its_window(name, first, last, folder):
    """002-039, 002-040: cut from the original, by its frames, to an MP4."""
    made = make(name, folder)

    fps = film(name)[1].video.fps
    assert numbers_of(made.path) == list(range(first, last + 1))
    assert made.frames == last + 1 - first
    assert (made.width, made.height) == (192, 108)
    assert made.audio is (name != "numbered_silent")
    assert made.start_ms - 1000 / fps < WANTED.start_ms <= made.start_ms
    assert made.end_ms - 1000 / fps <= WANTED.end_ms <= made.end_ms


def test_a_picture_that_began_long_before_the_clip_is_its_first(folder):
    """Variable frame rate: frame 44 is shown until frame 76."""
    made = make("numbered_vfr", folder, Window(start_ms=2_000, end_ms=2_700))

    assert numbers_of(made.path) == [44] * 16 + [76] * 4 + [80]


def test_a_seek_that_lands_too_late_is_begun_again_further_back(folder, watch):
    """MPEG-TS has no index: ffmpeg finds no key frame where the only one is 3 s back."""
    path, source = film("numbered_one_key_ts")
    wanted = Window(start_ms=3_021, end_ms=3_521)

    made = cut(path, source, wanted, target=folder / "clip.mp4", watch=watch)

    assert numbers_of(made.path) == list(range(90, 105))
    assert sum("-filter_complex" in output.command for output in watch.outputs) == 2


def test_the_cost_of_a_clip_is_that_of_its_length(folder):
    """002-040: of two hours, 5 s near the end are read from a key frame just before."""
    path, source = film("numbered_two_hours")
    first, end = 120 * (LOOPS - 3) + 37, 120 * (LOOPS - 3) + 187
    wanted = Window(start_ms=frame_ms(first, source.video.fps), end_ms=frame_ms(end, Fraction(FPS)))

    made = cut(path, source, wanted, target=folder / "clip.mp4")

    assert numbers_of(made.path) == [number % 120 for number in range(first, end)]
    assert decoded(made) <= made.frames + 4 * FPS


def decoded(made: Clip) -> int:
    """Return how many frames of the film the command of a clip decodes, by running it again."""
    command = [*made.provenance.command[:-1], str(Path(made.path).with_name("again.mp4"))]
    command[command.index("-loglevel") + 1] = "verbose"
    told = subprocess.run(command, capture_output=True, text=True, check=True).stderr
    [counted] = re.findall(r"Input stream #0:0 \(video\): .* (\d+) frames decoded", told)
    return int(counted)


@given(TIMES, TIMES, RATES)
def test_clips_that_meet_share_no_frame_and_lose_none(start_ms, end_ms, fps):
    """C32: whoever asks for what a clip says of itself gets the same clip."""
    start, end = first_frame(start_ms, fps), first_frame(end_ms, fps)

    assert all(first_frame(frame_ms(number, fps), fps) == number for number in (start, end))
    assert frame_ms(start, fps) >= start_ms
    assert start == 0 or frame_ms(start - 1, fps) < start_ms


def test_a_window_between_two_frames_is_refused():
    """B-HTTP-7: nothing is left of it, so nothing is made; the very last frame can be had."""
    source = film("numbered")[1]

    assert frame_range(source, Window(start_ms=701, end_ms=734)) == range(22, 23)
    assert frame_range(source, Window(start_ms=3_967, end_ms=film_end_ms(source)))[-1] == 119
    for start_ms, end_ms in ((701, 732), (3_968, 4_000)):
        with pytest.raises(Invalid, match="no frame"):
            frame_range(source, Window(start_ms=start_ms, end_ms=end_ms))


@pytest.mark.parametrize("mode", Mode)
def test_sound_and_picture_stay_in_step(mode, folder):
    made = make("numbered", folder, mode=mode)

    expected = [click - made.start_ms / 1000 for click in CLICKS_S if click * 1000 > made.start_ms]
    heard = clicks_of(made.path)
    assert heard == pytest.approx(expected[: len(heard)], abs=0.004)
    assert len(heard) >= 2
    with av.open(made.path) as container:
        lengths = [stream.duration * stream.time_base for stream in container.streams]
    assert abs(lengths[0] - lengths[1]) <= Fraction(2, FPS)


def test_a_whole_film_can_be_a_clip(folder, watch):
    path, source = film("numbered")

    made = cut(
        path, source, Window(start_ms=0, end_ms=4_000), target=folder / "clip.mp4", watch=watch
    )

    assert numbers_of(made.path) == list(range(120))
    assert (made.start_ms, made.end_ms) == (0, 4_000)
    assert all(0 <= fraction <= 1 for fraction in watch.fractions)
    assert made.provenance.command[0] == ffmpeg.find().path
    assert made.provenance.tools == (f"ffmpeg {ffmpeg.find().version}",)


@pytest.mark.parametrize("name", ["odd", "sar", "interlaced", "hdr", "one_frame", "truncated"])
def test_odd_films_give_ordinary_clips(name, folder):
    _, source = film(name)
    start_ms = 0 if source.video.frames == 1 else source.duration_ms // 3
    wanted = Window(start_ms=start_ms, end_ms=source.duration_ms * 2 // 3)

    made = make(name, folder, wanted)

    assert made.frames == len(frame_range(source, wanted))
    again = probe(Path(made.path), folder=folder).video
    assert (again.codec, again.pixel_format, again.sar, again.hdr) == ("h264", "yuv420p", 1, None)
    assert (again.interlaced, again.rotation, again.fps) == (False, 0, source.video.fps)


def test_a_fast_clip_begins_where_it_was_said(folder):
    """It says so before anything is cut, and the first picture is the key frame."""
    path, source = film("numbered")
    said = fast_start(path, source, 1_710, folder=folder)

    made = make("numbered", folder, Window(start_ms=1_710, end_ms=2_930), Mode.FAST)

    found = numbers_of(made.path)
    assert said == made.start_ms == 1_000
    assert found[0] == 30
    assert found[: 88 - 30] == list(range(30, 88))
    assert found[-1] < 92
    assert made.frames == len(found)
    assert made.provenance.command[0] == "rushes.media.child.cutter:copy"


def test_a_fast_clip_at_a_key_frame_is_exact(folder):
    path, source = film("numbered")

    assert fast_start(path, source, 1_000, folder=folder) == 1_000
    assert fast_start(path, source, 999, folder=folder) == 0


@pytest.mark.parametrize("start_ms", [3_733, 3_734, 3_999])
def test_whoever_asks_for_the_start_that_was_told_gets_that_start(start_ms, folder):
    """R9: the key frame lies a third of a millisecond behind 3,733 ms."""
    path, source = film("numbered")

    assert fast_start(path, source, start_ms, folder=folder) == 3_733
    assert (
        numbers_of(
            make("numbered", folder, Window(start_ms=start_ms, end_ms=4_000), Mode.FAST).path
        )[0]
        == 112
    )


def test_a_fast_clip_ends_before_the_frame_that_begins_at_its_end(folder):
    """As an exact one does: frame 44 begins at 1,466.7 ms, which is told as 1,467."""
    made = make("numbered_plain", folder, Window(start_ms=1_000, end_ms=1_467), Mode.FAST)

    assert numbers_of(made.path) == list(range(30, 44))
    assert (made.start_ms, made.end_ms) == (1_000, 1_467)


def test_a_fast_clip_tells_where_its_last_picture_ends(folder):
    """Variable frame rate: the last picture begins at 3.867 s and lasts as long as any."""
    made = make("numbered_vfr", folder, Window(start_ms=0, end_ms=4_000), Mode.FAST)

    assert numbers_of(made.path)[-1] == 116
    assert made.end_ms == 3_900


def test_a_fast_clip_of_what_lies_before_the_first_picture_has_that_picture(folder):
    """The picture of this film begins 21 ms late."""
    made = make("numbered_remuxed", folder, Window(start_ms=0, end_ms=1), Mode.FAST)

    assert (numbers_of(made.path), made.start_ms) == ([0], 21)


def test_a_fast_clip_stays_turned(folder):
    made = make("numbered_rotated", folder, mode=Mode.FAST)

    assert probe(Path(made.path), folder=folder).video.rotation == 270


def test_what_cannot_be_copied_is_refused_with_a_way_out(folder):
    with pytest.raises(Invalid) as raised:
        make("numbered_ts", folder, mode=Mode.FAST)

    assert raised.value.hint == "cut it exactly"
    assert list(folder.iterdir()) == []


@pytest.fixture
def sabotage(folder, wheel) -> Callable[[str], None]:
    """Put an ffmpeg in place that damages what it wrote and ends with 0."""

    def put(damage: str) -> None:
        real = folder / "real"
        try:
            os.link(wheel.path, real)
        except OSError:
            shutil.copy(wheel.path, real)
        path = folder.parent / "ffmpeg"
        path.write_text(WRAPPER.format(real=real, damage=damage.format(real=real)))
        path.chmod(0o755)
        ffmpeg.choose(ffmpeg.Ffmpeg(path=str(path), version="wrapped", source="system"))

    return put


def test_a_wrapper_without_harm_is_not_noticed(folder, sabotage):
    sabotage(":")

    assert make("numbered", folder).frames == 66


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_clip_is_never_handed_out(damage, folder, sabotage):
    """Exit code 0 proves nothing."""
    sabotage(DAMAGES[damage])

    with pytest.raises(Retryable) as raised:
        make("numbered", folder)

    assert raised.value.error_code == "OUTPUT_INVALID"
    assert not (folder / "clip.mp4").exists()


@given(TIMES, TIMES, st.integers(0, 40_000), st.integers(0, 5_000))
def test_a_window_is_padded_within_the_film_or_refused(start_ms, end_ms, duration_ms, padding_ms):
    """002-039, C32: 0 ≤ start < end ≤ duration, else Invalid; then padded and clamped."""
    allowed = 0 <= start_ms < end_ms <= duration_ms
    try:
        cutting = window(start_ms, end_ms, duration_ms, padding_ms=padding_ms)
    except Invalid:
        assert not allowed
    else:
        assert allowed
        assert cutting.start_ms == max(0, start_ms - padding_ms)
        assert cutting.end_ms == min(duration_ms, end_ms + padding_ms)


def test_padding_is_two_seconds_and_length_is_limited():
    """002-038: padding_ms 2000."""
    assert window(5_000, 6_000, 60_000) == Window(start_ms=3_000, end_ms=8_000)
    with pytest.raises(Invalid, match="the limit is 5000 ms"):
        window(0, 5_001, 60_000, longest_ms=5_000)
    with pytest.raises(Invalid, match="padding"):
        window(0, 5_001, 60_000, padding_ms=-1)


def test_the_same_request_has_the_same_key():
    """C31: asset version, start, end, padding and profile make a clip; nothing else does."""
    asked = Window(start_ms=1, end_ms=23)
    base = clip_key("v1", asked, padding_ms=0, profile="exact")

    others = {
        clip_key("v2", asked, padding_ms=0, profile="exact"),
        clip_key("v1", Window(start_ms=12, end_ms=3), padding_ms=0, profile="exact"),
        clip_key("v1", asked, padding_ms=1, profile="exact"),
        clip_key("v1", asked, padding_ms=0, profile="fast"),
    }

    assert base == clip_key("v1", Window(start_ms=1, end_ms=23), padding_ms=0, profile="exact")
    assert len(others | {base}) == 5


def test_a_result_survives_being_stored(folder):
    made = make("numbered_silent", folder, mode=Mode.FAST)
    stored = TypeAdapter(Clip)

    assert stored.validate_json(stored.dump_json(made)) == made
