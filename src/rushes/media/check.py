"""Reads what was made and says whether it is what was asked for. Exit code 0 proves nothing.

A chunk is checked byte by byte where it was made: boxes, key frames, and every frame's place on
the grid. A whole set is checked by its values and the sizes of its files, wherever they are.
"""

from __future__ import annotations

import hashlib
import posixpath
import re
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path

from rushes.errors import Permanent
from rushes.media.ladder import Rung
from rushes.media.mp4.box import invalid, open_made
from rushes.media.mp4.fragment import Fragment, parse_fragment, read_fragments
from rushes.media.mp4.init import Init, parse_init
from rushes.media.mp4.nal import KEY_SLICE, SLICE, unit_kinds
from rushes.media.plan import AUDIO_RATE, PACKET_S, PACKET_SAMPLES, Chunk, Grid
from rushes.media.rendition import Rendition, Segment

# No run of zeros in one packet of AAC can be as long: even silence has sections and an end
SILENT_ZEROS = bytes(128)
_URI = re.compile(r'URI="([^"]*)"|^([^#\s].*)$', re.MULTILINE)


def check_chunk(
    folder: Path,
    grid: Grid,
    chunk: Chunk,
    rungs: Sequence[Rung],
    renditions: Sequence[Rendition],
) -> None:
    """Raise Retryable unless the files of a chunk are whole and hold exactly its frames."""
    _expect([rung.name for rung in rungs], [found.name for found in renditions], "the rungs")
    for rung, rendition in zip(rungs, renditions, strict=True):
        init = _check_init(folder, rendition)
        size = (rung.width, rung.height)
        _expect(size, (init.width, init.height), f"the picture of {rung.name}")
        _expect(grid.timescale, init.timescale, f"the timescale of {rung.name}")
        numbers = [segment.number for segment in rendition.segments]
        _expect(list(chunk.numbers), numbers, f"the segments of {rung.name}")
        for segment in rendition.segments:
            _check_pictures(segment, _fragments(folder, segment), grid)


def check_audio(folder: Path, grid: Grid, wanted: range, rendition: Rendition) -> None:
    """Raise Retryable unless these segments of a sound track are there, and whole."""
    init = _check_init(folder, rendition)
    found = (init.timescale, init.sample_rate, init.channels)
    rates = (AUDIO_RATE, AUDIO_RATE, rendition.channels)
    _expect(rates, found, f"the sample rates and channels of {rendition.name}")
    numbers = [segment.number for segment in rendition.segments]
    _expect(list(wanted), numbers, f"the segments of {rendition.name}")
    for segment in rendition.segments:
        check_sound(folder, grid, segment)


def check_sound(folder: Path, grid: Grid, segment: Segment) -> None:
    """Raise Retryable unless one segment of sound is whole."""
    wanted = grid.audio_segment(segment.number)
    fragment, *others = _fragments(folder, segment)
    _expect(0, len(others), f"the fragments after the first of {segment.name}")
    _expect(wanted.start * PACKET_SAMPLES, fragment.decode_time, f"the start of {segment.name}")
    _expect(wanted.stop * PACKET_SAMPLES, fragment.end_time, f"the end of {segment.name}")
    _expect(len(wanted), len(fragment.samples), f"the packets of {segment.name}")
    for packet in fragment.pieces():
        # the last bits of a packet are three ones, before less than a byte of padding
        if not packet or packet[-1] == 0 or SILENT_ZEROS in packet:
            raise invalid(f"a packet of {segment.name} is damaged")


def check_set(
    grid: Grid,
    renditions: Sequence[Rendition],
    sizes: Mapping[str, int],
    playlists: Mapping[str, str],
) -> None:
    """Raise Permanent unless all that the playlists name is there, without a hole.

    `sizes` are the files that really exist, under the names of the set.
    """
    if all(rendition.is_audio for rendition in renditions):
        raise _broken("the set has no picture")
    for rendition in renditions:
        _check_files(grid, rendition, sizes)
        longest = max(1 / grid.fps, PACKET_S) if rendition.is_audio else Fraction()
        if abs(rendition.duration - grid.duration) > longest:
            raise _broken(
                f"{rendition.name} lasts {float(rendition.duration):.3f} s, "
                f"the film {float(grid.duration):.3f} s"
            )
    for name, text in playlists.items():
        _check_playlist(name, text, {*sizes, *playlists})


