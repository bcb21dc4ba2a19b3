"""Archives from workers: plain files or nothing."""

from __future__ import annotations

import gzip
import io
import tarfile
from collections.abc import Callable

import pytest

from rushes.errors import Invalid
from rushes.library.archive import Caps, Header, Unpacked

FILES = {"360p/init.mp4": b"\x00\x00\x00\x18ftypiso6" + b"i" * 700, "360p/00000.m4s": b"x" * 512}


def packed(files: dict[str, bytes] | None = None, *, format: int = tarfile.USTAR_FORMAT) -> bytes:
    return gzip.compress(plain(files if files is not None else FILES, format=format))


def plain(files: dict[str, bytes], *, format: int = tarfile.USTAR_FORMAT) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=format) as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


def with_entry(change: Callable[[tarfile.TarInfo], None], content: bytes = b"") -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        info = tarfile.TarInfo("a")
        info.size = len(content)
        change(info)
        archive.addfile(info, io.BytesIO(content))
    return gzip.compress(buffer.getvalue())


def unpack(text: bytes, *, step: int = 1000, caps: Caps | None = None) -> dict[str, bytes]:
    reader = Unpacked(caps or Caps())
    found: dict[str, bytes] = {}
    name = ""
    for start in range(0, len(text), step):
        for piece in reader.feed(text[start : start + step]):
            if isinstance(piece, Header):
                name = piece.name
                found[name] = b""
            else:
                found[name] += piece
    reader.close()
    return found


@pytest.mark.parametrize("step", [1, 7, 512, 100_000])
def test_files_come_out_as_they_went_in(step: int):
    """000-072: in whatever pieces it arrives."""
    assert unpack(packed(), step=step) == FILES


def test_gnu_tar_of_plain_files_is_fine():
    assert unpack(packed(format=tarfile.GNU_FORMAT)) == FILES


def _type(kind: bytes, link: str = "") -> Callable[[tarfile.TarInfo], None]:
    def change(info: tarfile.TarInfo) -> None:
        info.type, info.linkname = kind, link

    return change


def _named(name: str) -> Callable[[tarfile.TarInfo], None]:
    def change(info: tarfile.TarInfo) -> None:
        info.name = name

    return change


@pytest.mark.parametrize(
    "text",
    [
        with_entry(_type(tarfile.SYMTYPE, "/etc/passwd")),
        with_entry(_type(tarfile.SYMTYPE, "")),
        with_entry(_type(tarfile.LNKTYPE, "b")),
        with_entry(_type(tarfile.CHRTYPE)),
        with_entry(_type(tarfile.BLKTYPE)),
        with_entry(_type(tarfile.FIFOTYPE)),
        with_entry(_type(tarfile.DIRTYPE)),
        with_entry(_type(tarfile.GNUTYPE_SPARSE)),
        with_entry(_type(tarfile.CONTTYPE)),
        packed({"x" * 300: b"a"}, format=tarfile.GNU_FORMAT),
        packed({"ü": b"a"}, format=tarfile.PAX_FORMAT),
        packed({"a" * 200 + "/" + "b" * 150: b"a"}, format=tarfile.PAX_FORMAT),
    ],
    ids=range(12),
)
def test_anything_but_a_plain_file_is_refused(text: bytes):
    """3.3: links, devices, folders, sparse files, extended headers, long names."""
    with pytest.raises(Invalid):
        unpack(text)


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"PK\x03\x04 a zip",
        packed()[:-20],
        packed()[: len(packed()) // 2],
        packed() + packed(),
        packed() + b"and more",
        gzip.compress(plain(FILES)[:600]),
        gzip.compress(plain(FILES)[:-8000].rstrip(b"\x00")),
        gzip.compress(plain(FILES) + b"x" * 512),
        gzip.compress(plain({"a": b"b"}).replace(b"a\x00", b"c\x00", 1)),
        gzip.compress(b"\xff" * 512),
        gzip.compress(plain({"a": b"1"})[:1024] + plain({"a": b"2"})),
        gzip.compress(plain({"a": b"1"})[:1024] + plain({"A": b"2"})),
    ],
    ids=range(13),
)
def test_damaged_cut_or_doubled_archive_is_refused(text: bytes):
    """3.3: truncated, two members, trailing garbage, a wrong sum, the same name twice."""
    with pytest.raises(Invalid):
        unpack(text)


def test_bomb_is_noticed_while_it_is_unpacked():
    """3.3: a kilobyte that wants to be gigabytes."""
    bomb = gzip.compress(plain({"a": b"\x00" * 60_000_000}))

    with pytest.raises(Invalid, match="too large"):
        unpack(bomb)


def test_too_many_files_are_refused():
    many = packed({f"{n}": b"" for n in range(11)})

    with pytest.raises(Invalid, match="more than 10"):
        unpack(many, caps=Caps(files=10))


def test_size_that_lies_is_refused():
    """3.3: more is promised than comes."""
    text = bytearray(plain({"a": b"b"}))
    text[124:136] = b"00000077777\x00"
    checksum = sum(text[:148]) + 8 * 32 + sum(text[156:512])
    text[148:156] = b"%06o\x00 " % checksum

    with pytest.raises(Invalid):
        unpack(gzip.compress(bytes(text)))
