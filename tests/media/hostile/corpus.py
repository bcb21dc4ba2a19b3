"""Files that mean harm, written byte by byte so that each does one thing only.

`canary` is a film of somebody else; `port` is where a listener waits. A file of the first table
makes a program that trusts it open the one or call the other.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from pathlib import Path

from tests.media.clips import clip, lavfi

OPEN, CALL, LISTEN = "opens the canary", "calls the listener", "opens a port"


def playlist(address: str) -> str:
    return f"#EXTM3U\n#EXT-X-MEDIA-SEQUENCE:0\n#EXTINF:10.0,\n{address}\n#EXT-X-ENDLIST\n"


def dash(address: str) -> str:
    return (
        '<?xml version="1.0"?>\n<MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="static"'
        ' mediaPresentationDuration="PT2S" profiles="urn:mpeg:dash:profile:isoff-on-demand:2011">'
        '<Period><AdaptationSet mimeType="video/mp4">'
        '<Representation id="1" bandwidth="1000" codecs="avc1.42E01E">'
        f"<BaseURL>{address}</BaseURL></Representation></AdaptationSet></Period></MPD>\n"
    )


SESSION = (
    "v=0\no=- 0 0 IN IP4 127.0.0.1\ns=x\nc=IN IP4 127.0.0.1\nt=0 0\n"
    "m=video {port} RTP/AVP 96\na=rtpmap:96 H264/90000\n"
)
# name → the file's name, its text, the harm, and what a careless caller would have to allow
Attack = tuple[str, Callable[[Path, int], str], str, tuple[str, ...]]
NETWORK = ("-protocol_whitelist", "file,http,tcp,udp,rtp")
ATTACKS: dict[str, Attack] = {
    "hls file": ("film.m3u8", lambda canary, _: playlist(f"file://{canary}.ts"), OPEN, ()),
    "hls http": (
        "film.m3u8",
        lambda _, port: playlist(f"http://127.0.0.1:{port}/x.ts"),
        CALL,
        NETWORK,
    ),
    "concat absolute": (
        "film.mp4",
        lambda canary, _: f"ffconcat version 1.0\nfile {canary}.mp4\n",
        OPEN,
        ("-safe", "0"),
    ),
    "concat neighbour": (
        "film.mp4",
        lambda _, __: "ffconcat version 1.0\nfile canary.mp4\n",
        OPEN,
        (),
    ),
    "dash file": ("film.mp4", lambda canary, _: dash(f"file://{canary}.mp4"), OPEN, ()),
    "dash http": (
        "film.mp4",
        lambda _, port: dash(f"http://127.0.0.1:{port}/x.mp4"),
        CALL,
        ("-protocol_whitelist", "file"),
    ),
    "session": ("film.mp4", lambda _, port: SESSION.format(port=port), LISTEN, NETWORK),
}
# the older of the two goes by content; the newer wants a playlist to be called one
RENAMED = {"hls file": "film.mp4", "hls http": "film.mp4"}


def write(name: str, folder: Path, port: int) -> Path:
    """Write an attack and its canaries, one in the same folder and one beside it."""
    file_name, text, _, _ = ATTACKS[name]
    folder.mkdir()
    (folder / "canary.mp4").write_bytes(clip("silent").read_bytes())
    canary = folder.parent / "canary"
    canary.with_suffix(".mp4").write_bytes(clip("silent").read_bytes())
    canary.with_suffix(".ts").write_bytes(clip("ts").read_bytes())
    path = folder / file_name
    path.write_text(text(canary, port))
    return path


def huge_film(target: Path, side: int) -> Path:
    """A film of 1 KB that says it is `side` by `side`: the size in its sample entry is changed."""
    lavfi(
        "-f lavfi -i color=black:size=64x64:rate=1:duration=1 -frames:v 1 -c:v qtrle -pix_fmt gray",
        target,
    )
    film = bytearray(target.read_bytes())
    size = film.index(b"rle ") + 28
    assert film[size : size + 4] == struct.pack(">HH", 64, 64)
    film[size : size + 4] = struct.pack(">HH", side, side)
    target.write_bytes(film)
    return target


def huge_png(target: Path, side: int, *, whole: bool = False) -> Path:
    """A picture that says it is `side` by `side` and, if `whole`, really is."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        return (
            struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
        )

    rows = bytes((side + 1) * side) if whole else bytes(1000)
    header = struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0)
    body = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows, 1)) + chunk(b"IEND", b"")
    target.write_bytes(b"\x89PNG\r\n\x1a\n" + body)
    return target


def many_tracks(target: Path, tracks: int) -> Path:
    """A Matroska file with tracks and not one frame."""

    def element(identity: str, body: bytes) -> bytes:
        return bytes.fromhex(identity) + (len(body) | 1 << 56).to_bytes(8, "big") + body

    def track(number: int) -> bytes:
        return element(
            "ae",
            element("d7", number.to_bytes(4, "big"))
            + element("73c5", number.to_bytes(4, "big"))
            + element("83", b"\x01")
            + element("86", b"V_MPEG4/ISO/ASP")
            + element("e0", element("b0", b"\x40") + element("ba", b"\x40")),
        )

    body = b"".join(track(number) for number in range(1, tracks + 1))
    head = element("1a45dfa3", element("4282", b"matroska"))
    cluster = element("1f43b675", element("e7", b"\x00"))
    target.write_bytes(head + element("18538067", element("1654ae6b", body) + cluster))
    return target


def wrong_duration(target: Path, duration_ms: float) -> Path:
    """A Matroska film of two seconds whose header says `duration_ms`."""
    lavfi("-i {silent} -c copy", target)
    film = bytearray(target.read_bytes())
    at = film.index(bytes.fromhex("448988")) + 3
    assert struct.unpack(">d", film[at : at + 8]) == (2000.0,)
    film[at : at + 8] = struct.pack(">d", duration_ms)
    target.write_bytes(film)
    return target


def foreign_reference(target: Path, canary: Path) -> Path:
    """A QuickTime film whose frames are said to lie in another file."""
    lavfi("-i {silent} -c copy", target)
    film = target.read_bytes()
    path = str(canary).replace("/", ":").encode()
    path += bytes(len(path) % 2)
    alias = bytes(10) + bytes(28) + bytes(12) + bytes(64) + bytes(16) + bytes(4) + bytes(16)
    alias += struct.pack(">HH", 2, len(path)) + path + struct.pack(">HH", 0xFFFF, 0)
    entry = struct.pack(">I4sI", 12 + len(alias), b"alis", 0) + alias
    at = film.index(b"dref") - 4
    old = struct.unpack(">I", film[at : at + 4])[0]
    new = struct.pack(">I4sII", 16 + len(entry), b"dref", 0, 1) + entry
    changed = bytearray(film[:at] + new + film[at + old :])
    # the index lies behind the frames, so only the boxes around it grow
    for kind in (b"moov", b"trak", b"mdia", b"minf", b"dinf"):
        box = film.index(kind) - 4
        size = struct.unpack(">I", film[box : box + 4])[0] + len(new) - old
        changed[box : box + 4] = struct.pack(">I", size)
    assert film.index(b"mdat") < film.index(b"moov")
    target.write_bytes(changed)
    return target
