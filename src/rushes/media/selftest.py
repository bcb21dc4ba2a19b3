"""Shows what an ffmpeg can really do here: by making a few frames with each encoder.

An encoder that is listed may still lack its driver, its device or its licence.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path

from rushes.errors import StageError
from rushes.media import ffmpeg
from rushes.media.ffmpeg import Check, Ffmpeg

PICTURE = ("-f", "lavfi", "-i", "testsrc2=size=256x144:rate=5:duration=1")
SOUND = ("-f", "lavfi", "-i", "sine=sample_rate=48000:duration=1")
HDR = "setparams=color_primaries=bt2020:color_trc=smpte2084:colorspace=bt2020nc,format=yuv420p10"
TONEMAP = (
    f"{HDR},zscale=transfer=linear:npl=100,format=gbrpf32le,zscale=primaries=bt709,"
    "tonemap=hable,zscale=transfer=bt709:matrix=bt709:range=tv,format=yuv420p"
)
REQUIRED = {
    "libx264": (*PICTURE, "-c:v", "libx264", "-pix_fmt", "yuv420p", "out.mp4"),
    "aac": (*SOUND, "-c:a", "aac", "out.m4a"),
    "mjpeg": (*PICTURE, "-frames:v", "1", "-update", "1", "-pix_fmt", "yuvj420p", "out.jpg"),
    "tonemap": (*PICTURE, "-vf", TONEMAP, "-c:v", "libx264", "out.mp4"),
    "deinterlace": (*PICTURE, "-vf", "bwdif", "-c:v", "libx264", "out.mp4"),
}
HARDWARE = ("h264_nvenc", "h264_qsv")
OPTIONAL = ("libx265", "libsvtav1", "libvpx-vp9", *HARDWARE)
SMALLEST_BYTES = 500


def checks(binary: Ffmpeg) -> tuple[Check, ...]:
    """Try everything that is needed, and every further encoder that is built in."""
    return _checks(binary, REQUIRED | _built_in(binary, OPTIONAL))


def encoders(binary: Ffmpeg) -> tuple[Check, ...]:
    """Try only the encoders of streams and those of a graphics card: a second, not ten."""
    needed = {name: REQUIRED[name] for name in ("libx264", "aac")}
    return _checks(binary, needed | _built_in(binary, HARDWARE))


def _built_in(binary: Ffmpeg, names: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    known = ffmpeg.encoders(binary)
    return {name: (*PICTURE, "-c:v", name, "out.mkv") for name in names if name in known}


def _checks(binary: Ffmpeg, attempts: Mapping[str, tuple[str, ...]]) -> tuple[Check, ...]:
    return tuple(_attempt(binary, name, arguments) for name, arguments in attempts.items())


def _attempt(binary: Ffmpeg, name: str, arguments: tuple[str, ...]) -> Check:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        try:
            ffmpeg.run(arguments, folder=folder, reads=(), limits=ffmpeg.QUICK, ffmpeg=binary)
        except StageError as error:
            return Check(name=name, ok=False, detail=error.message)
        made = sum(path.stat().st_size for path in folder.iterdir())
    enough = made >= SMALLEST_BYTES
    return Check(name=name, ok=enough, detail="" if enough else f"made only {made} bytes")
