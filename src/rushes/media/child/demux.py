"""The child's part of `probe`: reads a film that nobody trusts and says what is in it."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from rushes.errors import Permanent
from rushes.media import admit, ffmpeg
from rushes.media.child import streams
from rushes.media.child.index import CLOCKED, Track, index
from rushes.media.child.look import Look, look
from rushes.media.child.rate import measure
from rushes.media.child.reader import open_film
from rushes.media.decision import BROKEN, JUMPS, LONGEST_GOP_S, TRUNCATED, UNDECODABLE, decide
from rushes.media.source import Caps, Source

if TYPE_CHECKING:
    from av.container import InputContainer

LOSS_MS, LOSS_SHARE = 500, 0.01


def read(path: str, caps: dict[str, int]) -> Source:
    """Return what is in the film, or raise why it is refused."""
    limits = Caps(**caps)
    admit.check_file(Path(path), limits)
    # twice the cap: a coded picture may be a little larger than the one that is shown
    with open_film(path, max_pixels=2 * limits.pixels) as container:
        film = admit.choose(container)
        admit.check_header(container, film, limits)
        seen = look(container, film)
        admit.check_pixels(seen.frame.width, seen.frame.height, limits)
    with open_film(path, max_pixels=2 * limits.pixels) as container:
        source = _describe(container, seen, limits)
    admit.check_duration(source.duration_ms, limits)
    admit.check_pixels(source.video.display_width, source.video.display_height, limits)
    return source


def _describe(container: InputContainer, seen: Look, caps: Caps) -> Source:
    film = admit.choose(container)
    sounds = [
        sound for sound in container.streams.audio if admit.decodes(sound, ffmpeg.AUDIO_DECODERS)
    ]
    tracks = index(container, (film, *sounds))
    picture = tracks[film.index]
    if not picture.packets:
        raise Permanent("the film has no frames", error_code="SOURCE_CORRUPT")
    rate = measure(
        picture.gaps, picture.tick, (film.average_rate, film.guessed_rate, film.base_rate)
    )
    start = Fraction(container.start_time or 0, 1_000_000)
    video = streams.video(film, picture, seen, rate, start)
    audio = tuple(
        streams.audio(sound, tracks[sound.index], start)
        for sound in sounds
        if tracks[sound.index].packets
    )
    ends = (sound.start_ms + sound.duration_ms for sound in audio)
    source = Source(
        container=_container(container),
        duration_ms=max(video.start_ms + int(picture.seconds() * 1000), *ends, 1),
        size_bytes=container.size,
        video=video,
        audio=audio,
        subtitles=tuple(map(streams.subtitles, container.streams.subtitles)),
        chapters=tuple(streams.chapters(container, caps.chapters)),
        remux=container.format.name in CLOCKED,
    )
    # without an index the header knows no length, only the packets do
    declared_ms = 0 if source.remux else admit.declared_ms(container)
    damage = tuple(_damage(source, declared_ms, tracks.values(), seen))
    return _decided(replace(source, damage=damage), rate.measured, declared_ms, picture)


def _decided(source: Source, measured: Fraction, declared_ms: int, picture: Track) -> Source:
    longest_gop = picture.longest_gop * picture.tick
    damaged = any(found != TRUNCATED for found in source.damage)
    return replace(
        source,
        linear=damaged or longest_gop > LONGEST_GOP_S,
        decisions=decide(
            source, measured=measured, declared_ms=declared_ms, longest_gop=longest_gop
        ),
    )


def _container(container: InputContainer) -> str:
    """Name the container; the family of MP4 has one reader for all its members."""
    name = container.format.name.split(",")[0]
    quicktime = container.metadata.get("major_brand", "qt").strip() == "qt"
    return "mp4" if name == "mov" and not quicktime else name


def _damage(
    source: Source, declared_ms: int, tracks: Collection[Track], seen: Look
) -> Iterator[str]:
    """Name what is wrong. A last packet that is broken is where the file was cut off."""
    lost = declared_ms - source.duration_ms
    cut_off = not source.remux and any(track.ends_broken for track in tracks)
    if cut_off or lost > max(LOSS_MS, declared_ms * LOSS_SHARE):
        yield TRUNCATED
    if any(track.broken > track.ends_broken for track in tracks):
        yield BROKEN
    if any(track.jumps for track in tracks):
        yield JUMPS
    if seen.damaged:
        yield UNDECODABLE
