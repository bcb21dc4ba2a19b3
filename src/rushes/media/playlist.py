"""Playlists as text: pure functions of values, so a playlist can be rendered at any moment.

A media playlist only ever grows: what a player has read stays true, and the end adds one line.
The master playlist promises the planned bit rates until the film has ended, the measured ones
afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from math import ceil

from rushes.media.plan import Grid
from rushes.media.rendition import Rendition, Segment, playlist_name

VERSION = 7
GROUP = "audio"
BEGINNING = Fraction()


def media(
    rendition: Rendition,
    grid: Grid,
    *,
    end: int | None = None,
    vod: bool = False,
    start: Fraction = BEGINNING,
) -> str:
    """Return the playlist of one rendition: its segments before `end`, or all and the last line.

    EVENT from beginning to end, unless nobody watched it grow (`vod`). A player begins `start`
    seconds after the first segment does.
    """
    shown = rendition.segments if end is None else rendition.segments[:end]
    lines = [
        "#EXTM3U",
        f"#EXT-X-VERSION:{VERSION}",
        f"#EXT-X-TARGETDURATION:{grid.target_s}",
        "#EXT-X-MEDIA-SEQUENCE:0",
        f"#EXT-X-PLAYLIST-TYPE:{'VOD' if vod else 'EVENT'}",
        "#EXT-X-INDEPENDENT-SEGMENTS",
        # without it a player that comes late begins near the end
        f"#EXT-X-START:TIME-OFFSET={_offset(start)},PRECISE=YES",
        f'#EXT-X-MAP:URI="{_file(rendition.init)}"',
    ]
    for segment in shown:
        lines += [f"#EXTINF:{float(segment.duration):.6f},", _file(segment.name)]
    if end is None:
        lines.append("#EXT-X-ENDLIST")
    return "\n".join(lines) + "\n"


def master(
    renditions: Sequence[Rendition],
    grid: Grid,
    *,
    planned: Mapping[str, int] | None = None,
    named: Callable[[str], str] = playlist_name,
) -> str:
    """Return the playlist of playlists. `planned` caps by rendition stand for a film that grows.

    `named` says where the playlist of a rendition is.
    """
    sounds = [rendition for rendition in renditions if rendition.is_audio]
    pictures = [rendition for rendition in renditions if not rendition.is_audio]
    lines = ["#EXTM3U", f"#EXT-X-VERSION:{VERSION}", "#EXT-X-INDEPENDENT-SEGMENTS"]
    lines += [_sound(sound, named(sound.name), default=sound is sounds[0]) for sound in sounds]
    for picture in sorted(pictures, key=lambda rendition: rendition.width * rendition.height):
        rates = _planned(picture, sounds, planned) if planned else _measured(picture, sounds, grid)
        fields = {
            **rates,
            "CODECS": _quoted(",".join(dict.fromkeys([picture.codecs, *_codecs(sounds)]))),
            "RESOLUTION": f"{picture.width}x{picture.height}",
            "FRAME-RATE": f"{float(grid.fps):.3f}",
            **({"AUDIO": _quoted(GROUP)} if sounds else {}),
        }
        lines += [f"#EXT-X-STREAM-INF:{_attributes(fields)}", named(picture.name)]
    return "\n".join(lines) + "\n"


def peak_bps(segments: Sequence[Segment], target_s: int) -> int:
    """Return the largest bit rate of neighbouring segments that last about a target duration.

    RFC 8216 counts every run between half and one and a half times the target, so a last segment
    of two frames cannot stand alone. A film shorter than that has but one rate.
    """
    peak = Fraction(0)
    for first in range(len(segments)):
        lasting, size = Fraction(0), 0
        for place in range(first, len(segments)):
            lasting += segments[place].duration
            size += segments[place].size_bytes
            if 2 * lasting > 3 * target_s:
                break
            if 2 * lasting >= target_s:
                peak = max(peak, 8 * size / lasting)
    return ceil(peak) or average_bps(segments)


def average_bps(segments: Sequence[Segment]) -> int:
    duration = sum((segment.duration for segment in segments), Fraction())
    return ceil(8 * sum(segment.size_bytes for segment in segments) / duration) if duration else 0


def _planned(
    picture: Rendition, sounds: Sequence[Rendition], planned: Mapping[str, int]
) -> dict[str, str]:
    loudest = max((planned[sound.name] for sound in sounds), default=0)
    return {"BANDWIDTH": str(planned[picture.name] + loudest)}


def _measured(picture: Rendition, sounds: Sequence[Rendition], grid: Grid) -> dict[str, str]:
    peaks = [peak_bps(sound.segments, grid.target_s) for sound in sounds]
    averages = [average_bps(sound.segments) for sound in sounds]
    peak = peak_bps(picture.segments, grid.target_s) + max(peaks, default=0)
    average = average_bps(picture.segments) + max(averages, default=0)
    return {"BANDWIDTH": str(peak), "AVERAGE-BANDWIDTH": str(average)}


def _sound(rendition: Rendition, uri: str, *, default: bool) -> str:
    fields = {
        "TYPE": "AUDIO",
        "GROUP-ID": _quoted(GROUP),
        "NAME": _quoted(rendition.name.rpartition("/")[2]),
        **({"LANGUAGE": _quoted(rendition.language)} if rendition.language else {}),
        "DEFAULT": "YES" if default else "NO",
        "AUTOSELECT": "YES",
        "CHANNELS": _quoted(str(rendition.channels)),
        "URI": _quoted(uri),
    }
    return f"#EXT-X-MEDIA:{_attributes(fields)}"


def _codecs(renditions: Iterable[Rendition]) -> list[str]:
    return [rendition.codecs for rendition in renditions]


def _offset(start: Fraction) -> str:
    """Return seconds, to the next microsecond: a moment earlier the frame before would be shown.

    >>> _offset(Fraction(1, 3)), _offset(Fraction())
    ('0.333334', '0')
    """
    return f"{ceil(start * 10**6) / 10**6:.6f}".rstrip("0").rstrip(".")


def _attributes(fields: Mapping[str, str]) -> str:
    return ",".join(f"{name}={value}" for name, value in fields.items())


def _quoted(text: str) -> str:
    return f'"{text}"'


def _file(name: str) -> str:
    """Return the name as its playlist, which lies in the same folder, says it."""
    return name.rpartition("/")[2]
