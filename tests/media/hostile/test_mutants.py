"""Damaged films by the hundred. A child may die of one; we may not, and nobody hangs.

Several films share a child, which is started again behind the one that killed it.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import psutil
import pytest
from pydantic import TypeAdapter

from rushes.errors import StageError
from rushes.media import ffmpeg, sandbox
from rushes.media.probe import LIMITS, Source
from rushes.media.sandbox import Limits
from tests.media.hostile.mutation import mutant

BATCH = 25
ENCODED = 10  # every tenth also goes through ffmpeg
SECONDS = 60.0
READ = """
import rushes.media.child.demux, rushes.errors
from rushes.media.child.entry import tell
for path in {paths!r}:
    tell([path, "begun"])
    try:
        source = {reader}
    except rushes.errors.StageError as error:
        tell([path, error.error_code])
    else:
        tell([path, source])
"""
READER = 'rushes.media.child.demux.read(path, {"pixels": 10_000_000})'
REFUSALS = {
    *("SOURCE_CORRUPT", "SOURCE_UNSUPPORTED", "SOURCE_NO_VIDEO", "SOURCE_TOO_LARGE"),
    *("SOURCE_EMPTY",),
}
Ends = dict[str, object]


def read_all(
    paths: list[Path], folder: Path, reader: str = READER, seconds: float = SECONDS
) -> Ends:
    """Read films in children; a child that dies is one end, and the next goes on behind it."""
    ends: Ends = {}
    waiting = [str(path) for path in paths]
    while waiting:
        try:
            sandbox.call(
                "timeit:timeit",
                {"stmt": READ.format(paths=waiting, reader=reader), "number": 1},
                folder=folder,
                reads=[paths[0].parent],
                limits=Limits(wall_s=seconds, memory_bytes=LIMITS.memory_bytes),
                on_message=lambda told: ends.update([told] if isinstance(told, list) else []),
            )
        except StageError as error:
            (killer,) = [path for path, end in ends.items() if end == "begun"]
            ends[killer] = f"{type(error).__name__} {error.error_code}"
        waiting = [path for path in waiting if path not in ends]
    return ends


def check(numbers: range, folder: Path, films: Path) -> Counter[str]:
    """Read and encode mutants; return how they ended. Every end must be one that we know."""
    paths = [mutant(number, films) for number in numbers]
    ends = read_all(paths, folder)
    counts: Counter[str] = Counter()
    for path, end in ends.items():
        counts[end if isinstance(end, str) else "read"] += 1
        if isinstance(end, str):
            assert end in REFUSALS or end == "Permanent SOURCE_CORRUPT", (path, end)
            continue
        found = TypeAdapter(Source).validate_python(end)
        assert found.video.frames > 0, path
        assert found.video.fps > 0, path
        assert 0 < found.duration_ms <= 24 * 3_600_000, path
    counts.update(encode(path, folder) for path in paths[::ENCODED])
    assert "not encoded WORKER_TIMEOUT" not in counts
    return counts


def encode(path: Path, folder: Path) -> str:
    """Let ffmpeg make a second of it; any of our errors will do."""
    shrink = ("-t", "1", "-vf", "scale=64:36", "-f", "null", "-")
    try:
        ffmpeg.run(
            [*ffmpeg.input_options(), "-i", ffmpeg.source(path), *shrink],
            folder=folder,
            reads=[path],
            limits=Limits(wall_s=SECONDS),
        )
    except StageError as error:
        return f"not encoded {error.error_code}"
    return "encoded"


@pytest.mark.parametrize("batch", range(12))
def test_mutants_end_in_a_description_or_a_refusal(batch, folder, tmp_path):
    films, before = tmp_path / "films", psutil.Process().children()
    films.mkdir()

    counts = check(range(batch * BATCH, (batch + 1) * BATCH), folder, films)

    assert counts.total() == BATCH + 3
    assert counts["read"], "mutants that nobody can read prove little"
    assert psutil.Process().children() == before


@pytest.mark.soak
def test_twenty_thousand_mutants(folder, tmp_path):
    films, before = tmp_path / "films", psutil.Process().children()
    films.mkdir()
    counts: Counter[str] = Counter()

    for first in range(1000, 21_000, 200):
        counts += check(range(first, first + 200), folder, films)
        for film in films.iterdir():
            film.unlink()

    print(dict(counts))
    assert counts.total() == 22_000
    assert psutil.Process().children() == before


def test_film_that_kills_or_stops_its_child_costs_only_that_child(folder, tmp_path):
    """The control: a reader that crashes on one film and hangs on another."""
    paths = [tmp_path / name for name in ("1", "crash", "3", "hang", "5")]
    for path in paths:
        path.touch()
    reader = (
        "__import__('ctypes').string_at(0) if 'crash' in path else"
        " __import__('time').sleep(60) if 'hang' in path else 'read'"
    )

    ends = read_all(paths, folder, reader, seconds=10)

    assert list(ends.values()) == [
        *("read", "Permanent SOURCE_CORRUPT", "read", "Retryable WORKER_TIMEOUT", "read")
    ]


def test_mutants_are_the_same_every_time(tmp_path):
    first, again = tmp_path / "first", tmp_path / "again"
    first.mkdir()
    again.mkdir()

    assert [mutant(n, first).read_bytes() for n in range(20)] == [
        mutant(n, again).read_bytes() for n in range(20)
    ]
