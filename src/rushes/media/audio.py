"""Encodes a sound track as one for the whole film, so that no seam is ever heard.

ffmpeg writes a file that can be read while it grows; segments are cut out of it as soon as they
are whole, on the grid of the pictures as near as packets of AAC allow. Sound that begins late,
has holes or ends early is filled with silence: it lasts as long as the pictures. Of a later chunk
all that comes before it is encoded too, and thrown away.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from rushes.media import ffmpeg
from rushes.media.check import check_audio, check_sound
from rushes.media.encoders import USUAL, Tools
from rushes.media.hls import limits, workplace
from rushes.media.mp4.box import invalid, open_made
from rushes.media.mp4.fragment import (
    Fragment,
    parse_fragment,
    read_fragments,
    read_init,
    write_fragment,
)
from rushes.media.mp4.init import parse_init, write_init
from rushes.media.plan import AUDIO_RATE, PACKET_S, PACKET_SAMPLES, Chunk, Grid
from rushes.media.rendition import Rendition, Segment, init_name, segment_name
from rushes.media.sandbox import Output, Watch
from rushes.media.source import AudioStream, Source

BITRATES = {1: 96_000, 2: 128_000}
FRAGMENT_US = 1_000_000
UNKNOWN = "und"
TARGET = "audio.mp4"
AHEAD_PACKETS = 8  # the last packets of a file are made without knowing what follows them
MP4 = (
    *("-map_metadata", "-1", "-map_chapters", "-1", "-fflags", "+bitexact"),
    *("-use_editlist", "0", "-f", "mp4", "-movflags", "+empty_moov+default_base_moof+skip_trailer"),
    *("-frag_duration", str(FRAGMENT_US), "-flush_packets", "1"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Track:
    """A sound track that will be made, and which stream of the source it is made of."""

    name: str
    index: int
    channels: int
    language: str | None = None

    @property
    def bitrate(self) -> int:
        return BITRATES[self.channels]


@dataclass(frozen=True, slots=True, kw_only=True)
class Take:
    """A chunk of a sound track: what is encoded at once."""

    track: Track
    grid: Grid
    chunk: Chunk

    @property
    def packets(self) -> int:
        """How many packets are encoded: a few beyond the chunk, but none beyond the film."""
        return self.grid.audio_segment(self.chunk.numbers.stop - 1).stop + self.ahead

    @property
    def ahead(self) -> int:
        return 0 if self.chunk.numbers.stop == self.grid.segments else AHEAD_PACKETS


def tracks(source: Source) -> tuple[Track, ...]:
    """Return the sound tracks of a film, each with a folder of its own: audio/en, audio/en-2."""
    made: dict[str, Track] = {}
    for stream in source.audio:
        track = _track(stream)
        same = sum(other.language == track.language for other in made.values())
        name = f"{track.name}-{same + 1}" if same else track.name
        made[name] = replace(track, name=name)
    return tuple(made.values())


def encode_audio(
    path: Path,
    take: Take,
    *,
    folder: Path,
    tools: Tools = USUAL,
    on_segment: Callable[[Segment], None] | None = None,
) -> Rendition:
    """Encode a chunk of a sound track into `folder`, under the names of the set.

    `on_segment` hears of each segment as soon as it is written and checked, in order.
    """
    with workplace(folder) as place:
        cutter = _Cutter(_Growing(place / TARGET), take, folder, on_segment)
        duration = take.packets * PACKET_S
        ffmpeg.run(
            _arguments(path, take),
            folder=place,
            reads=[path],
            duration_ms=int(duration * 1000),
            limits=limits(duration, urgent=take.chunk.is_urgent),
            watch=_Cutting(tools.watch, cutter),
            ffmpeg=tools.ffmpeg,
        )
        rendition = cutter.finish()
    check_audio(folder, take.grid, take.chunk.numbers, rendition)
    tools.watch.progress(1.0)
    return rendition


class _Growing:
    """The packets of a file that ffmpeg is writing, as far as they are there."""

    def __init__(self, path: Path) -> None:
        self.init = b""
        self.packets: list[bytes] = []
        self._path = path
        self._clock = 0
        self._position = 0
        self._digest = hashlib.sha256()

    def read(self, *, finished: bool = False) -> None:
        """Read what is new. A finished file must be whole, and still begin as it did before."""
        if not finished and not self._path.exists():
            return
        with open_made(self._path) as stream:
            stream.seek(self._position)
            if not self.init:
                self.init = self._seen(read_init(stream, growing=not finished))
            if self.init:
                for data in read_fragments(stream, growing=not finished):
                    self.packets += self._packets(parse_fragment(self._seen(data)))
            stream.seek(0)
            if finished and hashlib.file_digest(stream, "sha256").digest() != self._digest.digest():
                raise invalid("the sound changed after it was written")

    def _seen(self, data: bytes) -> bytes:
        self._position += len(data)
        self._digest.update(data)
        return data

    def _packets(self, fragment: Fragment) -> Iterator[bytes]:
        """Yield the packets of the next fragment, but not the very first of all.

        An encoder of AAC begins with a packet that only helps to decode the next. Without it
        packet n holds the samples from n · 1024 on, and no edit list is needed to say so.
        """
        if fragment.decode_time != self._clock:
            raise invalid("the sound has a hole, or a part of it twice")
        for sample, packet in zip(fragment.samples, fragment.pieces(), strict=True):
            if sample.duration != PACKET_SAMPLES:
                raise invalid("a packet of the sound has the wrong length")
            if self._clock:
                yield packet
            self._clock += PACKET_SAMPLES


class _Cutter:
    """Writes each segment as soon as its last packet is there."""

    def __init__(
        self,
        file: _Growing,
        take: Take,
        folder: Path,
        on_segment: Callable[[Segment], None] | None,
    ) -> None:
        self._file = file
        self._take = take
        self._folder = folder
        self._on_segment = on_segment
        self._next = 0
        self._segments: list[Segment] = []

    def advance(self, *, finished: bool = False) -> None:
        self._file.read(finished=finished)
        packets = self._file.packets
        while self._next < self._take.chunk.numbers.stop:
            wanted = self._take.grid.audio_segment(self._next)
            if len(packets) < len(wanted):
                break
            if self._next in self._take.chunk.numbers:
                self._write(wanted, packets[: len(wanted)])
            del packets[: len(wanted)]
            self._next += 1

    def finish(self) -> Rendition:
        self.advance(finished=True)
        track = self._take.track
        missing = self._take.chunk.numbers.stop - self._next
        if missing or len(self._file.packets) != self._take.ahead:
            extent = f"lacks {missing} segments" if missing else "is longer than the film"
            raise invalid(f"{track.name} {extent}")
        init = parse_init(self._file.init)
        return Rendition(
            name=track.name,
            codecs=init.codecs,
            init_sha256=hashlib.sha256(write_init(init)).hexdigest(),
            segments=tuple(self._segments),
            channels=track.channels,
            language=track.language,
        )

    def _write(self, wanted: range, packets: list[bytes]) -> None:
        number, track = self._next, self._take.track.name
        if not self._segments:
            (self._folder / track).mkdir(parents=True, exist_ok=True)
            init = write_init(parse_init(self._file.init))
            (self._folder / init_name(track)).write_bytes(init)
        name = segment_name(track, number)
        data = write_fragment(
            packets,
            sequence=number + 1,
            decode_time=wanted.start * PACKET_SAMPLES,
            duration=PACKET_SAMPLES,
        )
        (self._folder / name).write_bytes(data)
        segment = Segment(
            number=number, name=name, duration=len(wanted) * PACKET_S, size_bytes=len(data)
        )
        check_sound(self._folder, self._take.grid, segment)
        self._segments.append(segment)
        if self._on_segment is not None:
            self._on_segment(segment)


class _Cutting(Watch):
    """Cuts while ffmpeg runs, and passes everything on to the caller's own watch."""

    def __init__(self, watch: Watch, cutter: _Cutter) -> None:
        self._watch = watch
        self._cutter = cutter

    def tick(self) -> None:
        self._watch.tick()
        self._cutter.advance()

    def progress(self, fraction: float) -> None:
        self._watch.progress(fraction)

    def ran(self, output: Output) -> None:
        self._watch.ran(output)


def _track(stream: AudioStream) -> Track:
    language = (stream.language or "").lower()
    known = re.fullmatch(r"[a-z]{2,3}(-[a-z0-9]{2,8})*", language) and language != UNKNOWN
    return Track(
        name=f"audio/{language if known else UNKNOWN}",
        index=stream.index,
        channels=min(2, max(1, stream.channels)),
        language=language if known else None,
    )


def _arguments(path: Path, take: Take) -> list[str]:
    samples, track = take.packets * PACKET_SAMPLES, take.track
    times = [] if take.grid.linear else ["-copyts", "-start_at_zero"]
    layout = "mono" if track.channels == 1 else "stereo"
    chain = (
        f"aresample={AUDIO_RATE}:async=1:first_pts=0",
        f"aformat=channel_layouts={layout}",
        f"apad=whole_len={samples}",
        f"atrim=end_sample={samples}",
    )
    return [
        *(*ffmpeg.input_options(), *times, "-i", ffmpeg.source(path)),
        *("-map", f"0:{track.index}", "-af", ",".join(chain)),
        *("-c:a", "aac", "-b:a", str(track.bitrate), "-flags:a", "+bitexact", *MP4, TARGET),
    ]
