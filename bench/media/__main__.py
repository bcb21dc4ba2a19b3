"""`python -m bench.media`: measure every part, print its table, and one JSON object at the end."""

from __future__ import annotations

import json
import os
import platform
import time
from importlib import import_module

from bench.media import ocr
from rushes.media import ffmpeg

PARTS = ("ladder", "chunks", "sample", "ocr")
FIGURES = (
    *("ladder_ratio", "sample_ratio", "ticker_changes_found"),
    *("ocr_ratio", "ocr_cer", "ocr_cer_peer", "chunk_overhead"),
)


def main() -> None:
    """Run the parts that `ONLY` names, or all. What was not measured is null in the last line."""
    rounds = int(os.environ.get("ROUNDS", "3"))
    chosen = [part for part in PARTS if part in os.environ.get("ONLY", ",".join(PARTS)).split(",")]
    if "ocr" in chosen:
        ocr.check()
    started = time.monotonic()
    found = ffmpeg.find()
    print(
        f"medians of {rounds} round(s), CPU seconds of all processes; {os.cpu_count()} cores, "
        f"Python {platform.python_version()}, ffmpeg {found.version} ({found.source})\n"
    )
    figures: dict[str, float] = {}
    for part in chosen:
        figures |= import_module(f"bench.media.{part}").run(rounds)
        print()
    print(f"{(time.monotonic() - started) / 60:.1f} minutes")
    print(json.dumps({name: figures.get(name) for name in FIGURES}))


if __name__ == "__main__":
    main()
