"""Reading text beside pytesseract and tesserocr: CPU time per frame, and characters that are wrong.

All read the same JPEG files, twelve cards of 1080 lines in three languages: slides, and lower
thirds and subtitles on frames of a film. One thread each, with everything loaded before the clock
starts; pytesseract starts its program for every picture, as it always does. Tesseract gets the
data of all three languages and looks for sparse text (psm 11), which suits it best. A line is
compared with the stretch of the text found that comes closest to it: what an engine makes up
beside the lines, or a line that it breaks in two, costs it nothing.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import av

from bench.engine.options import DEFAULT_CACHE
from bench.media.film import film
from tests.media import cards

PINS = Path(__file__).parent / "pins"
TESSDATA = Path("/usr/share/tesseract-ocr/5/tessdata")
PRELUDE = """
import json, resource, sys
def spent():
    usages = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)
"""
CLOCK = """
read(sys.argv[1])
for path in sys.argv[1:]:
    start = spent()
    text = read(path)
    print(json.dumps([spent() - start, text]))
"""
ARMS = {
    "rushes": """
from pathlib import Path
from rushes.media.child.rapid import Rapid
engine = Rapid()
def read(path):
    return " ".join(region.text for region in engine.read(Path(path)) if region.confidence >= 0.6)
""",
    "pytesseract": """
import pytesseract
from PIL import Image
def read(path):
    found = pytesseract.image_to_data(Image.open(path), lang="eng+deu+fra", config="--psm 11",
                                      output_type=pytesseract.Output.DICT)
    return " ".join(word for word in found["text"] if word.strip())
""",
    "tesserocr": f"""
import tesserocr
from PIL import Image
api = tesserocr.PyTessBaseAPI(path="{TESSDATA}", lang="eng+deu+fra", psm=tesserocr.PSM.SPARSE_TEXT)
def read(path):
    api.SetImage(Image.open(path))
    return " ".join(api.GetUTF8Text().split())
""",
}


def check() -> None:
    """Refuse to begin without the peers' data: they are measured last."""
    if not (TESSDATA / "fra.traineddata").exists():
        raise SystemExit("bench: apt install tesseract-ocr tesseract-ocr-deu tesseract-ocr-fra")


def run(rounds: int) -> dict[str, float]:
    """Measure all three, print a table, and return ours beside the peers' figures."""
    drawn = _cards()
    pythons = {arm: _python(arm) for arm in ARMS}
    milliseconds: dict[str, list[float]] = {arm: [] for arm in ARMS}
    errors: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        paths = [
            cards.save(card.picture, Path(folder) / f"{number:02d}.jpg")
            for number, card in enumerate(drawn)
        ]
        for _ in range(rounds):
            for arm, python in pythons.items():
                answers = _ask(python, PRELUDE + ARMS[arm] + CLOCK, paths)
                seconds, texts = zip(*answers, strict=True)
                milliseconds[arm].append(statistics.mean(seconds) * 1000)
                errors[arm] = _error_rate(drawn, texts)
    return _report({arm: statistics.median(each) for arm, each in milliseconds.items()}, errors)


def _cards() -> list[cards.Card]:
    """Return a card for every language and style, each with a moment of the film behind it."""
    wanted = [(language, style) for language in cards.LINES for style in cards.STYLES]
    with av.open(str(film())) as container:
        frames = [frame for frame in container.decode(video=0) if frame.time % 2 == 0]
    behind = [frame.to_image() for frame in frames[: len(wanted)]]
    return [
        cards.card(language, style, 1080, background)
        for (language, style), background in zip(wanted, behind, strict=True)
    ]


def _report(milliseconds: dict[str, float], errors: dict[str, float]) -> dict[str, float]:
    print(f"{'reading text, 1080p':<20} {'CPU ms/frame':>12} {'wrong characters':>17}")
    for arm in ARMS:
        print(f"{arm:<20} {milliseconds[arm]:>12.0f} {errors[arm]:>16.1%}")
    return {
        "ocr_ratio": round(milliseconds["pytesseract"] / milliseconds["rushes"], 2),
        "ocr_cer": round(errors["rushes"], 4),
        "ocr_cer_peer": round(errors["tesserocr"], 4),
    }


def _ask(python: Path, program: str, paths: Sequence[Path]) -> list[tuple[float, str]]:
    done = subprocess.run(
        [python, "-c", program, *paths],
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, "OMP_THREAD_LIMIT": "1"},
    )
    if done.returncode:
        raise SystemExit(f"bench: reading failed:\n{done.stderr[-2_000:]}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def _error_rate(drawn: Sequence[cards.Card], texts: Sequence[str]) -> float:
    pairs = [(line, text) for card, text in zip(drawn, texts, strict=True) for line in card.lines]
    return sum(_wrong(line, text) for line, text in pairs) / sum(len(line) for line, _ in pairs)


def _wrong(line: str, text: str) -> int:
    """Count the edits between the line and the stretch of the text that is closest to it."""
    row = [0] * (len(text) + 1)
    for i, letter in enumerate(line, 1):
        before, row[0] = row[0], i
        for j, other in enumerate(text, 1):
            before, row[j] = row[j], min(before + (letter != other), row[j] + 1, row[j - 1] + 1)
    return min(row)


def _python(arm: str) -> Path:
    """Return the interpreter of an arm; peers have an environment of their own."""
    pins = PINS / f"{arm}.txt"
    if not pins.exists():
        return Path(sys.executable)
    cache = Path(os.environ.get("RUSHES_BENCH_CACHE") or DEFAULT_CACHE).expanduser()
    digest = hashlib.sha256(pins.read_bytes()).hexdigest()[:8]
    home = cache / "environments" / f"{arm}-{digest}"
    if not home.exists():
        print(f"creating the environment of {arm}", file=sys.stderr)
        draft = home.with_name(f"{home.name}.{os.getpid()}")
        shutil.rmtree(draft, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", draft], check=True)
        install = [draft / "bin" / "python", "-m", "pip", "install", "-q", "--no-deps", "-r", pins]
        subprocess.run(install, check=True)
        draft.rename(home)
    return home / "bin" / "python"
