"""What is found in each kind of film; the right answer for each is written down here."""

from __future__ import annotations

from dataclasses import asdict, replace
from fractions import Fraction
from pathlib import Path

import pytest
from pydantic import TypeAdapter

from rushes.errors import Permanent
from rushes.media import ffmpeg
from rushes.media.probe import Caps, Chapter, Source, SubtitleStream, probe
from tests.media.clips import AAC, X264, bars, clip, lavfi, tone

NTSC = Fraction(1000, 1001)
PLAIN = {
    "codec": "h264",
    "width": 320,
    "height": 180,
    "display_width": 320,
    "display_height": 180,
    "fps": Fraction(30),
    "variable": False,
    "start_ms": 0,
    "rotation": 0,
    "sar": Fraction(1),
    "interlaced": False,
    "pixel_format": "yuv420p",
    "bit_depth": 8,
    "hdr": None,
}
# clip → length in ms, frames on the grid, what differs from PLAIN, and what people are told
FILMS: dict[str, tuple[int, int, dict[str, object], tuple[str, ...]]] = {
    "fps30": (4000, 120, {}, ()),
    "fps23_976": (4004, 96, {"fps": 24 * NTSC}, ()),
    "fps59_94": (3003, 180, {"fps": 60 * NTSC}, ()),
    "vfr": (4000, 118, {"variable": True}, ("put on a constant grid of 30 frames a second",)),
    "rotated": (
        4000,
        120,
        {"rotation": 270, "display_width": 180, "display_height": 320},
        ("turned by 270° to 180x320",),
    ),
    "portrait": (
        2000,
        60,
        {"width": 180, "height": 320, "display_width": 180, "display_height": 320},
        (),
    ),
    "sar": (
        2000,
        60,
        {"width": 240, "sar": Fraction(4, 3)},
        ("stretched to square pixels, 320x180",),
    ),
    "odd": (
        2014,
        60,
        {"codec": "vp9", "width": 319, "height": 179, "display_width": 319, "display_height": 179},
        ("made even in width and height",),
    ),
    "interlaced": (2000, 50, {"fps": Fraction(25), "interlaced": True}, ("deinterlaced",)),
    "hdr": (
        2000,
        60,
        {
            "codec": "hevc",
            "pixel_format": "yuv420p10le",
            "bit_depth": 10,
            "hdr": "pq",
            "primaries": "bt2020",
            "transfer": "smpte2084",
            "matrix": "bt2020nc",
            "range": "tv",
        },
        ("converted to standard dynamic range",),
    ),
    "silent": (2000, 60, {}, ("made without sound",)),
    "one_frame": (33, 1, {}, ("made without sound",)),
    "truncated": (2466, 74, {}, ("processed as far as it goes, 2.5 s",)),
    "ts": (4032, 120, {"start_ms": 21}, ("copied into Matroska first",)),
    "damaged_ts": (
        4032,
        120,
        {"start_ms": 21},
        ("encoded in one piece", "copied into Matroska first"),
    ),
    "film": (
        5312,
        132,
        {
            "width": 1280,
            "height": 720,
            "display_width": 1280,
            "display_height": 720,
            "fps": Fraction(25),
        },
        (),
    ),
}
REFUSED = {
    "headless": "SOURCE_CORRUPT",
    "audio_only": "SOURCE_NO_VIDEO",
    "image": "SOURCE_UNSUPPORTED",
}


def made(recipe: str, target: Path) -> Path:
    lavfi(recipe, target)
    return target


def refusal(path: Path, folder: Path, caps: Caps = Caps()) -> Permanent:  # noqa: B008
    with pytest.raises(Permanent) as caught:
        probe(path, folder=folder, caps=caps)
    return caught.value


@pytest.mark.parametrize("name", FILMS)
def test_film_is_described_as_it_is(name, folder):
    duration_ms, frames, differs, words = FILMS[name]

    found = probe(clip(name), folder=folder)

    video = asdict(found.video)
    expected = PLAIN | differs | {"frames": frames}
    assert {key: video[key] for key in expected} == expected
    assert found.duration_ms == duration_ms
    assert tuple(decision.what for decision in found.decisions) == words
    assert all(decision.why for decision in found.decisions)


@pytest.mark.parametrize(
    "name", ["fps23_976", "fps59_94", "vfr", "odd", "interlaced", "one_frame", "ts", "film"]
)
def test_frames_are_those_that_the_fps_filter_makes(name, folder):
    """The plan of every chunk stands on this number: what ffmpeg makes of the grid, exactly."""
    film = clip(name)
    found = probe(film, folder=folder)
    frames_only = ("-f", "framecrc", "frames")
    rate = f"fps={found.video.fps.numerator}/{found.video.fps.denominator}"

    ffmpeg.run(
        ["-i", ffmpeg.source(film), "-an", "-vf", f"setpts=PTS-STARTPTS,{rate}", *frames_only],
        folder=folder,
        reads=[film],
    )

    lines = (folder / "frames").read_text().splitlines()
    assert len([line for line in lines if not line.startswith("#")]) == found.video.frames


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_film_is_refused_with_its_code(name, folder):
    assert refusal(clip(name), folder).error_code == REFUSED[name]


