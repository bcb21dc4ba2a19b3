"""The child's side of sample.py: decodes, compares, writes. Keeps no picture but the last kept."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

from av.video.frame import VideoFrame

from rushes.media.child.display import Display, luma, write_jpeg
from rushes.media.child.entry import tell
from rushes.media.child.phash import Cells, bits_apart, cells, distance, phash, tile_changed
from rushes.media.child.reel import MICROSECONDS, Picture, Reel
from rushes.media.child.scenes import Scenes
from rushes.media.sample import Part, Rules, frame_name
from rushes.media.view import View

LEAD_MS = 1_000  # decoded before a part, so that its first moment is judged like any other
LEAD_LOOKS = 3
TELL_EVERY = 20


def run(
    path: str, view: dict[str, Any], part: dict[str, int], rules: dict[str, Any], folder: str
) -> dict[str, object]:
    """Sample one part; tell of every picture that is kept, and now and then of the time."""
    sampler = _Sampler(View(**view), Part(**part), Rules(**rules), Path(folder))
    with Reel(path, sampler.view) as reel:
        for picture in _on_grid(reel, sampler):
            sampler.see(picture)
    return {"looked_at": sampler.looked_at, "cuts_ms": sampler.cuts_ms}


def _on_grid(reel: Reel, sampler: _Sampler) -> Iterator[Picture]:
    """Yield the first picture of each slot, from somewhere before the part to its end."""
    fps = Fraction(sampler.rules.target_fps).limit_denominator(1000)
    lead_ms = max(LEAD_MS, int(LEAD_LOOKS * 1000 / fps))
    frame_us = sampler.view.frame_us

    def slot(time_us: int) -> int:
        return time_us * fps.numerator // (fps.denominator * MICROSECONDS)

    def skips(time_us: int) -> bool:
        """A constant rate tells beforehand which pictures are not the first of their slot."""
        return slot(time_us) == slot(time_us - frame_us)

    last_slot: int | None = None
    start_ms = max(0, sampler.part.start_ms - lead_ms)
    for picture in reel.pictures(start_ms, skips if frame_us else None):
        if picture.t_ms >= sampler.part.end_ms:
            return
        if slot(picture.time_us) != last_slot:
            last_slot = slot(picture.time_us)
            yield picture


class _Sampler:
    def __init__(self, view: View, part: Part, rules: Rules, folder: Path) -> None:
        self.view = view
        self.part = part
        self.rules = rules
        self.looked_at = 0
        self.cuts_ms: list[int] = []
        self._folder = folder
        self._display = Display(view)
        self._scenes = Scenes()
        self._kept = Kept(rules)

    def see(self, picture: Picture) -> None:
        shown = self._display.show(picture.frame)
        seen = cells(luma(shown))
        begins = self._scenes.begins(seen)
        if picture.t_ms < self.part.start_ms:
            return
        self.looked_at += 1
        if begins:
            self.cuts_ms.append(picture.t_ms)
        if self._kept.takes(seen, picture.t_ms):
            self._write(shown, picture.t_ms)
        if self.looked_at % TELL_EVERY == 0:
            tell({"t_ms": picture.t_ms})

    def _write(self, shown: VideoFrame, t_ms: int) -> None:
        pixels = self._display.pixels(shown)
        write_jpeg(self._folder / frame_name(t_ms), pixels, self.rules.quality)
        tell({"t_ms": t_ms, "kept": [shown.width, shown.height]})


class Kept:
    """The last picture that was kept, and whether another one looks like it."""

    def __init__(self, rules: Rules) -> None:
        self._bits = bits_apart(rules.dedupe_threshold)
        self._rules = rules
        self._cells: Cells | None = None
        self._hash = 0
        self._t_ms = 0

    def takes(self, picture: Cells, t_ms: int) -> bool:
        """Say whether to keep this picture; if so, it is the one to compare with from now on."""
        hash = phash(picture)
        if self._cells is not None and self._alike(picture, hash, t_ms):
            return False
        self._cells, self._hash, self._t_ms = picture, hash, t_ms
        return True

    def _alike(self, picture: Cells, hash: int, t_ms: int) -> bool:
        assert self._cells is not None
        return (
            t_ms - self._t_ms < self._rules.force_every_ms
            and picture.shape == self._cells.shape
            and distance(hash, self._hash) <= self._bits
            and not (self._rules.tiles and tile_changed(self._cells, picture))
        )
