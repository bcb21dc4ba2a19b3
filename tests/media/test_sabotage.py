"""ffmpeg ends with exit code 0 and the file is wrong: caught every time.

The wrapper runs the real ffmpeg and then damages what it wrote. A damage is a line of shell:
`$file` is the file, `$size` its length, and a part of it (`before`, `part N`, `after N`) is
cut where its fragments begin.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from random import Random

import pytest

from rushes.errors import Retryable
from rushes.media import ffmpeg, hls
from rushes.media.audio import encode_audio, tracks
from rushes.media.check import check_audio, check_chunk
from rushes.media.encoders import Tools
from rushes.media.plan import plan
from tests.media.clips import clip
from tests.media.sets import WHOLE, look_at, takes, two_rungs

WRAPPER = r"""#!/bin/sh
./real "$@" || exit $?
for file; do :; done
size=$(wc -c < "$file")
starts=$(grep -abo moof "$file" | cut -d: -f1)
at() {{ echo "$starts" | sed -n "$1p"; }}
bytes() {{ head -c "$2" "$file" | tail -c "+$(($1 + 1))"; }}
before() {{ bytes 0 $(($(at $1) - 4)); }}
part() {{ bytes $(($(at $1) - 4)) $(($(at $(($1 + 1))) - 4)); }}
after() {{ bytes $(($(at $1) - 4)) "$size"; }}
{damage}
exit 0
"""
DAMAGES = {
    "cuts the last fragment": 'before $(echo "$starts" | wc -l) > new; mv new "$file"',
    "cuts in the middle": 'bytes 0 $((size / 2)) > new; mv new "$file"',
    "cuts the last byte": 'bytes 0 $((size - 1)) > new; mv new "$file"',
    "removes the first": '{ before 1; after 2; } > new; mv new "$file"',
    "removes one": '{ before 2; after 3; } > new; mv new "$file"',
    "doubles the first": '{ before 1; part 1; after 1; } > new; mv new "$file"',
    "doubles one": '{ before 2; part 2; after 2; } > new; mv new "$file"',
    "doubles one and removes another": "{ before 2; part 2; part 2; after 4; } > new;"
    ' mv new "$file"',
    "swaps two": '{ before 2; part 3; part 2; after 4; } > new; mv new "$file"',
    "zeroes a few bytes": 'dd if=/dev/zero of="$file" bs=1 seek=$((size - 300)) count=150'
    " conv=notrunc status=none",
    "zeroes what the decoder reads": 'start=$(grep -abo -e avcC -e esds "$file" | cut -d: -f1);'
    ' dd if=/dev/zero of="$file" bs=1 seek=$((start + 8)) count=32 conv=notrunc status=none',
    "zeroes everything": 'head -c "$size" /dev/zero > new; mv new "$file"',
    "empties it": ': > "$file"',
    "deletes it": 'rm "$file"',
    "leaves a link": 'mv "$file" away; ln -s away "$file"',
    "leaves a pipe that never ends": 'rm "$file"; mkfifo "$file"',
    "adds something": 'echo more >> "$file"',
}


@pytest.fixture
def wrapped(folder, wheel):
    """Return an ffmpeg that does what is said to the file after it was written."""

    def wrap(damage: str) -> Tools:
        real = folder / "ffmpeg" / "real"
        real.parent.mkdir(exist_ok=True)
        try:
            os.link(wheel.path, real)
        except OSError:
            shutil.copy(wheel.path, real)
        path = folder.parent / "ffmpeg"
        path.write_text(WRAPPER.format(damage=damage))
        path.chmod(0o755)
        return Tools(ffmpeg=ffmpeg.Ffmpeg(path=str(path), version="wrapped", source="system"))

    return wrap


@pytest.fixture
def film(folder):
    """A clip of 4 s in one chunk of four segments and eight fragments, its piece and its sound."""
    path, source = look_at(clip("fps30"), folder)
    made = plan(source, WHOLE)
    [chunk] = made.chunks
    rungs = two_rungs(source)[1:]
    piece = hls.Piece(video=source.video, grid=made.grid, chunk=chunk, rungs=rungs)
    [take] = takes(made, tracks(source)[0])
    return path, piece, take


def test_wrapper_that_does_no_harm_is_not_noticed(folder, film, wrapped):
    path, piece, take = film

    hls.encode_chunk(path, piece, folder=folder, tools=wrapped(":"))
    encode_audio(path, take, folder=folder, tools=wrapped(":"))


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_pictures_are_caught(damage, folder, film, wrapped):
    """A file is committed after it was read again, never by the exit code."""
    path, piece, _ = film

    with pytest.raises(Retryable) as caught:
        hls.encode_chunk(path, piece, folder=folder, tools=wrapped(DAMAGES[damage]))

    assert caught.value.error_code == "OUTPUT_INVALID"


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_sound_is_caught(damage, folder, film, wrapped):
    path, _, take = film

    with pytest.raises(Retryable) as caught:
        encode_audio(path, take, folder=folder, tools=wrapped(DAMAGES[damage]))

    assert caught.value.error_code == "OUTPUT_INVALID"


@pytest.fixture
def pictures(folder, film):
    """A good chunk on the disk, and a function that checks it again."""
    path, piece, _ = film
    made = hls.encode_chunk(path, piece, folder=folder).renditions
    files = [folder / segment.name for one in made for segment in one.segments]
    return files, lambda: check_chunk(folder, piece.grid, piece.chunk, piece.rungs, made)


@pytest.fixture
def sound(folder, film):
    path, piece, take = film
    made = encode_audio(path, take, folder=folder)
    files = [folder / segment.name for segment in made.segments]
    return files, lambda: check_audio(folder, piece.grid, piece.chunk.numbers, made)


@pytest.mark.parametrize("kind", ["pictures", "sound"])
def test_files_that_change_after_they_were_made_are_caught(kind, request):
    files, check = request.getfixturevalue(kind)
    good = {path: path.read_bytes() for path in files}
    random = Random(3)
    check()

    for path, data in good.items():
        for broken in _broken(path, good, random):
            path.write_bytes(broken)
            with pytest.raises(Retryable):
                check()
        path.unlink()
        with pytest.raises(Retryable):
            check()
        path.write_bytes(data)
    check()


def _broken(path: Path, good: dict[Path, bytes], random: Random):
    """Yield what a file may have become: shortened, replaced, or zeroed somewhere."""
    data = good[path]
    yield b""
    yield data[:-1]
    yield data + data
    yield from (other for name, other in good.items() if name != path)
    for _ in range(40):
        start = random.randrange(len(data) - 200)
        yield data[:start] + bytes(200) + data[start + 200 :]


@pytest.mark.parametrize("kind", ["pictures", "sound"])
def test_init_that_changed_is_caught(kind, request):
    files, check = request.getfixturevalue(kind)
    init = files[0].with_name("init.mp4")
    data = bytearray(init.read_bytes())
    data[-100] ^= 1
    init.write_bytes(data)

    with pytest.raises(Retryable, match=r"the content of \S+init.mp4"):
        check()
