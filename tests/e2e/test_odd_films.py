"""Everything that people or attackers may hand over, through one `rushes add`."""

from __future__ import annotations

import re
import shutil
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from rushes.cli.output import printable
from tests.e2e.place import Place
from tests.media.clips import clip
from tests.media.hostile import corpus
from tests.media.hostile.tracer import Listener, listening
from tests.media.test_probe import FILMS, PLAIN

BAD: dict[str, str] = {
    "empty": "SOURCE_EMPTY",
    "headless": "SOURCE_CORRUPT",
    "audio_only": "SOURCE_NO_VIDEO",
    "image": "SOURCE_UNSUPPORTED",
    "text": "SOURCE_UNSUPPORTED",
    "noise": "SOURCE_CORRUPT",
    "huge_film": "SOURCE_TOO_LARGE",
    "huge_png": "SOURCE_UNSUPPORTED",
    "many_tracks": "SOURCE_TOO_LARGE",
    "a_day_too_long": "SOURCE_TOO_LARGE",
    **dict.fromkeys(corpus.ATTACKS, "SOURCE_UNSUPPORTED"),
}
NAMES = (
    "-y.mp4",
    "x%03d.mp4",
    "a;rm -rf ~.mp4",
    "concat:a|b.mp4",
    "\u202egpj.mp4",
    "new\nline.mp4",
)
SIDES = ("width", "height")
RUNG = re.compile(r"RESOLUTION=(\d+)x(\d+).*\n(.+)")
SECONDS = re.compile(r"#EXTINF:([0-9.]+)")


@pytest.mark.timeout(400)
def test_every_odd_film_becomes_the_right_picture_or_one_sentence_with_its_code(
    place: Place, tmp_path: Path
):
    """B-UP-1…23: never a hang, never a traceback, and nothing looks around."""
    with listening() as listener:
        paths = {name: Path(shutil.copy(clip(name), tmp_path)) for name in FILMS}
        paths |= _bad(tmp_path, listener)
        paths |= _odd_names(tmp_path)

        lines = place.lines("add", "--no-text", "--", *paths.values(), code=10)

        assert listener.visits == []
    told = {_path(line): line for line in lines if line["event"] in ("added", "refused")}
    ends = {line["job_id"]: line for line in lines if line["event"] == "finished"}
    for name, path in paths.items():
        line = told[printable(str(path))]
        end = ends[line["job_id"]] if line["event"] == "added" else line
        if name in BAD:
            assert (name, _code(end)) == (name, BAD[name])
        else:
            assert (name, end["status"]) == (name, "completed")
            _check(place, name, line["asset_id"])
    assert place.ask("doctor", "--strict", "--deep")["findings"] == []


def _bad(folder: Path, listener: Listener) -> dict[str, Path]:
    files = {name: folder / f"{name}.mp4" for name in BAD if name not in corpus.ATTACKS}
    for name in ("headless", "audio_only", "image"):
        shutil.copy(clip(name), files[name])
    files["empty"].touch()
    files["text"].write_text("once upon a time")
    files["noise"].write_bytes(bytes(range(256)) * 100)
    corpus.huge_film(files["huge_film"].with_suffix(".mov"), 16_384).rename(files["huge_film"])
    corpus.huge_png(files["huge_png"], 50_000)
    corpus.many_tracks(files["many_tracks"], 10_000)
    day_ms = 86_400_000
    corpus.wrong_duration(folder / "long.mkv", day_ms + 1).rename(files["a_day_too_long"])
    for number, name in enumerate(corpus.ATTACKS):
        files[name] = corpus.write(name, folder / f"attack{number}", listener.port)
    return files


def _odd_names(folder: Path) -> dict[str, Path]:
    """The same little film under names that no program should take for something else."""
    made = {}
    for number, name in enumerate(NAMES):
        made[name] = folder / name
        made[name].write_bytes(clip("one_frame").read_bytes() + bytes([number]))
    return made


def _check(place: Place, name: str, asset_id: str) -> None:
    """See that the largest rung has the size of the film, and that its playlist is as long."""
    if name not in FILMS:
        return
    _, frames, differs, _ = FILMS[name]
    width, height = (int(differs.get(f"display_{one}", PLAIN[f"display_{one}"])) for one in SIDES)
    master = place.playlist(asset_id)
    rungs = RUNG.findall(master.read_text())
    assert max((int(w), int(h)) for w, h, _ in rungs) == (width // 2 * 2, height // 2 * 2), name
    for _, _, rung in rungs:
        seconds = sum(map(float, SECONDS.findall((master.parent / rung).read_text())))
        fps = Fraction(differs.get("fps", PLAIN["fps"]))
        assert seconds == pytest.approx(float(frames / fps), abs=float(1 / fps) + 0.001), name


def _path(line: dict[str, Any]) -> str:
    return str(line["path"])


def _code(end: dict[str, Any]) -> str:
    return str(end.get("error_code") or end.get("code"))
