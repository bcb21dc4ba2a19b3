"""The child's side of ocr.py: starts an engine, then reads one frame after the other.

An engine is a class with the method of `OcrEngine`, in a module that nobody but this child
imports, and a line in ENGINES.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import NamedTuple, Protocol

from rushes.errors import Permanent, StageError
from rushes.media.child.entry import tell
from rushes.media.ocr import Region


class OcrEngine(Protocol):
    """Reads one frame. Raises Permanent for a file that is no picture."""

    def __init__(self, languages: tuple[str, ...]) -> None: ...

    def read(self, path: Path) -> list[Region]: ...


class Entry(NamedTuple):
    module: str
    name: str
    hint: str


ENGINES = {
    "rapid": Entry("rushes.media.child.rapid", "Rapid", "pip install 'rushes[ocr]'"),
    "tesseract": Entry(
        "rushes.media.child.tesseract",
        "Tesseract",
        "pip install tesserocr, and the data of each language: apt install tesseract-ocr-deu",
    ),
}


def start(name: str, languages: tuple[str, ...]) -> OcrEngine:
    """Return the engine. Raises Permanent with OCR_UNAVAILABLE if it is not installed."""
    entry = ENGINES[name]
    try:
        module = importlib.import_module(entry.module)
    except ImportError as error:
        raise Permanent(
            f"the OCR engine {name} is not installed: {error}",
            error_code="OCR_UNAVAILABLE",
            hint=entry.hint,
        ) from error
    engine: OcrEngine = getattr(module, entry.name)(languages)
    return engine


def serve(engine: str, languages: list[str], requests: str, frame: str) -> None:
    """Read the file `frame` for every line that comes in by the FIFO `requests`."""
    reader = start(engine, tuple(languages))
    tell({"ready": engine})
    with Path(requests).open() as lines:
        for _ in lines:
            tell(_read(reader, Path(frame)))


def _read(reader: OcrEngine, frame: Path) -> dict[str, object]:
    try:
        return {"regions": reader.read(frame)}
    except StageError as error:
        return {"error": error.error_code}
