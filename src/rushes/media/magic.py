"""Recognises files by their first bytes, so that nothing has to open one to name it."""

from __future__ import annotations

HEAD_BYTES = 256
SEND = "send a film in MP4, MOV, Matroska, WebM, AVI or MPEG"

PICTURES = (
    (0, b"\x89PNG\r\n\x1a\n", "PNG"),
    (0, b"\xff\xd8\xff", "JPEG"),
    (0, b"GIF8", "GIF"),
    (0, b"BM", "BMP"),
    (0, b"II*\x00", "TIFF"),
    (0, b"MM\x00*", "TIFF"),
    (0, b"\xff\x0a", "JPEG XL"),
    (0, b"\x00\x00\x00\x0cJXL ", "JPEG XL"),
    (0, b"8BPS", "Photoshop"),
    (8, b"WEBP", "WebP"),
    (4, b"ftypavif", "AVIF"),
    (4, b"ftypavis", "AVIF"),
    (4, b"ftyphei", "HEIC"),
    (4, b"ftyphev", "HEIC"),
    (4, b"ftypmif1", "HEIF"),
    (4, b"ftypmsf1", "HEIF"),
)

FILMS = (
    (4, b"ftyp"),
    (4, b"moov"),
    (4, b"mdat"),
    (4, b"wide"),
    (0, b"\x1a\x45\xdf\xa3"),
    (8, b"AVI "),
    (0, b"\x47"),
    (0, b"\x00\x00\x01\xba"),
    (0, b"FLV\x01"),
    (0, b"\x30\x26\xb2\x75"),
    (0, b"OggS"),
    (0, b"\x06\x0e\x2b\x34"),
)


def picture(head: bytes) -> str | None:
    """Name the kind of picture that begins like this.

    >>> picture(b"GIF89a"), picture(b"\\x00\\x00\\x00\\x20ftypisom")
    ('GIF', None)
    """
    found = (name for at, magic, name in PICTURES if head[at : at + len(magic)] == magic)
    return next(found, None)


def film(head: bytes) -> bool:
    """Whether a film begins like this.

    >>> film(b"\\x00\\x00\\x00\\x20ftypisom"), film(b"<html>")
    (True, False)
    """
    return any(head[at : at + len(magic)] == magic for at, magic in FILMS)


def text(head: bytes) -> bool:
    """Whether plain text begins like this.

    >>> text(b"const film = false;"), text(b"\\x47@\\x11"), text(b"")
    (True, False, False)
    """
    return bool(head) and head.isascii() and all(byte > 31 or byte in b"\t\r\n" for byte in head)