def test_description_survives_json(folder):
    found = probe(clip("hdr"), folder=folder)
    adapter = TypeAdapter(Source)

    assert adapter.validate_json(adapter.dump_json(found)) == found


def test_damage_is_named_and_decides_how_the_film_is_cut(folder):
    truncated = probe(clip("truncated"), folder=folder)
    damaged = probe(clip("damaged_ts"), folder=folder)
    whole = probe(clip("ts"), folder=folder)

    assert (truncated.damage, truncated.linear, truncated.remux) == (("truncated",), False, False)
    assert (damaged.damage, damaged.linear, damaged.remux) == (("broken packets",), True, True)
    assert (whole.damage, whole.linear, whole.remux) == ((), False, True)


@pytest.mark.parametrize("suffix", ["mkv", "avi", "flv"])
def test_end_that_is_missing_is_noticed_in_every_container(suffix, folder, tmp_path):
    film = made("-i {silent} -c copy", tmp_path / f"film.{suffix}")
    assert probe(film, folder=folder).damage == ()

    film.write_bytes(film.read_bytes()[: film.stat().st_size * 6 // 10])
    found = probe(film, folder=folder)

    assert found.damage == ("truncated",)
    assert 1000 < found.duration_ms < 1400


def test_sound_and_subtitles_and_chapters_are_described(folder, tmp_path):
    (tmp_path / "text.srt").write_text("1\n00:00:00,500 --> 00:00:01,000\nHello\n")
    (tmp_path / "chapters.txt").write_text(
        ";FFMETADATA1\n[CHAPTER]\nTIMEBASE=1/1000\nSTART=0\nEND=1000\ntitle=One\\\ntwo\n"
        "[CHAPTER]\nTIMEBASE=1/1000\nSTART=1000\nEND=2000\n"
    )
    film = made(
        f"{bars(seconds=2)} {tone(2)} -f lavfi -i anoisesrc=r=44100:d=1 -i {tmp_path}/text.srt"
        f" -i {tmp_path}/chapters.txt -map 0 -map 1 -map 2 -map 3 -map_chapters 4 {X264} {AAC}"
        " -ac:a:0 2 -ac:a:1 1 -metadata:s:a:0 language=deu -metadata:s:a:1 language=<b>"
        " -metadata:s:s:0 language=eng",
        tmp_path / "film.mkv",
    )

    found = probe(film, folder=folder)

    first, second = found.audio
    assert (first.codec, first.channels, first.layout, first.language) == (
        "aac",
        2,
        "stereo",
        "deu",
    )
    assert (second.channels, second.sample_rate, second.language) == (1, 44100, None)
    assert (first.start_ms, first.duration_ms) == (0, pytest.approx(2000, abs=25))
    assert (second.start_ms, second.duration_ms) == (0, pytest.approx(1000, abs=25))
    assert found.subtitles == (SubtitleStream(index=3, codec="ass", language="eng"),)
    assert found.chapters == (
        Chapter(start_ms=0, end_ms=1000, title="One two"),
        Chapter(start_ms=1000, end_ms=2000, title=""),
    )


def test_bits_and_brightness_are_told_apart(folder, tmp_path):
    """Ten bits alone are not HDR; HLG is, like PQ."""
    ten = f"{bars('64x36', seconds=1)} -c:v libx265 -x265-params log-level=none -pix_fmt yuv420p10"
    plain = made(ten, tmp_path / "plain.mp4")
    hlg = made(f"{ten} -vf setparams=color_trc=arib-std-b67", tmp_path / "hlg.mp4")

    plain_found, hlg_found = (probe(film, folder=folder) for film in (plain, hlg))

    assert (plain_found.video.hdr, hlg_found.video.hdr) == (None, "hlg")
    assert plain_found.decisions[0].what == "reduced to 8 bits a colour"
    assert hlg_found.decisions[0].what == "converted to standard dynamic range"


@pytest.mark.parametrize("degrees, rotation", [(-90, 90), (180, 180), (90, 270)])
def test_rotation_is_how_far_the_picture_is_turned_clockwise(degrees, rotation, folder, tmp_path):
    film = made(f"-display_rotation {degrees} -i {{silent}} -c copy", tmp_path / "film.mp4")

    assert probe(film, folder=folder).video.rotation == rotation


@pytest.mark.parametrize(
    "rate, suffix, grid, frames",
    [
        ("120", "mp4", Fraction(60), 60),
        ("120000/1001", "mkv", 60 * NTSC, 60),
        ("1000", "mp4", Fraction(1000, 17), 59),
        ("30000/1001", "mkv", 30 * NTSC, 30),
        ("25", "avi", Fraction(25), 25),
        ("25", "mpg", Fraction(25), 25),
        ("24", "flv", Fraction(24), 24),
        ("15", "mov", Fraction(15), 15),
        ("1", "mp4", Fraction(1), 1),
    ],
)
def test_rate_is_found_in_every_container(rate, suffix, grid, frames, folder, tmp_path):
    codec = "-c:v mpeg2video" if suffix == "mpg" else X264
    film = made(f"{bars('64x36', rate, 1)} {codec}", tmp_path / f"film.{suffix}")

    video = probe(film, folder=folder).video

    assert (video.fps, video.frames) == (grid, frames)
    assert not video.variable


def test_film_of_slow_pictures_keeps_its_length(folder, tmp_path):
    """One picture every 12 seconds: each is shown for that long, on a grid of one a second."""
    film = made(f"{bars('64x36', '1/12', 60)} {X264}", tmp_path / "film.mp4")

    found = probe(film, folder=folder)

    assert (found.video.fps, found.video.frames, found.duration_ms) == (1, 60, 60_000)
    assert found.damage == ()


def test_clock_that_jumps_does_not_make_the_film_longer(folder, tmp_path):
    first = made(f"{bars('64x36', '25', 2)} {X264}", tmp_path / "first.ts")
    later = made(f"{bars('64x36', '25', 2)} {X264} -output_ts_offset 5000", tmp_path / "later.ts")
    film = tmp_path / "film.ts"
    film.write_bytes(first.read_bytes() + later.read_bytes())

    found = probe(film, folder=folder)

    assert found.duration_ms == pytest.approx(4000, abs=40)
    assert "the clock jumps" in found.damage
    assert found.linear


def test_film_with_one_key_frame_is_not_cut(folder, tmp_path):
    film = made(
        f"{bars('64x36', '5', 70)} {X264} -x264-params keyint=infinite:scenecut=0",
        tmp_path / "film.mp4",
    )

    found = probe(film, folder=folder)

    assert found.linear
    assert [decision.what for decision in found.decisions][:1] == ["encoded in one piece"]


def test_song_with_a_cover_is_no_film(folder, tmp_path):
    cover = made(f"{bars()} -frames:v 1 -update 1", tmp_path / "cover.png")
    song = made(
        f"{tone(2)} -i {cover} -map 0 -map 1 {AAC} -c:v copy -disposition:v:0 attached_pic",
        tmp_path / "song.mp4",
    )

    assert refusal(song, folder).error_code == "SOURCE_NO_VIDEO"


def test_rare_codec_is_refused_by_name(folder, tmp_path):
    film = made(f"{bars(seconds=1)} -c:v magicyuv", tmp_path / "film.mkv")

    error = refusal(film, folder)

    assert error.error_code == "SOURCE_UNSUPPORTED"
    assert "magicyuv" in error.message


def test_empty_file_and_missing_file_are_told_apart(folder, tmp_path):
    empty = tmp_path / "empty.mp4"
    empty.touch()

    assert refusal(empty, folder).error_code == "SOURCE_EMPTY"
    assert refusal(tmp_path / "gone.mp4", folder).error_code == "SOURCE_MISSING"
    assert refusal(tmp_path, folder).error_code == "SOURCE_UNSUPPORTED"


@pytest.mark.parametrize(
    "caps, said",
    [
        (Caps(pixels=320 * 180 - 1), "320x180 pixels"),
        (Caps(duration_ms=3999), "0.0 hours"),
        (Caps(streams=1), "2 streams"),
        (Caps(size_bytes=1000), "409716 bytes"),
    ],
)
def test_film_above_a_cap_is_refused(caps, said, folder):
    error = refusal(clip("fps30"), folder, caps)

    assert error.error_code == "SOURCE_TOO_LARGE"
    assert said in error.message


@pytest.mark.parametrize(
    "sar, width", [("4", None), ("5", 64), ("1/3", 21), ("1000000/999999", 64)]
)
def test_pixels_cannot_be_stretched_beyond_the_cap(sar, width, folder, tmp_path):
    film = made(f"{bars('64x36', seconds=1)} -vf setsar={sar} {X264}", tmp_path / "film.mp4")
    caps = Caps(pixels=100 * 36)

    if width is None:
        assert refusal(film, folder, caps).error_code == "SOURCE_TOO_LARGE"
    else:
        assert probe(film, folder=folder, caps=caps).video.display_width == width


def test_film_at_its_caps_is_let_in(folder):
    caps = Caps(pixels=320 * 180, duration_ms=4000, streams=2, size_bytes=409_716)

    assert probe(clip("fps30"), folder=folder, caps=caps).video.frames == 120


def test_film_is_read_by_what_it_is_and_not_by_its_name(folder, tmp_path):
    film = tmp_path / "film.txt"
    film.write_bytes(clip("odd").read_bytes())

    assert probe(film, folder=folder).container == "matroska"


def test_nothing_is_left_in_the_folder(folder):
    probe(clip("fps30"), folder=folder)

    assert list(folder.iterdir()) == []


def test_caps_are_values():
    assert replace(Caps(), streams=1).pixels == 8192 * 4320
