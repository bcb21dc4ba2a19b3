"""How a film is seen: which stream, how large, what stands in the way. The order to display.py."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from rushes.media.source import VideoStream


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """The size is that of the picture once it is upright and its pixels are square.

    `frame_us`: how long every frame is shown, where that is sure.
    """

    stream: int
    width: int
    height: int
    rotation: int = 0
    interlaced: bool = False
    hdr: bool = False
    frame_us: int = 0

    def fit(self, box_px: int) -> tuple[int, int]:
        """Return the even size that fits a square box; never larger than the film itself.

        >>> View(stream=0, width=1920, height=1080).fit(160)
        (160, 90)
        >>> View(stream=0, width=90, height=121).fit(160)
        (90, 120)
        """
        scale = min(1.0, box_px / max(self.width, self.height))
        width, height = (max(2, int(side * scale / 2) * 2) for side in (self.width, self.height))
        return width, height


def view_of(video: VideoStream) -> dict[str, object]:
    """Return the view of a probed stream, as an argument for a child."""
    return asdict(
        View(
            stream=video.index,
            width=video.display_width,
            height=video.display_height,
            rotation=video.rotation,
            interlaced=video.interlaced,
            hdr=video.hdr is not None,
            frame_us=0 if video.variable or video.interlaced else int(1_000_000 / video.fps),
        )
    )
