"""`python -m bench.search`: find words, parts and misread words among SPANS texts.

On both databases, beside a scan of every text (LIKE) and beside Tantivy. All of it at a tenth of
SPANS and at SPANS; `growth` is how much longer the slow questions of a kind take then.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import tempfile
from contextlib import ExitStack, closing
from pathlib import Path

from bench.engine.environments import python_of
from bench.engine.options import read_options
from bench.progress import say
from bench.search.corpus import SPANS_PER_VIDEO, Corpus, Question
from bench.search.shelf import Shelf, Times
from rushes.library.query import Mode
from rushes.store.database import open_database
from tests.postgres import PostgresServer

QUESTIONS = 100
SCANS = 8
PINS = Path(__file__).parent / "pins"
MODES = (Mode.WORDS, Mode.SUBSTRING, Mode.FUZZY)

Figures = dict[str, float]


def main() -> None:
    """Measure, print a table, and one JSON object as the last line."""
    spans = int(os.environ.get("SPANS", "1000000"))
    corpus = Corpus()
    asked = {
        Mode.WORDS: list(corpus.words_asked(QUESTIONS)),
        Mode.SUBSTRING: list(corpus.parts_asked(QUESTIONS)),
        Mode.FUZZY: list(corpus.slips_asked(QUESTIONS)),
    }
    columns: dict[str, Figures] = {}
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        server = stack.enter_context(PostgresServer())
        places = {
            "sqlite": f"sqlite:///{folder}/rushes.db",
            "postgres": server.create_database("search"),
        }
        for name, url in places.items():
            db = stack.enter_context(closing(open_database(url)))
            db.migrate()
            columns[name] = _of_database(name, Shelf(db, corpus), spans, asked)
        columns["tantivy"] = _of_tantivy(corpus, spans, asked, Path(folder))
    _print(columns, spans)


def _of_database(name: str, shelf: Shelf, spans: int, asked: dict[Mode, list[Question]]) -> Figures:
    figures: Figures = {}
    for size, n in (("small", spans // 10), ("", spans)):
        say(f"{name}: writing {n:,} spans")
        figures["spans_per_s"] = round(shelf.fill(n))
        shelf.settle()
        for mode in MODES:
            _note(figures, f"{size}{mode}", shelf.ask(mode, asked[mode]))
    _note(figures, "scan", shelf.scan(asked[Mode.WORDS][:SCANS]))
    figures["index_mb"] = round(shelf.index_mb(), 1)
    figures["growth"] = round(
        max(figures[f"{mode}_p95"] / figures[f"small{mode}_p95"] for mode in MODES), 2
    )
    return figures


def _of_tantivy(
    corpus: Corpus, spans: int, asked: dict[Mode, list[Question]], folder: Path
) -> Figures:
    say("tantivy")
    lines, home = folder / "lines.txt", folder / "tantivy"
    home.mkdir()
    with lines.open("w") as file:
        for number in range(spans // SPANS_PER_VIDEO):
            file.writelines(f"{line.text}\n" for line in corpus.video(number))
    python = python_of("tantivy", read_options().cache, PINS)
    peer = Path(__file__).with_name("tantivy_peer.py")
    questions = {str(mode): [one.text for one in asked[mode]] for mode in MODES}
    done = subprocess.run(
        [python, peer, lines, home],
        input=json.dumps(questions),
        capture_output=True,
        text=True,
        check=True,
    )
    figures: Figures = json.loads(done.stdout)
    return figures


def _note(figures: Figures, name: str, times: Times) -> None:
    figures |= {f"{name}_p50": times.p50, f"{name}_p95": times.p95}


def _print(columns: dict[str, Figures], spans: int) -> None:
    print(
        f"{spans:,} spans in {spans // SPANS_PER_VIDEO:,} videos, {QUESTIONS} questions of each "
        f"kind, ms; {os.cpu_count()} cores, Python {platform.python_version()}\n"
    )
    print(f"{'':18}" + "".join(f"{name:>12}" for name in columns))
    for row in columns["sqlite"]:
        cells = (columns[name].get(row, float("nan")) for name in columns)
        print(f"{row:18}" + "".join(f"{cell:>12,}" for cell in cells))
    ours = [columns["sqlite"], columns["postgres"]]
    worst = {f"{mode}_p95_ms": max(one[f"{mode}_p95"] for one in ours) for mode in MODES}
    print(
        f"\nwords beside tantivy: {worst['words_p95_ms'] / columns['tantivy']['words_p95']:.1f} x"
    )
    print(json.dumps({**worst, "growth": max(one["growth"] for one in ours)}))


if __name__ == "__main__":
    main()
