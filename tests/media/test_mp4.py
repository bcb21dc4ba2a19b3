"""The boxes: what ffmpeg and we write is read as it is, and nothing broken passes for whole."""

from __future__ import annotations

import io
from contextlib import suppress
from pathlib import Path

import av
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rushes.errors import Retryable
from rushes.media import ffmpeg
from rushes.media.mp4 import fragment
from rushes.media.mp4.init import Init, parse_init, write_init

PICTURES = "-f lavfi -i testsrc2=size=64x36:rate=25:duration=2 -c:v libx264 -g 25 -bf 2"
SOUND = "-f lavfi -i sine=sample_rate=48000:duration=2 -ac 2 -c:a aac"
FRAGMENTED = "+empty_moov+default_base_moof+negative_cts_offsets+skip_trailer"

packets = st.lists(st.binary(max_size=40), min_size=1, max_size=20)
number = st.integers(0, 2**32 - 1)


@pytest.fixture
def pictures(folder: Path) -> Path:
    return _make(folder, f"{PICTURES} -movflags {FRAGMENTED}+frag_keyframe")


@pytest.fixture
def sound(folder: Path) -> Path:
    return _make(folder, f"{SOUND} -movflags {FRAGMENTED} -frag_duration 1000000")


def _make(folder: Path, arguments: str) -> Path:
    words = f"{arguments} -use_editlist 0 -f mp4 made.mp4".split()
    ffmpeg.run(words, folder=folder, reads=[])
    return folder / "made.mp4"


def _read(path: Path) -> tuple[Init, list[fragment.Fragment]]:
    with path.open("rb") as stream:
        init = parse_init(fragment.read_init(stream))
        return init, [fragment.parse_fragment(data) for data in fragment.read_fragments(stream)]


def test_init_of_pictures_tells_codec_and_size(pictures):
    init, _ = _read(pictures)

    with av.open(str(pictures)) as container:
        config = container.streams.video[0].codec_context.extradata
    assert (init.width, init.height, init.config) == (64, 36, config)
    assert init.codecs == f"avc1.{config[1:4].hex()}"


def test_init_of_sound_tells_codec_and_rate(sound):
    init, _ = _read(sound)

    with av.open(str(sound)) as container:
        config = container.streams.audio[0].codec_context.extradata
    assert init.config == config
    assert (init.timescale, init.sample_rate, init.channels) == (48_000, 48_000, 2)
    assert init.codecs == "mp4a.40.2"


@pytest.mark.parametrize("kind", ["pictures", "sound"])
def test_init_of_our_own_says_the_same(kind, request):
    path = request.getfixturevalue(kind)
    theirs, _ = _read(path)
    with path.open("rb") as stream:
        fragment.read_init(stream)
        segments = stream.read()

    ours = write_init(theirs)

    assert parse_init(ours) == theirs
    with av.open(io.BytesIO(ours + segments)) as one, av.open(str(path)) as other:
        assert [bytes(packet) for packet in one.demux()] == [
            bytes(packet) for packet in other.demux()
        ]
        for stream, wanted in zip(one.streams, other.streams, strict=True):
            assert stream.codec_context.extradata == wanted.codec_context.extradata
            assert stream.time_base == wanted.time_base


def test_samples_are_those_that_another_reader_finds(pictures):
    init, fragments = _read(pictures)

    with av.open(str(pictures)) as container:
        found = [packet for packet in container.demux() if packet.size]
        unit = int(1 / (found[0].time_base * init.timescale))
        shift = found[0].pts  # libavformat moves the start of a file with negative offsets
    assert [fragment.sequence for fragment in fragments] == [1, 2]
    samples = [sample for fragment in fragments for sample in fragment.samples]
    times = [time for fragment in fragments for time in fragment.show_times()]
    assert [sample.size for sample in samples] == [packet.size for packet in found]
    assert [sample.is_key for sample in samples] == [packet.is_keyframe for packet in found]
    assert times == [(packet.pts - shift) // unit for packet in found]
    assert b"".join(piece for one in fragments for piece in one.pieces()) == b"".join(
        bytes(packet) for packet in found
    )


@given(pieces=packets, sequence=number, clock=st.integers(0, 2**63), duration=number)
def test_written_fragment_is_read_back(pieces, sequence, clock, duration):
    data = fragment.write_fragment(pieces, sequence=sequence, decode_time=clock, duration=duration)

    [whole] = fragment.read_fragments(io.BytesIO(data))
    read = fragment.parse_fragment(whole)
    assert list(read.pieces()) == pieces
    assert (read.sequence, read.decode_time) == (sequence, clock)
    assert {sample.duration for sample in read.samples} == {duration}
    assert all(sample.is_key for sample in read.samples)


def test_shifted_fragment_differs_in_its_place_only(pictures):
    with pictures.open("rb") as stream:
        fragment.read_init(stream)
        data = next(fragment.read_fragments(stream))

    moved = fragment.parse_fragment(fragment.shift_fragment(data, sequence=7, ticks=5_000_000_000))

    here = fragment.parse_fragment(data)
    assert (moved.sequence, moved.decode_time) == (here.sequence + 7, 5_000_000_000)
    assert (moved.samples, moved.payload) == (here.samples, here.payload)


def test_every_cut_of_a_finished_file_is_noticed():
    data = fragment.write_fragment([b"one", b"two"], sequence=1, decode_time=0, duration=1) * 2
    ends = {0, len(data) // 2, len(data)}

    for end in set(range(len(data))) - ends:
        with pytest.raises(Retryable) as caught:
            list(fragment.read_fragments(io.BytesIO(data[:end])))
        assert caught.value.error_code == "OUTPUT_INVALID"


def test_growing_file_ends_at_its_last_whole_fragment():
    data = fragment.write_fragment([b"one"], sequence=1, decode_time=0, duration=1) * 2

    for end in range(len(data)):
        found = list(fragment.read_fragments(io.BytesIO(data[:end]), growing=True))
        assert len(found) == end // (len(data) // 2)


@given(place=st.integers(0, 10_000), value=st.integers(0, 255), end=st.integers(0, 10_000))
def test_damaged_boxes_are_read_or_refused(place, value, end):
    """Whatever the bytes are, the answer is a value or OUTPUT_INVALID."""
    data = bytearray(
        fragment.write_fragment([b"one", b"two"], sequence=1, decode_time=0, duration=1)
    )
    data[place % len(data)] = value
    broken = bytes(data[: len(data) - end % 40])

    with suppress(Retryable):
        for whole in fragment.read_fragments(io.BytesIO(broken)):
            fragment.parse_fragment(whole)


@pytest.mark.parametrize("kind", ["pictures", "sound"])
def test_damaged_init_is_refused_or_makes_no_difference(kind, request):
    """What is lost in the header of ffmpeg cannot reach ours: it is missed, or it is not used."""
    path = request.getfixturevalue(kind)
    with path.open("rb") as stream:
        init = fragment.read_init(stream)
    whole = parse_init(init)
    config = init.index(whole.config)

    refused = 0
    for place in range(len(init) - 16):
        broken = init[:place] + bytes(16) + init[place + 16 :]
        try:
            same = parse_init(broken) == whole
        except Retryable:
            same, refused = False, refused + 1
        hurt = place < config + len(whole.config) and place + 16 > config
        assert not (same and hurt)
    assert refused > 200
