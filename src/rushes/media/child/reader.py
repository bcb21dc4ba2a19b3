"""Opens a foreign film with PyAV. Only a child of the sandbox does this.

The format whitelist keeps playlists out, which would open other files; the decoder whitelist the
rare decoders, in which most holes are found; `max_pixels` a picture that is only large.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rushes.errors import Permanent, StageError
from rushes.media import ffmpeg, magic
from rushes.media.stderr import classify

if TYPE_CHECKING:
    from av.container import InputContainer
    from av.packet import Packet
    from av.stream import Stream

Complaints = list[tuple[int, str, str]]
SEND_AGAIN = "play it in another program to see whether it is whole, and send it again"


def open_film(path: str, *, max_pixels: int) -> InputContainer:
    """Open a film, or raise what is wrong with it as one of our errors."""
    import av

    for_decoders = {"max_pixels": str(max_pixels), "codec_whitelist": ffmpeg.DECODERS}
    whitelists = {
        "protocol_whitelist": ffmpeg.PROTOCOLS,
        "format_whitelist": ffmpeg.INPUT_FORMATS,
    }
    with complaints() as heard:
        try:
            container = av.open(
                f"file:{path}", options=whitelists | for_decoders, metadata_errors="replace"
            )
        except (av.FFmpegError, OSError) as error:
            raise _refusal(path, error, heard) from error
    check_size(heard)
    for stream in container.streams.video:
        if stream.codec_context is not None:
            stream.codec_context.options = for_decoders
    return container


def packets(container: InputContainer, *streams: Stream) -> Iterator[Packet[Any]]:
    """Yield every packet that can be read; a read error is the end of the film."""
    import av

    read = container.demux(*streams)
    while True:
        try:
            packet = next(read)
        except (StopIteration, av.FFmpegError):
            return
        yield packet


@contextmanager
def complaints() -> Iterator[Complaints]:
    """Collect what the libraries complain about meanwhile: level, who, what."""
    import av.logging

    av.logging.set_level(av.logging.ERROR)
    with av.logging.Capture(local=False) as heard:
        try:
            yield heard
        finally:
            av.logging.set_level(None)


def check_size(heard: Complaints) -> None:
    """Raise for a picture that the decoder refused as too large: its size is lost by then."""
    error = classify(_text(heard), 1)
    if error.error_code == "SOURCE_TOO_LARGE":
        raise error


def _text(heard: Complaints) -> str:
    return "".join(what for _, _, what in heard)


def _refusal(path: str, error: Exception, heard: Complaints) -> StageError:
    """Say what is wrong with a file that no reader could open."""
    meaning = classify(f"{_text(heard)}\n{error}", 1)
    if heard and not meaning.retryable:
        return meaning
    with Path(path).open("rb") as file:
        known = magic.film(file.read(32))
    if known:
        return Permanent("the film is damaged", error_code="SOURCE_CORRUPT", hint=SEND_AGAIN)
    return Permanent("this is not a film", error_code="SOURCE_UNSUPPORTED", hint=magic.SEND)
