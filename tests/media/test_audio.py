"""Sound: once for the whole film, published while it is made, one folder for each track."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from rushes.errors import StageError
from rushes.media.audio import Track, encode_audio, tracks
from rushes.media.encoders import Tools
from rushes.media.plan import plan
from rushes.media.rendition import join
from rushes.media.sandbox import Watch
from tests.media.clips import clip
from tests.media.sets import SHORT, WHOLE, look_at, takes

PATIENCE_S = 20


class Patient(Watch):
    """Lets nobody look before ffmpeg has written a good part, and notes when it ended."""

    def __init__(self, growing, heard):
        self._growing = growing
        self._heard = heard
        self._deadline = time.monotonic() + PATIENCE_S

    def tick(self):
        while time.monotonic() < self._deadline:
            if self._growing.exists() and self._growing.stat().st_size > 40_000:
                return
            time.sleep(0.005)

    def ran(self, output):
        self._heard.append("the end")


def test_segments_are_published_before_the_sound_is_encoded(folder):
    """A film can be watched while it is made, so its sound must be there in time."""
    path, source = look_at(clip("film"), folder)
    [take] = takes(plan(source, WHOLE), tracks(source)[0])
    heard: list[object] = []
    watch = Patient(folder / "ffmpeg" / "audio.mp4", heard)

    sound = encode_audio(
        path,
        take,
        folder=folder,
        tools=Tools(watch=watch),
        on_segment=lambda segment: heard.append(segment.number),
    )

    assert heard[:2] == [0, 1]
    assert [number for number in heard if number != "the end"] == list(range(take.grid.segments))
    assert (sound.name, sound.codecs, sound.channels) == ("audio/und", "mp4a.40.2", 2)


def test_beginning_is_made_alone_and_the_rest_goes_on_without_a_seam(folder):
    """The first minute does not wait for the whole; not a bit tells them apart."""
    path, source = look_at(clip("film"), folder)
    [track] = tracks(source)
    [whole], parts = takes(plan(source, WHOLE), track), takes(plan(source, SHORT), track)
    once = encode_audio(path, whole, folder=folder)
    before = {name: (folder / name).read_bytes() for name in once.files}

    made = [encode_audio(path, part, folder=folder) for part in parts]

    assert [len(one.segments) for one in made] == [1, whole.grid.segments - 1]
    assert join(made) == once
    assert {name: (folder / name).read_bytes() for name in once.files} == before


def test_stopped_encode_leaves_no_unfinished_file(folder):
    path, source = look_at(clip("film"), folder)
    [take] = takes(plan(source, WHOLE), tracks(source)[0])

    class Stopping(Watch):
        def tick(self):
            raise StageError("stopped")

    with pytest.raises(StageError, match="stopped"):
        encode_audio(
            path,
            take,
            folder=folder,
            tools=Tools(watch=Stopping()),
        )

    assert not (folder / "ffmpeg").exists()


def test_each_language_has_a_folder_of_its_own(folder):
    _, source = look_at(clip("fps30"), folder)
    [stream] = source.audio
    said = ["en", "en", None, "../etc", "de-CH", "en", "und"]
    streams = tuple(replace(stream, index=n, language=word) for n, word in enumerate(said))

    made = tracks(replace(source, audio=streams))

    assert [track.name for track in made] == [
        *("audio/en", "audio/en-2", "audio/und", "audio/und-2"),
        *("audio/de-ch", "audio/en-3", "audio/und-3"),
    ]
    assert [track.language for track in made] == ["en", "en", None, None, "de-ch", "en", None]


def test_more_than_two_channels_are_mixed_into_two(folder):
    _, source = look_at(clip("film"), folder)

    assert source.audio[0].channels == 6
    assert tracks(source) == (Track(name="audio/und", index=1, channels=2),)
