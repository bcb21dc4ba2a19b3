"""A clip that plays at once: the segments of a film that cover it, and where in them it begins.

Pure: playlists of what is committed, as for the film itself. A player begins at the very frame; it
plays on to the end of the last segment, which is behind the end of the clip. The exact file is made
meanwhile.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from rushes.errors import Conflict, Invalid, NotFound
from rushes.library.playback import View
from rushes.media import playlist
from rushes.media.clip import Window, first_frame
from rushes.media.rendition import Rendition

NAME = "clip.m3u8"


@dataclass(frozen=True, slots=True, kw_only=True)
class Excerpt:
    """Renditions with only the segments that are needed, and the seconds to skip in the first."""

    renditions: tuple[Rendition, ...]
    start: Fraction


def master(seen: View, wanted: Window) -> str:
    """Return the playlist of playlists of a clip, as it lies beside that of the version."""
    query = f"start={wanted.start_ms}&end={wanted.end_ms}"
    return playlist.master(
        excerpt(seen, wanted).renditions, seen.grid, named=lambda name: f"{name}/{NAME}?{query}"
    )


def media(seen: View, rendition: str, wanted: Window) -> str:
    """Return the playlist of one rendition of a clip."""
    found = excerpt(seen, wanted)
    for one in found.renditions:
        if one.name == rendition:
            return playlist.media(one, seen.grid, vod=True, start=found.start)
    raise NotFound("there is no such playlist yet")


def excerpt(seen: View, wanted: Window) -> Excerpt:
    """Return what is needed of a film. Raises Invalid, or Conflict if it is not encoded yet."""
    if not 0 <= wanted.start_ms < wanted.end_ms:
        raise Invalid(f"a clip cannot go from {wanted.start_ms} to {wanted.end_ms} ms")
    grid = seen.grid
    first = first_frame(wanted.start_ms, grid.fps)
    last = min(first_frame(wanted.end_ms, grid.fps), grid.frames) - 1
    if first > last:
        raise Invalid(f"the film has no frame from {wanted.start_ms} to {wanted.end_ms} ms")
    needed = slice(first // grid.segment_frames, last // grid.segment_frames + 1)
    if needed.stop > seen.segments:
        raise Conflict(
            f"the film is not encoded up to {wanted.end_ms} ms yet", hint="try again in a while"
        )
    return Excerpt(
        renditions=tuple(replace(one, segments=one.segments[needed]) for one in seen.renditions),
        start=first % grid.segment_frames / grid.fps,
    )
