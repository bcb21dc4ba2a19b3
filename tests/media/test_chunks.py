"""Chunked equals whole: seams of pictures and sound that nobody can see, hear or measure."""

from __future__ import annotations

import io
from dataclasses import replace
from fractions import Fraction

import av
import numpy as np
import pytest

from rushes.errors import Permanent, Retryable, StageError
from rushes.media import ffmpeg, hls
from rushes.media.encoders import X264, Tools
from rushes.media.plan import AUDIO_RATE, PACKET_S, plan
from rushes.media.rendition import join
from tests.media.clips import clip, lavfi
from tests.media.sets import (
    SHORT,
    WHOLE,
    decode,
    decode_sound,
    difference,
    look_at,
    make,
    two_rungs,
)

NOISE = 2.0
BT709 = 1
# the clip, the frames of its grid, the chunks they are cut into
CLIPS = [
    ("fps30", 120, 3),
    ("fps23_976", 96, 3),
    ("fps59_94", 180, 2),
    ("vfr", 118, 3),
    ("rotated", 120, 3),
    ("portrait", 60, 2),
    ("sar", 60, 2),
    ("odd", 60, 2),
    ("interlaced", 50, 2),
    ("hdr", 60, 2),
    ("silent", 60, 2),
    ("one_frame", 1, 1),
    ("truncated", 74, 2),
    ("ts", 121, 3),
    ("damaged_ts", 121, 1),
    ("film", 132, 4),
]


@pytest.mark.parametrize("name, frames, chunks", CLIPS)
def test_stitched_chunks_equal_the_whole(name, frames, chunks, folder):
    """001-024: every kind of film, cut at several places, is the film that one encode makes."""
    path, source = look_at(clip(name), folder)

    stitched = make(path, source, folder / "chunks", SHORT)
    whole = make(path, source, folder / "whole", WHOLE)

    stitched.check()
    assert (stitched.grid.frames, stitched.chunks, whole.chunks) == (frames, chunks, 1)
    for part, entire in zip(stitched.pictures, whole.pictures, strict=True):
        assert part.init_sha256 == entire.init_sha256
        seen, wanted = decode(stitched.stitched(part)), decode(whole.stitched(entire))
        assert seen.complaints == wanted.complaints == []
        assert seen.first.shape == (part.height, part.width)
        assert len(seen.times) == len(wanted.times) == frames
        assert set(np.diff(seen.times)) <= {1 / stitched.grid.fps}
        assert difference(seen.small, wanted.small).max() < NOISE
    assert len(stitched.sounds) == len(source.audio)
    for sound, entire in zip(stitched.sounds, whole.sounds, strict=True):
        assert stitched.stitched(sound) == whole.stitched(entire)
        samples = decode_sound(stitched.stitched(sound))
        lasting = Fraction(len(samples), AUDIO_RATE)
        assert abs(lasting - stitched.grid.duration) < PACKET_S


def test_frame_in_the_wrong_place_is_more_than_noise(folder):
    """The measure above can tell neighbours apart; so the equality means something."""
    path, source = look_at(clip("fps30"), folder)
    made = make(path, source, folder / "whole", WHOLE, sound=False)

    small = decode(made.stitched(made.pictures[0])).small

    assert difference(small[1:], small[:-1]).min() > NOISE


