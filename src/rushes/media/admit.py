"""Decides which files are let in: by their first bytes, then by what their header says.

Runs in the child, before a single frame is decoded.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rushes.errors import Permanent
from rushes.media import ffmpeg, magic
from rushes.media.source import HOUR_MS, Caps

if TYPE_CHECKING:
    from av.codec.context import CodecContext
    from av.container import InputContainer
    from av.stream import Stream
    from av.video.stream import VideoStream


def check_file(path: Path, caps: Caps) -> None:
    """Refuse what need not be opened to be refused."""
    if not path.exists():
        raise Permanent("there is no such file", error_code="SOURCE_MISSING")
    if not path.is_file():
        raise Permanent("this is not a file", error_code="SOURCE_UNSUPPORTED")
    size = path.stat().st_size
    if size == 0:
        raise Permanent("the file is empty", error_code="SOURCE_EMPTY", hint="send it again")
    if size > caps.size_bytes:
        raise _too_large(f"{size} bytes", f"{caps.size_bytes}")
    with path.open("rb") as file:
        head = file.read(magic.HEAD_BYTES)
    kind = magic.picture(head)
    if kind or magic.text(head):
        what = f"a picture ({kind})" if kind else "text"
        raise Permanent(
            f"this is {what}, not a film", error_code="SOURCE_UNSUPPORTED", hint=magic.SEND
        )


def choose(container: InputContainer) -> VideoStream:
    """Take the default film, else the largest; a cover picture is no film."""
    from av.stream import Disposition

    films = [
        stream
        for stream in container.streams.video
        if not stream.disposition & Disposition.attached_pic
    ]
    if not films:
        raise Permanent("the file has no picture", error_code="SOURCE_NO_VIDEO")
    readable = [film for film in films if decodes(film, ffmpeg.VIDEO_DECODERS)]
    if not readable:
        raise Permanent(
            f"the film is coded as {codec_name(films[0])}, which is not accepted",
            error_code="SOURCE_UNSUPPORTED",
            hint="convert it to H.264 in MP4",
        )
    return max(
        readable,
        key=lambda film: (bool(film.disposition & Disposition.default), film.width * film.height),
    )


def check_header(container: InputContainer, film: VideoStream, caps: Caps) -> None:
    """Refuse what says itself that it is too large."""
    if len(container.streams) > caps.streams:
        raise _too_large(f"{len(container.streams)} streams", f"{caps.streams}")
    check_pixels(film.width, film.height, caps)
    check_duration(declared_ms(container), caps)


def check_pixels(width: int, height: int, caps: Caps) -> None:
    """Refuse a picture that is too large."""
    if width * height > caps.pixels:
        raise _too_large(f"{width}x{height} pixels", f"{caps.pixels} in all")


def check_duration(duration_ms: int, caps: Caps) -> None:
    """Refuse a film that is too long."""
    if duration_ms > caps.duration_ms:
        raise _too_large(f"{duration_ms / HOUR_MS:.1f} hours", f"{caps.duration_ms / HOUR_MS:.1f}")


def declared_ms(container: InputContainer) -> int:
    """How long the header says that the film is; it may lie."""
    return max(0, container.duration or 0) // 1000


def decodes(stream: Stream, decoders: tuple[str, ...]) -> bool:
    """Whether the stream has a decoder, and one of those."""
    context = _context(stream)
    return context is not None and context.name in decoders


def codec_name(stream: Stream) -> str:
    """Name the codec as ffmpeg does, whichever decoder reads it."""
    context = _context(stream)
    return "something unknown" if context is None else str(context.codec.canonical_name)


def _context(stream: Stream) -> CodecContext | None:
    """PyAV has none for a codec that it does not know, whatever its types say."""
    return stream.codec_context


def _too_large(found: str, most: str) -> Permanent:
    return Permanent(
        f"the file is too large: {found}, at most {most}",
        error_code="SOURCE_TOO_LARGE",
        hint="make a smaller version, or ask the operator to raise the limit",
    )
