"""The filters that make an odd source ordinary: progressive, square, SDR, at a constant rate.

Rotation is missing on purpose: ffmpeg turns the frames by itself before any of these.
"""

from __future__ import annotations

from fractions import Fraction

from rushes.media.source import VideoStream

DEINTERLACE = "bwdif=mode=send_frame:parity=auto:deint=all"
HDR = {"pq": "smpte2084", "hlg": "arib-std-b67"}
WHITE = 203  # cd/m² of white in HDR, by ITU-R BT.2408
# what a stream may say of its colours that is passed on; all else is passed on as unknown
PRIMARIES = frozenset({"bt709", "bt470m", "bt470bg", "smpte170m", "smpte240m", "bt2020"})
TRANSFERS = frozenset({"bt709", "smpte170m", "smpte240m", "iec61966-2-1", "bt2020-10", "bt2020-12"})
MATRICES = frozenset({"bt709", "fcc", "bt470bg", "smpte170m", "smpte240m", "bt2020nc"})


def deinterlace(video: VideoStream) -> list[str]:
    """Return the filter that makes whole frames of fields. It must see all of them."""
    return [DEINTERLACE] if video.interlaced else []


def resize(video: VideoStream, width: int, height: int) -> list[str]:
    """Return the filters for a picture of that size: square pixels, the range of television."""
    sideways = video.rotation in {90, 270}
    stored = (video.height, video.width) if sideways else (video.width, video.height)
    options = [f"w={width}:h={height}"] if stored != (width, height) else []
    options += ["out_color_matrix=bt709"] if _is_rgb(video) else []
    options += ["out_range=tv"] if video.range == "pc" or _is_rgb(video) else []
    return [*([f"scale={':'.join(options)}"] if options else []), "setsar=1"]


def standard_colour(video: VideoStream) -> list[str]:
    """Return the filters that lead to 8-bit 4:2:0 in SDR, and say so in every frame.

    What frames say of their colours ends in the init that all chunks share, so it is set here and
    not left to the frame that a chunk happens to begin with.
    """
    if video.hdr is None:
        return ["format=yuv420p", _said(video)]
    return [
        f"zscale=tin={HDR[video.hdr]}:pin=bt2020:min=bt2020nc:t=linear:npl={WHITE}",
        *("format=gbrpf32le", "zscale=p=bt709", "tonemap=tonemap=hable:desat=0"),
        *("zscale=t=bt709:m=bt709:r=tv", "format=yuv420p", _parameters("bt709", "bt709", "bt709")),
    ]


def ratio(value: Fraction) -> str:
    return f"{value.numerator}/{value.denominator}"


def _said(video: VideoStream) -> str:
    return _parameters(
        video.primaries if video.primaries in PRIMARIES else None,
        video.transfer if video.transfer in TRANSFERS else None,
        "bt709" if _is_rgb(video) else video.matrix if video.matrix in MATRICES else None,
    )


def _parameters(primaries: str | None, transfer: str | None, matrix: str | None) -> str:
    return (
        f"setparams=range=tv:color_primaries={primaries or 'unknown'}"
        f":color_trc={transfer or 'unknown'}:colorspace={matrix or 'unknown'}"
    )


def _is_rgb(video: VideoStream) -> bool:
    return any(name in video.pixel_format for name in ("rgb", "bgr", "gbr", "pal8"))
