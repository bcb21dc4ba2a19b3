"""Playlists: true, complete, and growing only at their end."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from rushes.errors import Permanent
from rushes.media import playlist
from rushes.media.check import check_set
from rushes.media.plan import PACKET_S, Cut, Grid, make_grid
from rushes.media.rendition import (
    MASTER,
    Rendition,
    Segment,
    common_prefix,
    join,
    playlist_name,
    segment_name,
)

GRID = make_grid(Fraction(24), 24 * 13, Cut())
HIGH = Rendition(name="720p", codecs="avc1.64001f", init_sha256="h", width=1280, height=720,
                 segments=())  # fmt: skip
LOW = Rendition(name="360p", codecs="avc1.64001e", init_sha256="l", width=640, height=360,
                segments=())  # fmt: skip
SOUND = Rendition(name="audio/en", codecs="mp4a.40.2", init_sha256="a", channels=2, language="en",
                  segments=())  # fmt: skip


def _filled(rendition: Rendition, size: int, grid: Grid = GRID) -> Rendition:
    segments = [
        Segment(
            number=number,
            name=segment_name(rendition.name, number),
            duration=len(grid.audio_segment(number)) * PACKET_S
            if rendition.is_audio
            else len(grid.segment(number)) / grid.fps,
            size_bytes=size,
        )
        for number in range(grid.segments)
    ]
    return replace(rendition, segments=tuple(segments))


def test_media_playlist_of_a_finished_film():
    text = playlist.media(_filled(HIGH, 1000), GRID)

    assert text == (
        "#EXTM3U\n#EXT-X-VERSION:7\n#EXT-X-TARGETDURATION:6\n#EXT-X-MEDIA-SEQUENCE:0\n"
        "#EXT-X-PLAYLIST-TYPE:EVENT\n#EXT-X-INDEPENDENT-SEGMENTS\n"
        "#EXT-X-START:TIME-OFFSET=0,PRECISE=YES\n"
        '#EXT-X-MAP:URI="init.mp4"\n'
        "#EXTINF:6.000000,\n00000.m4s\n#EXTINF:6.000000,\n00001.m4s\n"
        "#EXTINF:1.000000,\n00002.m4s\n#EXT-X-ENDLIST\n"
    )


def test_growing_playlist_only_ever_gets_longer():
    """What a player has read stays true while the film is encoded."""
    whole = _filled(HIGH, 1000)

    texts = [playlist.media(whole, GRID, end=end) for end in range(GRID.segments + 1)]
    texts.append(playlist.media(whole, GRID))

    for earlier, later in pairwise(texts):
        assert later.startswith(earlier)
        assert len(later) > len(earlier)
    assert [("#EXT-X-ENDLIST" in text) for text in texts] == [False] * 4 + [True]


def test_film_that_nobody_watched_growing_is_vod():
    text = playlist.media(_filled(HIGH, 1000), GRID, vod=True)

    assert "#EXT-X-PLAYLIST-TYPE:VOD\n" in text
    assert text.endswith("#EXT-X-ENDLIST\n")


def test_master_promises_the_planned_rates_until_the_end():
    planned = {"720p": 3_500_000, "360p": 1_000_000, "audio/en": 128_000}

    text = playlist.master([HIGH, LOW, SOUND], GRID, planned=planned)

    assert text == (
        "#EXTM3U\n#EXT-X-VERSION:7\n#EXT-X-INDEPENDENT-SEGMENTS\n"
        '#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="audio",NAME="en",LANGUAGE="en",DEFAULT=YES,'
        'AUTOSELECT=YES,CHANNELS="2",URI="audio/en/playlist.m3u8"\n'
        '#EXT-X-STREAM-INF:BANDWIDTH=1128000,CODECS="avc1.64001e,mp4a.40.2",'
        'RESOLUTION=640x360,FRAME-RATE=24.000,AUDIO="audio"\n360p/playlist.m3u8\n'
        '#EXT-X-STREAM-INF:BANDWIDTH=3628000,CODECS="avc1.64001f,mp4a.40.2",'
        'RESOLUTION=1280x720,FRAME-RATE=24.000,AUDIO="audio"\n720p/playlist.m3u8\n'
    )


def test_master_tells_the_measured_rates_of_a_finished_film():
    loud = _filled(HIGH, 750_000)
    first = replace(loud.segments[0], size_bytes=1_500_000)
    loud = replace(loud, segments=(first, *loud.segments[1:]))

    text = playlist.master([loud], GRID)

    assert "BANDWIDTH=2000000,AVERAGE-BANDWIDTH=1846154," in text


def test_film_without_sound_has_no_audio_group():
    text = playlist.master([_filled(HIGH, 1000)], GRID)

    assert "AUDIO" not in text
    assert 'CODECS="avc1.64001f"' in text


def test_last_segment_of_a_few_frames_is_no_peak_of_its_own():
    calm = _filled(HIGH, 750_000)

    assert playlist.peak_bps(calm.segments, GRID.target_s) == 1_714_286  # with the one before it
    assert playlist.peak_bps(calm.segments[-1:], GRID.target_s) == 6_000_000


def test_shown_prefix_never_has_a_hole():
    """Whatever order chunks end in, all qualities show the same beginning."""
    random = Random(7)
    for _ in range(300):
        done = [_some(rendition, random) for rendition in (HIGH, LOW, SOUND)]
        numbers = [{segment.number for segment in rendition.segments} for rendition in done]

        end = common_prefix(done)

        assert all(set(range(end)) <= found for found in numbers)
        assert any(end not in found for found in numbers)


def _some(rendition: Rendition, random: Random) -> Rendition:
    whole = list(_filled(rendition, 1).segments)
    kept = random.sample(whole, random.randint(0, len(whole)))
    return replace(rendition, segments=tuple(kept))


@given(order=st.permutations(range(GRID.segments)))
def test_chunks_join_in_whatever_order_they_come(order):
    whole = _filled(HIGH, 1000)
    parts = [replace(whole, segments=(whole.segments[number],)) for number in order]

    assert join(parts) == whole


def test_chunks_with_different_inits_cannot_be_joined():
    whole = _filled(HIGH, 1000)
    parts = [replace(whole, segments=(segment,)) for segment in whole.segments]
    parts[1] = replace(parts[1], init_sha256="other")

    with pytest.raises(Permanent, match="two chunks of 720p") as caught:
        join(parts)

    assert caught.value.error_code == "OUTPUT_INVALID"


def test_rendition_survives_json():
    adapter = TypeAdapter(Rendition)
    whole = _filled(SOUND, 1000)

    assert adapter.validate_json(adapter.dump_json(whole)) == whole


RENDITIONS = [_filled(HIGH, 1000), _filled(LOW, 500), _filled(SOUND, 100)]


def _stored() -> tuple[dict[str, int], dict[str, str]]:
    """Return the sizes of the files of a whole set, and its playlists."""
    sizes = {rendition.init: 700 for rendition in RENDITIONS}
    for rendition in RENDITIONS:
        sizes |= {segment.name: segment.size_bytes for segment in rendition.segments}
    playlists = {one.name: playlist.media(one, GRID) for one in RENDITIONS}
    playlists = {playlist_name(name): text for name, text in playlists.items()}
    return sizes, {MASTER: playlist.master(RENDITIONS, GRID), **playlists}


def test_whole_set_is_accepted():
    sizes, playlists = _stored()

    check_set(GRID, RENDITIONS, sizes, playlists)


@pytest.mark.parametrize("name", sorted(_stored()[0]))
def test_file_that_is_missing_or_empty_is_noticed(name):
    sizes, playlists = _stored()

    for size in ({}, {name: 0}):
        others = {other: known for other, known in sizes.items() if other != name}
        with pytest.raises(Permanent, match=name) as caught:
            check_set(GRID, RENDITIONS, {**others, **size}, playlists)

    assert caught.value.error_code == "OUTPUT_INVALID"


def test_segment_of_another_size_is_noticed():
    sizes, playlists = _stored()

    with pytest.raises(Permanent, match=r"720p/00001.m4s is missing, empty or not the file"):
        check_set(GRID, RENDITIONS, {**sizes, "720p/00001.m4s": 999}, playlists)


@pytest.mark.parametrize("place", range(GRID.segments))
@pytest.mark.parametrize("rendition", RENDITIONS, ids=lambda one: one.name)
def test_rendition_with_a_hole_is_noticed(rendition, place):
    sizes, playlists = _stored()
    kept = [segment for segment in rendition.segments if segment.number != place]
    others = [one for one in RENDITIONS if one is not rendition]

    with pytest.raises(Permanent, match="does not have the segments 0 to 2"):
        check_set(GRID, [*others, replace(rendition, segments=tuple(kept))], sizes, playlists)


def test_sound_that_ends_two_packets_late_is_noticed():
    sizes, playlists = _stored()
    high, low, sound = RENDITIONS
    last = replace(sound.segments[-1], duration=sound.segments[-1].duration + 2 * PACKET_S)
    late = replace(sound, segments=(*sound.segments[:-1], last))

    with pytest.raises(Permanent, match=r"audio/en lasts 13\.\d+ s, the film 13\.000 s"):
        check_set(GRID, [high, low, late], sizes, playlists)


@pytest.mark.parametrize(
    "line",
    [
        *("00003.m4s", "../480p/00000.m4s", "https://example.org/00000.m4s"),
        *("../../00000.m4s", '#EXT-X-MAP:URI="other.mp4"', "/etc/passwd"),
    ],
)
def test_playlist_may_name_only_files_that_exist(line):
    sizes, playlists = _stored()
    playlists["720p/playlist.m3u8"] += f"{line}\n"

    with pytest.raises(Permanent, match="which is not there"):
        check_set(GRID, RENDITIONS, sizes, playlists)


def test_set_of_sound_alone_is_refused():
    with pytest.raises(Permanent, match="no picture"):
        check_set(GRID, [RENDITIONS[2]], *_stored())
