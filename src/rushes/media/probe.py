"""Finds out what is in a film and what has to be done with it.

The film is opened in a child (demux.py) behind walls; what comes back is JSON that is validated
like any other foreign input.
"""

from __future__ import annotations

from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from rushes.errors import ToolFailed
from rushes.media import sandbox
from rushes.media.sandbox import Limits, Watch
from rushes.media.source import (
    AudioStream,
    Caps,
    Chapter,
    Decision,
    Source,
    SubtitleStream,
    VideoStream,
)

if TYPE_CHECKING:
    from pydantic import TypeAdapter

__all__ = ["AudioStream", "Caps", "Chapter", "Decision", "Source", "SubtitleStream"]
__all__ += ["VideoStream", "probe"]

# reading every packet of a film of 100 GB takes a while; no film needs more memory than this
LIMITS = Limits(wall_s=1800, cpu_s=1800, memory_bytes=2 * sandbox.GIB, file_bytes=1024**2)
USUAL = Caps()


def probe(path: Path, *, folder: Path, caps: Caps = USUAL, watch: Watch = sandbox.SILENT) -> Source:
    """Return what is in the film. Raises Permanent with an input code for one that is refused."""
    from pydantic import ValidationError

    answer = sandbox.call(
        "rushes.media.child.demux:read",
        {"path": str(path.absolute()), "caps": asdict(caps)},
        folder=folder,
        reads=(path,),
        limits=LIMITS,
        watch=watch,
        on_message=lambda told: _progress(watch, told),
    )
    try:
        return _adapter().validate_python(answer)
    except ValidationError as error:
        raise ToolFailed("the film was not described as expected", error_code="INTERNAL") from error


@cache
def _adapter() -> TypeAdapter[Source]:
    from pydantic import TypeAdapter

    return TypeAdapter(Source)


def _progress(watch: Watch, told: object) -> None:
    if isinstance(told, int | float):
        watch.progress(min(1.0, max(0.0, told)))
