"""Pictures with text of which every character is known: cards, a ticker, a scrolling feed.

The font comes in a wheel, so the pixels, and with them what an engine reads, are the same on
every machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import font_source_sans_pro as fonts
import numpy as np
from PIL import Image, ImageDraw, ImageFont

LINES = {
    "en": (
        "Council approves the new bridge",
        "Rain and strong wind expected on Thursday",
        "Tickets are available from $12.50 at the door",
        "Follow @harbour_news for live updates",
        "Every child should learn how to swim",
    ),
    "de": (
        "Straße nach Süden bleibt gesperrt",
        "Größere Übungen für die Feuerwehr",
        "Fußgänger müssen den Umweg über die Brücke nehmen",
        "Ärzte fordern bessere Ausrüstung",
        "Karten kosten 12,50 € an der Abendkasse",
    ),
    "fr": (
        "Le château est fermé à cause de la tempête",
        "Une œuvre retrouvée près de la forêt",
        "Les élèves français ont reçu leurs leçons",
        "Météo : très forte chaleur dès samedi",
        "Où étiez-vous pendant la grève générale ?",
    ),
}
STYLES = ("paper", "night", "lower third", "subtitle")


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """A picture and what is written on it, from top to bottom."""

    language: str
    style: str
    picture: Image.Image
    lines: tuple[str, ...]


@cache
def font(size: int, *, bold: bool = False) -> ImageFont.FreeTypeFont:
    return ImageFont.truetype(fonts.SourceSansProBold if bold else fonts.SourceSansPro, size)


def card(language: str, style: str, height: int, background: Image.Image | None = None) -> Card:
    """Draw one card of 16:9. Letters are as large as people make them in films."""
    unit = height // 36
    width = height * 16 // 9
    lines = LINES[language]
    if style == "paper":
        picture = Image.new("RGB", (width, height), "#f7f3e8")
        _write(picture, lines, at=(3 * unit, 3 * unit), size=height // 22, fill="#202020")
    elif style == "night":
        picture = Image.new("RGB", (width, height), "#101828")
        _write(picture, lines, at=(3 * unit, 3 * unit), size=height // 28, fill="#e6edf7")
    elif style == "lower third":
        lines = lines[:2]
        picture = _behind(background, width, height)
        bar = (0, height - 9 * unit, width, height - 2 * unit)
        ImageDraw.Draw(picture).rectangle(bar, fill="#a01422")
        _write(picture, lines, at=(2 * unit, height - 8 * unit), size=height // 20, fill="white")
    else:
        lines = lines[2:4]
        picture = _behind(background, width, height)
        at = (5 * unit, height - 7 * unit)
        _write(picture, lines, at=at, size=height // 24, fill="white", outline=height // 360)
    return Card(language=language, style=style, picture=picture, lines=lines)


def scenery(width: int, height: int, *, seed: int = 7) -> Image.Image:
    """A picture with light, dark, edges and a little grain, as a camera sees a street."""
    random = np.random.default_rng(seed)
    light = random.integers(50, 205, (9, 16, 1)) + random.integers(-25, 26, (9, 16, 3))
    coarse = Image.fromarray(light.astype(np.uint8))
    picture = coarse.resize((width, height), Image.Resampling.BICUBIC)
    draw = ImageDraw.Draw(picture)
    for _ in range(8):
        x, y = int(random.integers(width)), int(random.integers(height * 2 // 3))
        w, h = width // int(random.integers(8, 24)), height // int(random.integers(4, 12))
        draw.rectangle((x, y, x + w, y + h), fill=tuple(map(int, random.integers(30, 225, 3))))
    grain = random.normal(0, 3, (height, width, 1))
    return Image.fromarray(np.clip(np.asarray(picture) + grain, 0, 255).astype(np.uint8))


def line_on_scenery(text: str, *, width: int = 640, height: int = 360) -> Image.Image:
    """A still picture with one small line, which is all that changes from one to the next."""
    picture = scenery(width, height)
    draw = ImageDraw.Draw(picture)
    draw.rectangle((0, height - 48, width, height - 12), fill="#202020")
    draw.text((16, height - 44), text, fill="#f0f0f0", font=font(24))
    return picture


def feed(posts: Sequence[str], offset: int, *, width: int = 640, height: int = 360) -> Image.Image:
    """A window on a long column of posts, moved up by `offset` pixels; 60 pixels per post."""
    picture = Image.new("RGB", (width, height), "#ffffff")
    draw = ImageDraw.Draw(picture)
    for number, post in enumerate(posts):
        draw.text((24, 60 * number + 16 - offset), post, fill="#101010", font=font(26))
    return picture


def save(picture: Image.Image, path: Path) -> Path:
    """Write the picture as the sampler does: a JPEG of good quality."""
    picture.save(path, quality=90)
    return path


def _behind(background: Image.Image | None, width: int, height: int) -> Image.Image:
    return background.resize((width, height)) if background else scenery(width, height)


def _write(
    picture: Image.Image,
    lines: Sequence[str],
    *,
    at: tuple[int, int],
    size: int,
    fill: str,
    outline: int = 0,
) -> None:
    draw = ImageDraw.Draw(picture)
    for number, line in enumerate(lines):
        x, y = at[0], at[1] + int(number * size * 1.6)
        draw.text((x, y), line, fill, font(size), stroke_width=outline, stroke_fill="black")
