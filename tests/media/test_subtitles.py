"""Subtitles: SubRip and WebVTT, read strictly, and taken out of films."""

from __future__ import annotations

import pytest

from rushes.errors import Invalid
from rushes.media import subtitles
from rushes.media.probe import probe
from rushes.media.subtitles import Cue, read
from tests.media.clips import X264, bars, lavfi

SRT = b"""\xef\xbb\xbf1\r
00:00:01,000 --> 00:00:02,500\r
<i>Hello</i> {\\an8}there\r
and more\r
\r
2\r
00:01:00,000 --> 00:01:01,000\r
Bye\r
"""
VTT = (
    b"""WEBVTT - a title

NOTE nothing

STYLE
::cue { color: red }

intro
01.000 --> 02.500 align:start
""".replace(b"01.000 --> 02.500", b"00:01.000 --> 00:02.500")
    + b"<v Ann>a &lt; b\n"
)


def test_subrip_is_read_without_its_markup():
    assert read(SRT) == [Cue(1_000, 2_500, "Hello there and more"), Cue(60_000, 61_000, "Bye")]


def test_webvtt_is_read_without_notes_and_styles():
    assert read(VTT) == [Cue(1_000, 2_500, "a < b")]


@pytest.mark.parametrize(
    "content, why",
    [
        (b"", "no cue"),
        (b"WEBVTT\n\n", "no cue"),
        (b"\xff\xfe1\x00", "not UTF-8"),
        (b"hello world", "line 1 .* begins no cue"),
        (b"1\n00:00:02,000 --> 00:00:01,000\nx\n", "line 2 .* ends before"),
        (b"1\n00:00:01,000 --> 00:00:01,000\nx\n", "ends before"),
        (b"1\n00:61:02,000 --> 00:62:01,000\nx\n", "is no time"),
        (b"1\n00:00:01 --> 00:00:02\nx\n", "is no time"),
        (b"1\n00:00:01,000 --> 00:00:02,000\nx\n\nnonsense\n", "line 5 .* begins no cue"),
        (b"x" * 1_000_001, "more than 1,000,000 bytes"),
        (b"1\n00:00:01,000 --> 00:00:02,000\nx\n\n" * 20_001, "the limit is 20,000"),
    ],
)
def test_what_is_no_subtitles_is_refused_with_the_line(content: bytes, why: str):
    with pytest.raises(Invalid, match=why):
        read(content)


def test_hidden_characters_and_markup_do_not_come_in():
    """B-OCR-1."""
    [cue] = read("1\n00:00:01,000 --> 00:00:02,000\npay\x00 \u202e<script>x\n".encode())

    assert cue.text == "pay x"


def test_subtitles_in_a_film_are_taken_out(folder, tmp_path):
    (tmp_path / "text.srt").write_text("1\n00:00:00,500 --> 00:00:01,000\n<b>Hello</b>\n")
    film = tmp_path / "film.mkv"
    lavfi(
        f"{bars('64x36', seconds=2)} -i {tmp_path}/text.srt -map 0 -map 1 {X264}"
        " -c:s srt -metadata:s:s:0 language=eng",
        film,
    )
    streams = subtitles.tracks(probe(film, folder=folder))

    found = subtitles.extract(film, streams, folder=folder)

    assert [stream.language for stream in streams] == ["eng"]
    assert found == [[Cue(500, 1_000, "Hello")]]


def test_a_cue_that_cannot_be_does_not_cost_a_film_the_others(folder, tmp_path):
    """One that lasts no time is in many films."""
    (tmp_path / "text.srt").write_text(
        "1\n00:00:00,500 --> 00:00:01,000\nGood\n\n"
        "2\n00:00:01,000 --> 00:00:01,000\nno time\n\n"
        "3\n00:00:01,200 --> 00:00:01,900\nnight\n"
    )
    film = tmp_path / "film.mp4"
    lavfi(
        f"{bars('64x36', seconds=2)} -i {tmp_path}/text.srt -map 0 -map 1 {X264} -c:s mov_text",
        film,
    )

    [found] = subtitles.extract(film, subtitles.tracks(probe(film, folder=folder)), folder=folder)

    assert found == [Cue(500, 1_000, "Good"), Cue(1_200, 1_900, "night")]
