"""RapidOCR: the default engine. Its models lie inside the wheel, so it needs no network.

It knows Latin letters with all accents, Greek, kana and Han; no Cyrillic, Arabic or Hangul.
Text is found in a frame made to fit 960 pixels and read at full size: in 1080 lines a font of 20
pixels is read without a fault, one of 12 with 3 %. Only the child of ocr.py imports this.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

# read when the library is loaded: since 1.29 it reports to its maker unless told not to
os.environ["ORT_DISABLE_TELEMETRY"] = "1"

import cv2
import numpy as np
import onnxruntime  # type: ignore[import-untyped]  # noqa: F401  rapidocr imports it too late
import rapidocr
from numpy.typing import NDArray

from rushes.errors import Permanent
from rushes.media.child.crops import Crops
from rushes.media.ocr import Region
from rushes.media.text import Box

PARAMS: dict[str, object] = {
    "Global.log_level": "error",
    "Global.max_side_len": 1_000_000,  # lines are cut out unscaled; the detector has its own limit
    "Det.limit_type": "max",
    "Det.limit_side_len": 960,
    # the lines of a batch are padded to the widest: one by one costs a fifth less
    "Rec.rec_batch_num": 1,
    "EngineConfig.onnxruntime.intra_op_num_threads": 1,
    "EngineConfig.onnxruntime.inter_op_num_threads": 1,
    "EngineConfig.onnxruntime.enable_cpu_mem_arena": True,
}


class Rapid:
    """Finds the lines of a frame and reads those that it has not read lately."""

    def __init__(self, languages: tuple[str, ...] = ()) -> None:  # noqa: ARG002  one model for all
        cv2.setNumThreads(1)
        self._engine: Any = rapidocr.RapidOCR(params=PARAMS)
        self._crops = Crops()
        self.recognised = 0

    def read(self, path: Path) -> list[Region]:
        picture = cv2.imread(str(path), cv2.IMREAD_COLOR)
        if picture is None:
            raise Permanent("the frame is not a picture", error_code="SOURCE_CORRUPT")
        return self.read_picture(np.asarray(picture, np.uint8))

    def read_picture(self, picture: NDArray[np.uint8]) -> list[Region]:
        """Read a picture of blue, green and red."""
        # the flags of one call stay for the next, so every call says all three
        found = self._engine(picture, use_det=True, use_cls=False, use_rec=False)
        if found.boxes is None:
            return []
        self._crops.look(picture)
        return list(self._regions(picture, found.boxes))

    def _regions(self, picture: NDArray[np.uint8], quads: NDArray[Any]) -> Iterable[Region]:
        for quad in quads:
            box = _upright(quad, picture.shape[1], picture.shape[0])
            if box is None or self._crops.is_flat(box):
                continue
            known = self._crops.find(box)
            if known is None:
                known = self._crops.keep(box, *self._recognise(picture, quad))
            yield Region(text=known.text, confidence=known.confidence, box=box)

    def _recognise(self, picture: NDArray[np.uint8], quad: NDArray[Any]) -> tuple[str, float]:
        self.recognised += 1
        answer = self._engine.recognize_txt(self._engine.crop_text_regions(picture, [quad]))
        return str(answer.txts[0]), float(answer.scores[0])


def _upright(quad: NDArray[Any], width: int, height: int) -> Box | None:
    """Return the upright box around four corners, inside the picture."""
    x0, y0 = np.floor(np.clip(quad.min(axis=0), 0, (width, height))).astype(int).tolist()
    x1, y1 = np.ceil(np.clip(quad.max(axis=0), 0, (width, height))).astype(int).tolist()
    return (x0, y0, x1 - x0, y1 - y0) if x1 - x0 > 1 and y1 - y0 > 1 else None