def test_decoder_is_strict(folder):
    """Decoding without an error means something, too: most damage ends it."""
    path, source = look_at(clip("fps30"), folder)
    made = make(path, source, folder / "whole", WHOLE, sound=False)
    data = made.stitched(made.pictures[0])

    refused = 0
    for place in range(len(data) // 10, len(data) - 400, len(data) // 10):
        noise = bytes(byte ^ 0xA5 for byte in data[place : place + 400])
        try:
            decode(data[:place] + noise + data[place + 400 :])
        except av.FFmpegError:
            refused += 1

    assert refused >= 5


def test_rotated_film_is_upright(folder):
    lying, upright = (_first_frame(name, folder / name) for name in ("fps30", "rotated"))

    turned = [difference(np.rot90(lying, turns), upright).mean() for turns in (1, 3)]

    assert upright.shape == (320, 180)
    assert turned[0] < 10 < turned[1]


def test_fields_become_whole_frames(folder):
    def combs(frame):
        return np.abs(2 * frame[1:-1] - frame[:-2] - frame[2:]).mean()

    with av.open(str(clip("interlaced"))) as container:
        stored = next(container.decode(video=0)).reformat(format="gray").to_ndarray()

    assert combs(_first_frame("interlaced", folder / "made")) < combs(stored.astype(np.float32)) / 2


def test_hdr_film_becomes_plain_colour(folder):
    path, source = look_at(clip("hdr"), folder)
    made = make(path, source, folder / "made", WHOLE, sound=False)

    colours = {decode(made.stitched(one)).colour for one in made.pictures}

    assert colours == {("yuv420p", BT709, BT709, BT709)}


@pytest.mark.parametrize(
    "arguments", ["-c:v mjpeg -pix_fmt yuvj420p", "-c:v qtrle -pix_fmt rgb24"], ids=["full", "rgb"]
)
def test_full_range_becomes_that_of_television(arguments, folder):
    """Black is 16 and white is 235, as every player expects."""
    for colour, luma in (("black", 16), ("white", 235)):
        path = folder / f"{colour}.mov"
        lavfi(f"-f lavfi -i color={colour}:s=64x48:r=25:d=0.2 {arguments}", path)
        _, source = look_at(path, folder)
        made = make(path, source, folder / colour, WHOLE)

        with av.open(io.BytesIO(made.stitched(made.pictures[0]))) as container:
            shown = next(container.decode(video=0))

        brightness = np.frombuffer(shown.planes[0], np.uint8).reshape(48, -1)[:, :64]
        assert set(brightness.flat) <= {luma - 1, luma, luma + 1}


def _first_frame(name, folder):
    folder.mkdir()
    path, source = look_at(clip(name), folder)
    made = make(path, source, folder / "made", WHOLE, sound=False)
    return decode(made.stitched(made.pictures[0])).first


def test_sound_stays_beside_its_picture(folder):
    """A flash and a tone begin after two seconds, in a file whose sound begins late."""
    path = folder / "flash.mkv"
    lavfi(
        "-f lavfi -i color=black:s=64x36:r=25:d=2 -f lavfi -i color=white:s=64x36:r=25:d=2 "
        "-f lavfi -i anullsrc=r=44100:cl=mono:d=1 "
        "-f lavfi -i sine=frequency=1000:sample_rate=44100:duration=1 "
        "-filter_complex [0][1]concat[v];[2][3]concat=v=0:a=1,asetpts=PTS+1/TB[a] "
        "-map [v] -map [a] -c:v libx264 -c:a flac",
        path,
    )
    _, source = look_at(path, folder)
    assert [audio.start_ms for audio in source.audio] == [1000]
    made = make(path, source, folder / "made", SHORT)

    flash = decode(made.stitched(made.pictures[0])).small.mean(axis=(1, 2)) > 128
    tone = np.abs(decode_sound(made.stitched(made.sounds[0]))) > 0.05

    assert np.argmax(flash) == 50
    assert abs(np.argmax(tone) / AUDIO_RATE - 2) < 0.005
    made.check()


def test_chunks_of_two_versions_of_ffmpeg_fit_together(folder):
    """Workers need not have the same ffmpeg for their chunks to share one init."""
    if (other := ffmpeg.system()) is None:
        pytest.skip("there is no second ffmpeg on this machine")
    path, source = look_at(clip("fps30"), folder)
    made = plan(source, SHORT)

    parts = [
        hls.encode_chunk(path, _piece(source, made, n), folder=folder, tools=Tools(ffmpeg=binary))
        for n, binary in enumerate((ffmpeg.wheel(), other))
    ]

    for renditions in zip(*(part.renditions for part in parts), strict=True):
        assert [segment.number for segment in join(renditions).segments] == [0, 1, 2]


class Hasty:
    """Leaves frames out at first, as if the seek had landed behind them."""

    def __init__(self):
        self._missing = [["-frames:v", "10"]]

    def options(self, rung, grid):
        return X264().options(rung, grid) + (self._missing.pop() if self._missing else [])


def test_seek_that_lands_too_late_is_begun_further_back(folder, watch):
    path, source = look_at(clip("fps30"), folder)
    piece = _piece(source, plan(source, SHORT), 2)
    tools = Tools(encoder=Hasty(), watch=watch)

    lowest = replace(piece, rungs=piece.rungs[1:])
    [made] = hls.encode_chunk(path, lowest, folder=folder, tools=tools).renditions

    starts = [output.command[output.command.index("-ss") + 1] for output in watch.outputs]
    assert starts == ["2.000000", "0.000000"]
    assert [segment.number for segment in made.segments] == [3]


def test_one_quality_can_be_made_alone(folder):
    """000-032: a retry of one rung makes the same init and frames as the joint encode."""
    path, source = look_at(clip("fps30"), folder)
    made = plan(source, SHORT)
    both = _piece(source, made, 1)
    joint = hls.encode_chunk(path, both, folder=folder).renditions

    [alone] = hls.encode_chunk(path, replace(both, rungs=both.rungs[1:]), folder=folder).renditions

    assert alone.init_sha256 == joint[1].init_sha256
    assert [one.number for one in alone.segments] == [one.number for one in joint[1].segments]


def test_first_chunk_gets_more_threads_and_the_same_init(folder, watch):
    """Somebody waits for it; a player must still go on to the next."""
    path, source = look_at(clip("fps30"), folder)
    made = plan(source, SHORT)
    [rung, *_] = _piece(source, made, 0).rungs
    sizes = ((1920, 1080), (1280, 720), (854, 480), (640, 360))
    rungs = tuple(replace(rung, name=f"{h}p", width=w, height=h, level="4.0") for w, h in sizes)
    pieces = [replace(_piece(source, made, number), rungs=rungs) for number in (0, 1)]

    first, second = (
        hls.encode_chunk(path, piece, folder=folder, tools=Tools(watch=watch)).renditions
        for piece in pieces
    )

    commands = [list(output.command) for output in watch.outputs]
    assert [_after("-threads:v", words) for words in commands] == [
        ["4", "2", "1", "1"],
        ["2", "1", "1", "1"],
    ]
    assert [one.init_sha256 for one in first] == [one.init_sha256 for one in second]


def _after(option: str, words: list[str]) -> list[str]:
    return [words[at + 1] for at, word in enumerate(words) if word == option]


class Picky(X264):
    """Cannot encode the first rung."""

    def options(self, rung, grid):
        broken = ["-profile:v", "nonsense"] if rung.name == "180p" else []
        return [*super().options(rung, grid), *broken]


def test_last_attempt_keeps_the_rungs_that_can_be_encoded(folder):
    """000-032, 000-120: a quality that fails is reported with its error, the others are there."""
    path, source = look_at(clip("fps30"), folder)
    piece = _piece(source, plan(source, SHORT), 0)
    tools = Tools(encoder=Picky())

    with pytest.raises(StageError):
        hls.encode_chunk(path, piece, folder=folder, tools=tools)
    encoded = hls.encode_chunk(path, piece, folder=folder, separately=True, tools=tools)

    assert [rendition.name for rendition in encoded.renditions] == ["90p"]
    [failure] = encoded.failures
    assert failure.rung == "180p"
    assert failure.error_code == "FFMPEG_FAILED"


def test_required_rung_that_fails_is_an_error(folder):
    path, source = look_at(clip("fps30"), folder)
    piece = _piece(source, plan(source, SHORT), 0)
    first, second = piece.rungs
    piece = replace(piece, rungs=(replace(first, required=True), second))

    with pytest.raises(StageError):
        hls.encode_chunk(path, piece, folder=folder, separately=True, tools=Tools(encoder=Picky()))


class Full(X264):
    """Meets a full disk at the first rung."""

    def options(self, rung, grid):
        if rung.name == "180p":
            raise Retryable("the disk is full", error_code="DISK_FULL")
        return super().options(rung, grid)


def test_full_disk_is_not_the_fault_of_a_rung(folder):
    """The task fails and is tried again; nobody gets a film without its best quality for that."""
    path, source = look_at(clip("fps30"), folder)
    piece = _piece(source, plan(source, SHORT), 0)

    with pytest.raises(Retryable) as caught:
        hls.encode_chunk(path, piece, folder=folder, separately=True, tools=Tools(encoder=Full()))

    assert caught.value.error_code == "DISK_FULL"


def test_progress_of_a_chunk_reaches_its_end(folder, watch):
    path, source = look_at(clip("fps30"), folder)

    hls.encode_chunk(
        path, _piece(source, plan(source, SHORT), 1), folder=folder, tools=Tools(watch=watch)
    )

    assert watch.fractions == sorted(watch.fractions)
    assert watch.fractions[-1] == 1


def test_nothing_but_the_set_is_left_in_the_folder(folder):
    path, source = look_at(clip("fps30"), folder)
    made = make(path, source, folder / "made", SHORT)

    found = {file.relative_to(made.folder).as_posix() for file in made.folder.rglob("*.*")}

    assert found == {name for one in (*made.pictures, *made.sounds) for name in one.files}


@pytest.mark.parametrize("name", ["audio_only", "image", "headless"])
def test_what_is_no_film_is_refused_before_anything_is_encoded(name, folder):
    with pytest.raises(Permanent):
        look_at(clip(name), folder)


def _piece(source, made, index):
    return hls.Piece(
        video=source.video, grid=made.grid, chunk=made.chunks[index], rungs=two_rungs(source)
    )
