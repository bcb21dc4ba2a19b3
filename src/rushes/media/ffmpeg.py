"""Finds ffmpeg, says what it can do, and runs it: our arguments in, progress out, errors as ours.

Exit code 0 proves nothing: a full disk or a truncated file can end with it, so whoever makes a
file looks at the file. Never a shell, and never a user's string where an option could stand.
"""

from __future__ import annotations

import importlib.util
import re
import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Literal

from rushes.errors import Permanent
from rushes.media import sandbox
from rushes.media.sandbox import Limits, Output, Watch
from rushes.media.stderr import classify

__all__ = ["INPUT_FORMATS", "PROTOCOLS", "Check", "Ffmpeg", "choose", "classify", "encoders"]
__all__ += ["find", "input_options", "run", "self_test", "source", "system", "wheel"]

PROTOCOLS = "file"
# Never a format that names other files (hls, dash, concat, sdp, image2): the protocol whitelist
# does not stop those from reading a file of somebody else.
INPUT_FORMATS = ",".join(
    (
        *("mov", "mp4", "m4a", "3gp", "3g2", "mj2", "matroska", "webm", "avi", "mpegts", "mpeg"),
        *("flv", "asf", "ogg", "mxf", "wav", "mp3", "aac", "flac"),
    )
)
VIDEO_DECODERS = (
    *("h264", "hevc", "av1", "libdav1d", "libaom-av1", "vp8", "vp9", "libvpx", "libvpx-vp9"),
    *("mpeg1video", "mpeg2video", "mpeg4", "msmpeg4v1", "msmpeg4v2", "msmpeg4", "h263", "flv"),
    *("wmv1", "wmv2", "wmv3", "vc1", "theora", "mjpeg", "prores", "dnxhd", "dvvideo", "ffv1"),
    *("rawvideo", "v210", "huffyuv", "ffvhuff", "utvideo", "qtrle", "cinepak", "svq3", "rpza"),
)
AUDIO_DECODERS = (
    *("aac", "aac_latm", "mp3", "mp3float", "mp2", "mp2float", "mp1", "mp1float", "ac3", "eac3"),
    *("dca", "truehd", "mlp", "opus", "libopus", "vorbis", "libvorbis", "flac", "alac"),
    *("wmav1", "wmav2", "wmapro", "amrnb", "amrwb", "libopencore_amrnb", "libopencore_amrwb"),
    *("pcm_s16le", "pcm_s16be", "pcm_s24le", "pcm_s24be", "pcm_s32le", "pcm_s32be"),
    *("pcm_f32le", "pcm_f32be", "pcm_f64le", "pcm_u8", "pcm_s8", "pcm_alaw", "pcm_mulaw"),
    *("pcm_bluray", "pcm_dvd", "adpcm_ms", "adpcm_ima_wav", "adpcm_ima_qt", "adpcm_swf"),
    *("nellymoser", "speex", "libspeex", "gsm", "gsm_ms", "qdm2", "mace3", "mace6"),
)
DECODERS = ",".join((*VIDEO_DECODERS, *AUDIO_DECODERS))
MAX_ALLOC_BYTES = 1024**3
OLDEST = (5, 1)
NEEDED_ENCODERS = frozenset({"libx264", "aac", "mjpeg"})
NEEDED_FILTERS = frozenset(
    (
        *("scale", "fps", "split", "trim", "tpad", "setpts", "setsar", "setparams", "format"),
        *("bwdif", "zscale", "tonemap", "aresample", "aformat", "apad", "atrim", "asetpts"),
    )
)
OPTIONS = (
    *("-hide_banner", "-nostdin", "-nostats", "-loglevel", "warning", "-y"),
    *("-max_alloc", str(MAX_ALLOC_BYTES), "-stats_period", "0.25", "-progress", "pipe:1"),
)
# ffmpeg 5 ends with 0 although the end of the file could not be written
DISK_FULL = re.compile("No space left on device|Disk quota exceeded")
QUICK = Limits(wall_s=60, cpu_s=60)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ffmpeg:
    """One ffmpeg on this machine."""

    path: str
    version: str
    source: Literal["system", "wheel"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing that ffmpeg must be able to do, and whether it did it."""

    name: str
    ok: bool
    detail: str = ""


_chosen: Ffmpeg | None = None
_looking = Lock()  # two threads that begin together would each ask all over


def find(path: Path | None = None) -> Ffmpeg:
    """Return the ffmpeg to use: the given or chosen one, the system's if complete, the wheel's."""
    with _looking:
        found = _inspect(str(path), "system") if path else _chosen or _complete_system() or wheel()
    if found is None and path:
        raise Permanent(f"{path} is not an ffmpeg that runs here", error_code="ENCODER_UNAVAILABLE")
    if found is None:
        raise Permanent(
            "there is no complete ffmpeg on this machine",
            error_code="ENCODER_UNAVAILABLE",
            hint="install ffmpeg 5.1 or newer with libx264 and zscale, or rushes[ffmpeg]",
        )
    return found


def choose(ffmpeg: Ffmpeg | None) -> None:
    """Make `find` return this one from now on, in this process; None: the machine's best."""
    global _chosen  # noqa: PLW0603  the operator's choice holds for the process
    _chosen = ffmpeg


def system() -> Ffmpeg | None:
    """Return the system's ffmpeg, complete or not."""
    path = shutil.which("ffmpeg")
    return _inspect(path, "system") if path else None


def wheel() -> Ffmpeg | None:
    """Return the ffmpeg of the package imageio-ffmpeg, if it is installed."""
    package = importlib.util.find_spec("imageio_ffmpeg")
    folders = (package.submodule_search_locations if package else None) or []
    binaries = (path for folder in folders for path in Path(folder).glob("binaries/ffmpeg-*"))
    path = next(binaries, None)
    return _inspect(str(path), "wheel") if path else None


@cache
def encoders(ffmpeg: Ffmpeg) -> frozenset[str]:
    """Return the encoders that were built in; `self_test` says which of them work here."""
    return _names(_ask(ffmpeg.path, "-encoders"))


def self_test(ffmpeg: Ffmpeg) -> tuple[Check, ...]:
    """Encode a few frames with each encoder that may be used, and look at the files."""
    from rushes.media.selftest import checks

    return checks(ffmpeg)


def input_options() -> list[str]:
    """Return what must stand before `-i` of every foreign file."""
    return [
        *("-protocol_whitelist", PROTOCOLS, "-format_whitelist", INPUT_FORMATS),
        *("-codec_whitelist", DECODERS),
    ]


def source(path: Path) -> str:
    """Return a name that ffmpeg can only take for this very file."""
    return f"file:{path.absolute()}"


def run(  # noqa: PLR0913  what to run, and where
    arguments: Sequence[str],
    *,
    folder: Path,
    reads: Sequence[Path],
    duration_ms: int | None = None,
    limits: Limits = sandbox.USUAL,
    watch: Watch = sandbox.SILENT,
    ffmpeg: Ffmpeg | None = None,
) -> Output:
    """Run ffmpeg inside its walls; raise what `classify` makes of a failure.

    `duration_ms` is the length of what is being made, for `watch.progress`.
    """
    binary = (ffmpeg or find()).path
    output = sandbox.run(
        [binary, *OPTIONS, *arguments],
        folder=folder,
        reads=reads,
        limits=limits,
        watch=watch,
        on_line=_progress(watch, duration_ms),
    )
    sandbox.check(output)
    if output.exit_code != 0 or DISK_FULL.search(output.stderr):
        raise classify(output.stderr, output.exit_code)
    return output


def _progress(watch: Watch, duration_ms: int | None) -> Callable[[str], None]:
    def read(line: str) -> None:
        key, _, value = line.partition("=")
        if key == "out_time_us" and duration_ms and value.strip().isdigit():
            watch.progress(min(1.0, int(value) / (duration_ms * 1000)))

    return read


def _complete_system() -> Ffmpeg | None:
    ffmpeg = system()
    return ffmpeg if ffmpeg and not _lacks(ffmpeg) else None


@cache
def _lacks(ffmpeg: Ffmpeg) -> frozenset[str]:
    """Return what is missing for our work; a build without a release number counts as new."""
    missing = (NEEDED_ENCODERS - encoders(ffmpeg)) | (
        NEEDED_FILTERS - _names(_ask(ffmpeg.path, "-filters"))
    )
    release = re.match(r"n?(\d+)\.(\d+)", ffmpeg.version)
    if release and (int(release[1]), int(release[2])) < OLDEST:
        missing |= {f"version {'.'.join(map(str, OLDEST))}"}
    return missing


@cache
def _inspect(path: str, source: Literal["system", "wheel"]) -> Ffmpeg | None:
    found = re.match(r"ffmpeg version (\S+)", _ask(path, "-version"))
    return Ffmpeg(path=path, version=found[1], source=source) if found else None


def _ask(path: str, question: str) -> str:
    lines: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        sandbox.run(
            [path, "-hide_banner", question],
            folder=Path(folder),
            limits=QUICK,
            on_line=lines.append,
        )
    return "\n".join(lines)


def _names(listing: str) -> frozenset[str]:
    """Read the second column of what `-encoders` and `-filters` print."""
    return frozenset(re.findall(r"^ [A-Z.|]+ +(\w[\w-]*) ", listing, re.MULTILINE))
