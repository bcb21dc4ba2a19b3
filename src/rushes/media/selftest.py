"""Shows what an ffmpeg can really do here: by making a few frames with each encoder.

An encoder that is listed may still lack its driver, its device or its licence.
"""

from __future__ import annotations

import tempfile
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
OPTIONAL = ("libx265", "libsvtav1", "libvpx-vp9", "h264_nvenc", "h264_qsv")
SMALLEST_BYTES = 500


def checks(binary: Ffmpeg) -> tuple[Check, ...]:
    """Try everything that is needed, and every further encoder that is built in."""
    built_in = [name for name in OPTIONAL if name in ffmpeg.encoders(binary)]
    attempts = REQUIRED | {name: (*PICTURE, "-c:v", name, "out.mkv") for name in built_in}
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
