"""A library with little in it, of which every moment is known: for watching and finding."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rushes.library import demo_film, indexing
from rushes.library.demo_film import Line, Scene
from rushes.library.indexing import Source
from tests.media.clips import AAC, X264, beeps, lavfi
from tests.waiting import until
from tests.web.browser.site import Site

SECONDS, TURN_S, BACK_S = 6, 1.6, 3.2
CHAPTERS = f""";FFMETADATA1
[CHAPTER]
TIMEBASE=1/1000
START=0
END={TURN_S * 1000:.0f}
title=Rain
[CHAPTER]
TIMEBASE=1/1000
START={TURN_S * 1000:.0f}
END={SECONDS}000
title=The vote
"""
SCENE = Scene(end_ms=60_000, dark="#0b1f3a", light="#27527d")
PAYLOADS = (
    "<script>alert(1)</script>",
    '"><img src=x onerror="document.title=1">',
    "{{7*7}} =cmd() payload",
    "\u202eabc payload \u0627\u0644\u0639 \U0001f468\u200d\U0001f469\u200d\U0001f467",
)


@dataclass(frozen=True)
class Shelf:
    """`council` says who votes between `TURN_S` and `BACK_S`; `hostile` is all payload."""

    council: str
    hostile: str


def fill(site: Site, folder: Path) -> Shelf:
    """Take two films in and wait until one can be searched; the other is given its texts."""
    videos = site.server.client.videos
    council = videos.add(film(folder), title="Council meeting", tags=["tram"]).asset_id
    small = folder / "small.mp4"
    lavfi(f"-f lavfi -i testsrc2=size=320x180:rate=25:duration=3 {X264}", small)
    hostile = videos.add(small, title=PAYLOADS[1], tags=[PAYLOADS[0]], text=False).asset_id
    until(lambda: videos.get(hostile).status == "ready", 60)
    with site.place.app() as app:
        app.db.transact(lambda tx: indexing.put(tx, hostile, [*_hostile_lines()]))
        app.db.transact(lambda tx: tx.run("mark_searchable", id=hostile))
    until(lambda: videos.get(council).searchable_at and videos.get(council).status == "ready", 120)
    return Shelf(council, hostile)


def _hostile_lines() -> list[indexing.Line]:
    return [
        indexing.Line(Source.SCREEN, 500 * number, 2_500, text, box=(20, 20 + 30 * number, 200, 20))
        for number, text in enumerate(PAYLOADS)
    ]


def film(folder: Path, seconds: int = SECONDS, size: str = "640:360") -> Path:
    """Make two chapters and two pictures with words, of which the second is shown for a while."""
    first = Line(text="Rain over the harbour", start_ms=0, end_ms=0, y=300, size=60)
    second = Line(text="Council votes today @reuters", start_ms=0, end_ms=0, y=560, size=60)
    for name, lines in (("a", (first,)), ("b", (first, second))):
        demo_film.draw(SCENE, lines, 0).save(folder / f"{name}.png")
    target = folder / f"council-{seconds}.mp4"
    stills = " ".join(
        f"-loop 1 -framerate 25 -t {length:g} -i {folder / name}.png"
        for name, length in (("a", TURN_S), ("b", BACK_S - TURN_S), ("a", seconds - BACK_S))
    )
    (folder / "chapters.txt").write_text(CHAPTERS)
    chapters = f"-f ffmetadata -i {folder / 'chapters.txt'}"
    joined = f"-filter_complex concat=n=3,scale={size} -map_chapters 3 -g 50"
    lavfi(f"{stills} {chapters} {beeps(seconds)} {joined} {X264} {AAC} -shortest", target)
    return target
