"""Damages films the same way every time: mutant n is always the same bytes."""

from __future__ import annotations

import random
from pathlib import Path

from tests.media.clips import clip

SEEDS = (
    *("fps30", "fps23_976", "vfr", "rotated", "portrait", "sar", "odd", "interlaced", "hdr"),
    *("silent", "one_frame", "truncated", "ts", "damaged_ts", "audio_only", "image"),
)
HEAD_BYTES = 4096
NUMBERS = (0, 1, 0x7F, 0x80, 0xFF, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF)


def mutant(number: int, folder: Path) -> Path:
    """Write mutant `number` and return it. Most changes hit the header, where the parsers are."""
    dice = random.Random(number)
    name = SEEDS[number % len(SEEDS)]
    film = bytearray(clip(name).read_bytes())
    for _ in range(dice.choice((1, 2, 4, 10))):
        dice.choice(CHANGES)(film, dice)
    path = folder / f"{number}{clip(name).suffix}"
    path.write_bytes(film)
    return path


def _place(film: bytearray, dice: random.Random) -> int:
    ends = (min(HEAD_BYTES, len(film)), len(film))
    place = dice.randrange(max(1, dice.choice(ends)))
    return place if dice.random() < 0.7 else max(0, len(film) - 1 - place)


def _flip(film: bytearray, dice: random.Random) -> None:
    at = _place(film, dice)
    film[at : at + 1] = bytes([film[at] ^ 1 << dice.randrange(8)]) if film else b""


def _number(film: bytearray, dice: random.Random) -> None:
    at = _place(film, dice)
    film[at : at + 4] = dice.choice(NUMBERS).to_bytes(4, dice.choice(("big", "little")))


def _noise(film: bytearray, dice: random.Random) -> None:
    at = _place(film, dice)
    film[at : at + 64] = dice.randbytes(dice.randrange(1, 65))


def _repeat(film: bytearray, dice: random.Random) -> None:
    at = _place(film, dice)
    film[at:at] = film[at : at + dice.randrange(1, 2000)]


def _remove(film: bytearray, dice: random.Random) -> None:
    at = _place(film, dice)
    del film[at : at + dice.randrange(1, 2000)]


def _cut(film: bytearray, dice: random.Random) -> None:
    if dice.random() < 0.2:
        del film[_place(film, dice) :]


# a byte too many or too few mostly makes a file that nobody takes for a film: less often
CHANGES = (*[_flip] * 6, *[_number] * 6, _noise, _noise, _repeat, _remove, _cut)
