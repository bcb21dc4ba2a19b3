"""Turns a decoded picture into what a person sees: upright, square pixels, no combs, no HDR.

Every picture that leaves this folder as a JPEG has passed here, so a box found in it is in pixels
of what the person sees. Runs in a child only. Each picture is treated alone, without neighbours:
they may be seconds apart.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np
import simplejpeg  # type: ignore[import-untyped]
from av.filter import Graph
from av.video.frame import VideoFrame
from av.video.reformatter import VideoReformatter
from numpy.typing import NDArray

from rushes.media.view import View

Pixels = NDArray[np.uint8]
Step = tuple[str, str]

UPRIGHT: dict[int, tuple[Step, ...]] = {
    0: (),
    90: (("transpose", "clock"),),
    180: (("hflip", ""), ("vflip", "")),
    270: (("transpose", "cclock"),),
}
# 8 bits, and the first plane is brightness; anything else is converted first
PLAIN = frozenset(
    {"yuv420p", "yuvj420p", "yuv422p", "yuvj422p", "yuv444p", "yuvj444p", "nv12", "gray"}
)
# the first picture costs 3 s, in which a table of colours is made; the others cost nothing
SDR = (
    "out_primaries=bt709:out_transfer=bt709:out_color_matrix=bt709:out_range=tv"
    ":intent=relative_colorimetric"
)
UNSPECIFIED, BT709 = 2, 1
SD_LINES = 576
JPEG_QUALITY = 85
NO_MATTER = Fraction(1, 1000)  # filters want a unit of time, although none of ours uses it


class Display:
    """Shows the pictures of one film. Keeps its filters as long as the pictures stay alike."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._graph: Graph | None = None
        self._made_for: tuple[int, int, str] | None = None
        self._reformatter = VideoReformatter()

    def show(self, frame: VideoFrame) -> VideoFrame:
        """Return the picture upright, in square pixels, 8 bits, brightness first."""
        if frame.colorspace == UNSPECIFIED and min(frame.width, frame.height) > SD_LINES:
            frame.colorspace = BT709
        steps = tuple(self._steps(frame))
        if not steps:
            return frame
        kind = (frame.width, frame.height, frame.format.name)
        if self._graph is None or self._made_for != kind or self._view.interlaced:
            self._graph, self._made_for = _graph(frame, steps), kind
        self._graph.vpush(frame)
        if self._view.interlaced:
            # the filter would wait for a neighbour; alone, a picture keeps its still details
            self._graph.vpush(None)
        return self._graph.vpull()

    def pixels(self, shown: VideoFrame, size: tuple[int, int] | None = None) -> Pixels:
        """Return a shown picture as RGB, scaled to `size`."""
        width, height = size or (shown.width, shown.height)
        rgb = self._reformatter.reformat(
            shown, width=width, height=height, format="rgb24", interpolation="AREA"
        )
        return np.ascontiguousarray(rgb.to_ndarray(), dtype=np.uint8)

    def _steps(self, frame: VideoFrame) -> Iterator[Step]:
        view = self._view
        if view.interlaced:
            yield "yadif", "mode=send_frame:deint=all"
        if view.hdr:
            yield "scale", SDR
        yield from UPRIGHT[view.rotation]
        size = (frame.width, frame.height)
        if (size[::-1] if view.rotation in {90, 270} else size) != (view.width, view.height):
            yield "scale", f"{view.width}:{view.height}"
        if view.hdr or frame.format.name not in PLAIN:
            yield "format", "yuv420p"


def luma(shown: VideoFrame) -> Pixels:
    """Return the brightness of a shown picture, without a copy."""
    plane = shown.planes[0]
    rows: Pixels = np.frombuffer(memoryview(plane), np.uint8)
    return rows.reshape(plane.height, plane.line_size)[:, : plane.width]


def write_jpeg(path: Path, pixels: Pixels, quality: int = JPEG_QUALITY) -> None:
    """Write RGB pixels. The raw planes would save 2 ms, and be pale: JPEG knows no video range."""
    path.write_bytes(
        simplejpeg.encode_jpeg(pixels, quality, colorspace="RGB", colorsubsampling="420")
    )


def _graph(frame: VideoFrame, steps: tuple[Step, ...]) -> Graph:
    graph = Graph()
    nodes = [
        graph.add_buffer(
            width=frame.width,
            height=frame.height,
            format=frame.format,
            time_base=NO_MATTER,
        ),
        *(graph.add(name, arguments) for name, arguments in steps),
        graph.add("buffersink"),
    ]
    graph.link_nodes(*nodes).configure()
    return graph
