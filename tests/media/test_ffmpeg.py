"""Which ffmpeg is used, what it can do, how it runs, and what its last words mean."""

from __future__ import annotations

from pathlib import Path

import pytest

from rushes.errors import Permanent, Retryable, StageError, ToolFailed
from rushes.media import ffmpeg
from rushes.media.ffmpeg import Ffmpeg, input_options, source
from rushes.media.sandbox import Limits
from tests.media.clips import clip

BARS = ("-f", "lavfi", "-i", "testsrc2=size=64x36:rate=5:duration=1")


def program(path: Path, script: str) -> Path:
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def read(name: str, *output: str, folder: Path) -> None:
    film = clip(name)
    ffmpeg.run([*input_options(), "-i", source(film), *output], folder=folder, reads=[film])


@pytest.fixture
def unchosen() -> None:
    ffmpeg.choose(None)


@pytest.mark.usefixtures("unchosen")
def test_machine_without_ffmpeg_uses_the_wheel(monkeypatch, wheel):
    monkeypatch.setenv("PATH", "/nowhere")

    assert ffmpeg.find() == wheel
    assert wheel.source == "wheel"


@pytest.mark.usefixtures("unchosen")
def test_incomplete_system_ffmpeg_is_passed_over(monkeypatch, tmp_path, wheel):
    program(tmp_path / "ffmpeg", "echo ffmpeg version 6.0 Copyright; echo ' V..... libx264 x'")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")

    assert ffmpeg.system() == Ffmpeg(path=str(tmp_path / "ffmpeg"), version="6.0", source="system")
    assert ffmpeg.find() == wheel


@pytest.mark.usefixtures("unchosen")
@pytest.mark.parametrize("version, is_taken", [("4.4.1", False), ("5.1", True), ("N-1-g2", True)])
def test_system_ffmpeg_must_be_new_enough(version, is_taken, monkeypatch, tmp_path):
    names = ffmpeg.NEEDED_ENCODERS | ffmpeg.NEEDED_FILTERS
    program(
        tmp_path / "ffmpeg",
        "\n".join(
            [f"echo ffmpeg version {version} x", *(f"echo ' V.. {name} x'" for name in names)]
        ),
    )
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")

    assert (ffmpeg.find().version == version) is is_taken


def test_given_path_wins_over_everything(tmp_path):
    mine = program(tmp_path / "mine", "echo ffmpeg version 9.9 x")

    assert ffmpeg.find(mine).version == "9.9"


@pytest.mark.usefixtures("unchosen")
def test_system_ffmpeg_that_does_not_run_is_passed_over(monkeypatch, tmp_path, wheel):
    program(tmp_path / "ffmpeg", "exit 127")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")

    assert ffmpeg.system() is None
    assert ffmpeg.find() == wheel


def test_program_that_is_no_ffmpeg_is_refused(tmp_path):
    with pytest.raises(Permanent) as caught:
        ffmpeg.find(program(tmp_path / "other", "echo hello"))

    assert caught.value.error_code == "ENCODER_UNAVAILABLE"


def test_encoders_are_read(wheel):
    found = ffmpeg.encoders(wheel)

    assert {"libx264", "aac", "mjpeg", "libx265"} <= found
    assert "h264_nvenc" not in found


def test_self_test_of_the_wheel_finds_everything_working(wheel):
    checks = {check.name: check.ok for check in ffmpeg.self_test(wheel)}

    assert (
        checks.items()
        >= dict.fromkeys(("libx264", "aac", "mjpeg", "tonemap", "deinterlace"), True).items()
    )


def test_self_test_is_not_fooled_by_exit_code_0(tmp_path, wheel):
    """A wrapper that says yes to everything and makes nothing."""
    idle = program(tmp_path / "idle", "echo ffmpeg version 7.0 x; exit 0")

    checks = ffmpeg.self_test(ffmpeg.find(idle))

    assert checks
    assert not any(check.ok for check in checks)


def test_progress_grows_to_the_end(folder, watch, wheel):
    film = clip("fps30")

    output = ffmpeg.run(
        [*input_options(), "-i", source(film), "-c:v", "libx264", "out.mp4"],
        folder=folder,
        reads=[film],
        duration_ms=4000,
        watch=watch,
    )

    assert watch.fractions == sorted(watch.fractions)
    assert watch.fractions[-1] > 0.95
    assert all(0 <= fraction <= 1 for fraction in watch.fractions)
    assert output.command[0] == wheel.path
    assert (folder / "out.mp4").stat().st_size > 10_000


def test_transport_stream_is_read(folder):
    """The static build crashes on it without GCONV_PATH."""
    read("ts", "-c", "copy", "out.mkv", folder=folder)

    assert (folder / "out.mkv").stat().st_size > 100_000


@pytest.mark.parametrize(
    "name, output, kind, code",
    [
        ("headless", ["out.mkv"], Permanent, "SOURCE_CORRUPT"),
        ("image", ["out.mkv"], Permanent, "SOURCE_UNSUPPORTED"),
        ("audio_only", ["-map", "0:v", "out.mkv"], Permanent, "SOURCE_NO_VIDEO"),
        ("silent", ["-c:v", "libnothing", "out.mkv"], Permanent, "ENCODER_UNAVAILABLE"),
        ("silent", ["-vf", "nothing", "out.mkv"], Permanent, "FFMPEG_FAILED"),
        ("silent", ["-f", "mpegts", "/dev/full"], Retryable, "DISK_FULL"),
        ("silent", ["-vf", "scale=16000:16000", "out.mkv"], Permanent, "SOURCE_TOO_LARGE"),
        ("silent", ["-c:v", "libx264", "-crf", "x", "out.mkv"], ToolFailed, "FFMPEG_FAILED"),
    ],
)
def test_failure_becomes_one_of_our_codes(name, output, kind, code, folder):
    film = clip(name)

    with pytest.raises(StageError) as caught:
        ffmpeg.run(
            [*input_options(), "-i", source(film), *output],
            folder=folder,
            reads=[film],
            limits=Limits(memory_bytes=500 << 20),
        )

    assert (type(caught.value), caught.value.error_code) == (kind, code), caught.value.detail
    assert caught.value.detail["stderr"]


def test_last_lines_are_kept():
    error = ffmpeg.classify("\n".join(f"line {n}" for n in range(100)), 1)

    assert error.error_code == "FFMPEG_FAILED"
    assert error.detail == {
        "exit_code": 1,
        "stderr": "\n".join(f"line {n}" for n in range(80, 100)),
    }