def named_by(name: str, text: str) -> list[str]:
    """Return the files that the playlist `name` names, as seen from where its own name begins."""
    folder = posixpath.dirname(name)
    names = [quoted or line for quoted, line in _URI.findall(text)]
    return [posixpath.normpath(posixpath.join(folder, target)) for target in names]


def _check_init(folder: Path, rendition: Rendition) -> Init:
    path = folder / rendition.init
    data = path.read_bytes() if path.exists() else b""
    found = hashlib.sha256(data).hexdigest()
    _expect(rendition.init_sha256, found, f"the content of {rendition.init}")
    return parse_init(data)


def _fragments(folder: Path, segment: Segment) -> list[Fragment]:
    path = folder / segment.name
    size = path.stat().st_size if path.exists() else 0
    _expect(segment.size_bytes, size, f"the size of {segment.name} in bytes")
    with open_made(path) as stream:
        found = [parse_fragment(data) for data in read_fragments(stream)]
    if not found:
        raise invalid(f"{segment.name} is empty")
    return found


def _check_pictures(segment: Segment, fragments: Sequence[Fragment], grid: Grid) -> None:
    wanted = grid.segment(segment.number)
    shown: list[int] = []
    for fragment in fragments:
        first = wanted.start + len(shown)
        start = (first // grid.gop_frames + 1, first * grid.frame_ticks)
        _expect(start, (fragment.sequence, fragment.decode_time), f"the place in {segment.name}")
        shown += sorted(fragment.show_times())
        end = (wanted.start + len(shown)) * grid.frame_ticks
        _expect(end, fragment.end_time, f"the end of a part of {segment.name}")
        _check_slices(segment, fragment)
    _expect(len(wanted), len(shown), f"the number of frames in {segment.name}")
    if shown != [frame * grid.frame_ticks for frame in wanted]:
        raise invalid(f"the frames of {segment.name} are not on the grid")


def _check_slices(segment: Segment, fragment: Fragment) -> None:
    """A fragment begins with its only key frame, and each frame is made of whole NAL units."""
    for place, (sample, data) in enumerate(zip(fragment.samples, fragment.pieces(), strict=True)):
        kinds = unit_kinds(data)
        is_key = KEY_SLICE in kinds and SLICE not in kinds
        if kinds.isdisjoint({KEY_SLICE, SLICE}) or not (is_key == sample.is_key == (place == 0)):
            raise invalid(f"a frame of {segment.name} is damaged, or not of the kind it must be")


def _check_files(grid: Grid, rendition: Rendition, sizes: Mapping[str, int]) -> None:
    numbers = [segment.number for segment in rendition.segments]
    if numbers != list(range(grid.segments)):
        raise _broken(f"{rendition.name} does not have the segments 0 to {grid.segments - 1}")
    made = {segment.name: segment.size_bytes for segment in rendition.segments}
    for name in rendition.files:
        found = sizes.get(name, 0)
        if not found or found != made.get(name, found):
            raise _broken(f"{name} is missing, empty or not the file that was made")


def _check_playlist(name: str, text: str, known: Iterable[str]) -> None:
    for target in named_by(name, text):
        if target not in known:
            raise _broken(f"{name} names {target}, which is not there")


def _expect(wanted: object, found: object, what: str) -> None:
    if wanted != found:
        raise invalid(f"{what} should be {wanted} and is {found}")


def _broken(message: str) -> Permanent:
    return Permanent(
        message, error_code="OUTPUT_INVALID", hint="encode the film again; the original is kept"
    )
