"""Reads the text in pictures: regions with a place and a confidence.

    with ocr.reader(Options(), folder=folder) as reader:
        readings = reader.read(frames)

Starting an engine takes more than a second, so one child serves a reader as long as it is open.
It sees one folder, into which each frame is copied in turn. A frame that kills the child is
tried once more with a new one, then it alone is lost: its reading carries the error.
"""

from __future__ import annotations

import os
import queue
import re
import shutil
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from rushes.errors import Permanent, Retryable, StageError, ToolFailed
from rushes.media import sandbox
from rushes.media.sandbox import Limits, Watch
from rushes.media.text import Box, clean

if TYPE_CHECKING:
    from rushes.media.sample import Frame

MAX_REGIONS = 500
MAX_CODE = 40
LIMITS = Limits(wall_s=6 * 3600, cpu_s=6 * 3600)  # of a child; the next one goes on
START_S = 120.0
FRAME_S = 120.0
TRIES = 2
LOST_IN_A_ROW = 3
TICK_S = 0.2
# nothing, or what an engine makes of edges and boxes
FURNITURE = re.compile(r"[\s|_.\-\u2014\u2500-\u25ff]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Region:
    """A piece of text and where it stands."""

    text: str
    confidence: float
    box: Box


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What one frame says, or the code of the error for which nobody knows."""

    t_ms: int
    regions: tuple[Region, ...]
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How to read. Languages (`en` or `eng`) choose the data of Tesseract; RapidOCR needs none."""

    engine: Literal["rapid", "tesseract"] = "rapid"
    languages: tuple[str, ...] = ("en",)
    min_confidence: float = 0.6


def is_installed() -> bool:
    """Whether the usual engine is here. Importing it would take a second."""
    return all(find_spec(name) for name in ("rapidocr", "onnxruntime"))


@contextmanager
def reader(
    options: Options = Options(),  # noqa: B008  a frozen value
    *,
    folder: Path,
    limits: Limits = LIMITS,
    watch: Watch = sandbox.SILENT,
) -> Iterator[Reader]:
    """Start an engine in a child of its own and end it with the block.

    Raises Permanent with OCR_UNAVAILABLE if the engine or its data is not installed.
    """
    opened = Reader(options, folder, limits, watch)
    try:
        opened.start()
        yield opened
    finally:
        opened.close()


class Reader:
    """One engine in one child; for one thread."""

    def __init__(self, options: Options, folder: Path, limits: Limits, watch: Watch) -> None:
        self._options = options
        self._folder = folder
        self._limits = limits
        self._watch = watch
        self._child: _Child | None = None
        self._lost = 0

    def start(self) -> None:
        self._child = _Child(self._options, self._folder, self._limits)
        try:
            self._child.hear(START_S, self._watch)
        except _Died as death:
            self.close()
            raise death.error from None

    def close(self) -> None:
        if self._child is not None:
            self._child.close()
            self._child = None

    def read(self, frames: Sequence[Frame], watch: Watch | None = None) -> list[Reading]:
        """Read the frames, one reading each. What `watch.tick` raises goes on to the caller.

        A reader that outlives its caller's task takes the watch of each. Raises ToolFailed when
        frame after frame kills the child: then it is not the frames.
        """
        self._watch = watch or self._watch
        readings = []
        for number, frame in enumerate(frames, 1):
            readings.append(self._read(frame))
            self._watch.progress(number / len(frames))
        return readings

    def _read(self, frame: Frame) -> Reading:
        if not Path(frame.path).is_file():
            raise Permanent(f"{Path(frame.path).name} is not there", error_code="SOURCE_MISSING")
        for _ in range(TRIES):
            try:
                reading = self._ask(frame)
            except _Died as death:
                self.close()
                error = death.error
            except BaseException:
                self.close()  # or its answer would be taken for that of the next frame
                raise
            else:
                self._lost = 0
                return reading
        self._lost += 1
        if self._lost == LOST_IN_A_ROW:
            raise ToolFailed(
                f"the engine died of {LOST_IN_A_ROW} frames in a row: {error.message}",
                error_code=error.error_code,
                hint=error.hint,
            )
        return Reading(t_ms=frame.t_ms, regions=(), error=error.error_code)

    def _ask(self, frame: Frame) -> Reading:
        if self._child is None:
            self.start()
        assert self._child is not None
        self._child.send(frame)
        match self._child.hear(FRAME_S, self._watch):
            case {"regions": list(found)}:
                regions = _regions(found, frame, self._options.min_confidence)
                return Reading(t_ms=frame.t_ms, regions=regions)
            case {"error": str(code)}:
                return Reading(t_ms=frame.t_ms, regions=(), error=clean(code)[:MAX_CODE])
        raise _Died(ToolFailed("the engine gave no regions", error_code="OUTPUT_INVALID"))


class _Died(Exception):
    def __init__(self, error: StageError) -> None:
        super().__init__(error.message)
        self.error = error


class _Stopped(Exception):
    pass


class _Leash(Watch):
    """Ends the child when nobody wants it any more."""

    let_go = False

    def tick(self) -> None:
        if self.let_go:
            raise _Stopped


class _Child:
    """A thread that waits in `sandbox.call`, a FIFO to its child and a queue of what it tells.

    One frame is under way at a time, so the FIFO never fills and no answer meets a wrong frame.
    """

    def __init__(self, options: Options, folder: Path, limits: Limits) -> None:
        self._options = options
        self._folder = folder
        self._limits = limits
        self._leash = _Leash()
        self._told: queue.SimpleQueue[object] = queue.SimpleQueue()
        self._frame = folder / "frame"
        self._requests = folder / "requests"
        self._requests.unlink(missing_ok=True)
        os.mkfifo(self._requests, 0o600)
        # open for both, so that neither opening nor writing waits for a child that is dead
        self._fifo = os.open(self._requests, os.O_RDWR | os.O_CLOEXEC)
        self._thread = threading.Thread(target=self._serve, name="ocr", daemon=True)
        self._thread.start()

    def send(self, frame: Frame) -> None:
        shutil.copyfile(frame.path, self._frame)
        os.write(self._fifo, b"\n")

    def hear(self, patience_s: float, watch: Watch) -> object:
        """Wait for what the child tells next. Raises _Died if it ends or takes too long."""
        end = time.monotonic() + patience_s
        while time.monotonic() < end:
            watch.tick()
            try:
                told = self._told.get(timeout=TICK_S)
            except queue.Empty:
                continue
            if isinstance(told, StageError):
                raise _Died(told)
            if isinstance(told, BaseException):
                raise told
            return told
        late = f"the engine did not answer for {patience_s:.0f} s"
        raise _Died(Retryable(late, error_code="WORKER_TIMEOUT"))

    def close(self) -> None:
        self._leash.let_go = True
        self._thread.join()
        os.close(self._fifo)
        self._requests.unlink()
        self._frame.unlink(missing_ok=True)

    def _serve(self) -> None:
        try:
            sandbox.call(
                "rushes.media.child.engines:serve",
                {
                    "engine": self._options.engine,
                    "languages": self._options.languages,
                    "requests": str(self._requests.absolute()),
                    "frame": str(self._frame.absolute()),
                },
                folder=self._folder,
                limits=self._limits,
                watch=self._leash,
                on_message=self._told.put,
            )
        except BaseException as error:  # noqa: BLE001  it belongs to the thread that listens
            self._told.put(error)
        else:
            self._told.put(ToolFailed("the engine ended early", error_code="INTERNAL"))


def _regions(found: list[object], frame: Frame, least: float) -> tuple[Region, ...]:
    """Take what a child says for what it is: the word of one who has seen a foreign picture."""
    regions = (_region(raw, frame) for raw in found[:MAX_REGIONS])
    # what is not a number is not at least anything
    return tuple(region for region in regions if region and region.confidence >= least)


def _region(raw: object, frame: Frame) -> Region | None:
    match raw:
        case {
            "text": str(said),
            "confidence": int() | float() as confidence,
            "box": [int(x), int(y), int(width), int(height)],
        }:
            text = clean(said)
            if FURNITURE.fullmatch(text):
                return None
            x, y = min(max(x, 0), frame.width), min(max(y, 0), frame.height)
            box = (x, y, min(max(width, 0), frame.width - x), min(max(height, 0), frame.height - y))
            return Region(text=text, confidence=float(min(max(confidence, 0), 1)), box=box)
    return None
