"""Tesseract by tesserocr: the second engine, for scripts that RapidOCR does not know.

Page segmentation 11 looks for text in no particular order, as films show it. Only the child of
ocr.py imports this; tesserocr is no dependency of ours.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import tesserocr  # type: ignore[import-untyped]
from PIL import Image, UnidentifiedImageError

from rushes.errors import Permanent
from rushes.media.ocr import Region

FOLDERS = (
    "/usr/share/tesseract-ocr/5/tessdata",
    "/usr/share/tessdata",
    "/usr/share/tesseract/tessdata",
)
CODES = {
    "ar": "ara", "bg": "bul", "cs": "ces", "da": "dan", "de": "deu", "el": "ell", "en": "eng",
    "es": "spa", "fi": "fin", "fr": "fra", "he": "heb", "hi": "hin", "hu": "hun", "it": "ita",
    "ja": "jpn", "ko": "kor", "nl": "nld", "no": "nor", "pl": "pol", "pt": "por", "ro": "ron",
    "ru": "rus", "sv": "swe", "th": "tha", "tr": "tur", "uk": "ukr", "vi": "vie", "zh": "chi_sim",
}  # fmt: skip


class Tesseract:
    """Reads with the data of the given languages together."""

    def __init__(self, languages: tuple[str, ...] = ("en",)) -> None:
        wanted = [CODES.get(language, language) for language in languages]
        folder = next((path for path in FOLDERS if _holds(path, wanted)), None)
        if folder is None:
            raise Permanent(
                f"Tesseract has no data for {', '.join(languages)}",
                error_code="OCR_UNAVAILABLE",
                hint=f"apt install {' '.join(f'tesseract-ocr-{code}' for code in wanted)}",
            )
        self._api: Any = tesserocr.PyTessBaseAPI(
            path=folder, lang="+".join(wanted), psm=tesserocr.PSM.SPARSE_TEXT
        )

    def read(self, path: Path) -> list[Region]:
        try:
            with Image.open(path) as picture:
                self._api.SetImage(picture.convert("RGB"))
        except (UnidentifiedImageError, OSError) as error:
            raise Permanent("the frame is not a picture", error_code="SOURCE_CORRUPT") from error
        self._api.Recognize()
        return list(self._lines())

    def _lines(self) -> Iterable[Region]:
        level = tesserocr.RIL.TEXTLINE
        for line in tesserocr.iterate_level(self._api.GetIterator(), level):
            box = line.BoundingBox(level)
            if box is None:
                continue
            x0, y0, x1, y1 = box
            yield Region(
                text=line.GetUTF8Text(level),
                confidence=line.Confidence(level) / 100,
                box=(x0, y0, x1 - x0, y1 - y0),
            )


def _holds(folder: str, codes: list[str]) -> bool:
    return all((Path(folder) / f"{code}.traineddata").is_file() for code in codes)
