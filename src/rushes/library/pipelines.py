"""The graphs as data. Read it second, after domain/task.py.

    probe ─┬─ thumbnail ──────────────────────────┐
           ├─ audio x sounds ───────┐             │
           ├─ transcode x chunks ─┬─┴─ playlist ──┼─ finalize          the film is ready
           │                      └─ storyboard ──┘
           └─ sample x parts ─ ocr x batches ─ index                   its text is searchable

    clip                                                               a job of its own

A film is playable long before `finalize`: its playlists grow with every chunk. The lower branch
and the pictures beside it are optional: without them the film is complete, with a warning.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Literal

from rushes.domain.graph import Boost, Step
from rushes.media.ocr import Options as OcrOptions

VIDEO, CLIP = "video", "clip"

Steps = dict[str, Step]


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What a person may choose for a film. No `qualities` means all that it can have."""

    qualities: tuple[str, ...] | None = None
    languages: tuple[str, ...] = ("en",)
    engine: Literal["rapid", "tesseract"] = "rapid"
    text: bool = True


def film(asset_id: str, source_key: str, options: Options) -> Steps:
    """Return the steps that make a version of a film, with all that belongs to it."""
    of_asset = {"asset": asset_id}
    beside = {
        "thumbnail": Step(after=("probe",), params=of_asset, optional=True, boost=Boost.ALL),
        "storyboard": Step(
            after=("probe", "transcode"), params=of_asset, optional=True, boost=Boost.ALL, weight=2
        ),
        "audio": Step(after=("probe",), params=of_asset, each="sounds", boost=Boost.ALL, weight=5),
    }
    steps = {**qualities(asset_id, source_key, options.qualities), **beside}
    steps["playlist"] = replace(steps["playlist"], after=("probe", "audio", "transcode"))
    steps["finalize"] = replace(steps["finalize"], after=("playlist", "thumbnail", "storyboard"))
    return steps | (text(asset_id, options) if options.text else {})


def qualities(asset_id: str, source_key: str, wanted: tuple[str, ...] | None) -> Steps:
    """Return the steps that make these qualities and nothing else."""
    of_asset = {"asset": asset_id}
    probe = {**of_asset, "source_key": source_key, "qualities": wanted}
    return {
        "probe": Step(params=probe, boost=Boost.ALL),
        "transcode": Step(
            after=("probe",), params=of_asset, each="chunks", boost=Boost.FIRST, weight=60
        ),
        "playlist": Step(after=("probe", "transcode"), params=of_asset, boost=Boost.ALL),
        "finalize": Step(after=("playlist",), params=of_asset, boost=Boost.ALL),
    }


def clip(params: Mapping[str, object]) -> Steps:
    """Return the one step that cuts a clip. Somebody waits for it, so it goes first."""
    return {"clip": Step(params=params, boost=Boost.ALL)}


def text(asset_id: str, options: Options) -> Steps:
    """Return the steps that read what is on the screen; they follow `probe` of the same job."""
    of_asset = {"asset": asset_id}
    reader = OcrOptions(engine=options.engine, languages=options.languages)
    return {
        "sample": Step(after=("probe",), params=of_asset, each="parts", optional=True, weight=10),
        "ocr": Step(
            after=("sample",),
            params={**of_asset, "options": asdict(reader)},
            each="batches",
            optional=True,
            weight=30,
        ),
        "index": Step(after=("probe", "ocr"), params=of_asset, optional=True),
    }
