"""The ffmpeg arguments that encode some frames of a film's grid, with the sound that goes along.

Everything is counted in frames and samples of the film, never in rounded seconds: that is what
makes a clip exact, and keeps its sound in step.
"""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

from rushes.media import ffmpeg, filters
from rushes.media.source import Source

END_FILL_FRAMES = 2
AUDIO_RATE = 48_000
KEY_FRAME_S = 2
X264 = ("-c:v", "libx264", "-preset", "veryfast", "-crf", "20", "-profile:v", "high")
AAC = ("-c:a", "aac", "-b:a", "160k")
MP4 = ("-map_metadata", "-1", "-map_chapters", "-1", "-f", "mp4", "-movflags", "+faststart")


def arguments(
    path: Path, source: Source, frames: range, *, preroll_ms: int, target: str
) -> list[str]:
    """Return the arguments for `frames`, decoding from `preroll_ms` before them.

    The picture that is shown when the clip begins may have begun long before, so nothing is
    dropped until the grid is filled. A film whose times need repair is read from its start.
    """
    fps = source.video.fps
    begin = max(Fraction(), frames.start / fps - Fraction(preroll_ms, 1000))
    seek = ["-copyts", "-start_at_zero", "-noaccurate_seek", "-ss", f"{float(begin):.6f}"]
    graph = [f"[0:{source.video.index}]{','.join(_picture(source, frames))}[picture]"]
    maps = ["-map", "[picture]"]
    if source.audio:
        graph.append(f"[0:{source.audio[0].index}]{','.join(_sound(frames, fps))}[sound]")
        maps += ["-map", "[sound]", *AAC]
    return [
        *([] if source.linear else seek),
        *(*ffmpeg.input_options(), "-i", ffmpeg.source(path)),
        *("-filter_complex", ";".join(graph), *maps),
        *("-fps_mode", "passthrough", "-enc_time_base:v", filters.ratio(1 / fps)),
        *(*X264, "-g", str(max(1, round(KEY_FRAME_S * fps))), *MP4, target),
    ]


def even_size(source: Source) -> tuple[int, int]:
    """Return the shown size without the odd line or column that H.264 cannot store."""
    video = source.video
    return max(2, video.display_width // 2 * 2), max(2, video.display_height // 2 * 2)


def _picture(source: Source, frames: range) -> list[str]:
    video = source.video
    first = ":start_time=0" if frames.start == 0 else ""
    return [
        *filters.deinterlace(video),
        f"fps={filters.ratio(video.fps)}{first}",
        f"tpad=stop_mode=clone:stop={END_FILL_FRAMES}",
        f"trim=start_pts={frames.start}:end_pts={frames.stop}",
        f"setpts=PTS-{frames.start}",
        f"fps={filters.ratio(video.fps)}",  # setpts took the length of each frame away
        f"trim=end_frame={len(frames)}",  # at the end of a film ffmpeg 5 adds one
        *filters.resize(video, *even_size(source)),
        *filters.standard_colour(video),
    ]


def _sound(frames: range, fps: Fraction) -> list[str]:
    """Cut the sound to the very length of the picture; silence where there is none."""
    first, end = (round(frame / fps * AUDIO_RATE) for frame in (frames.start, frames.stop))
    return [
        f"aresample={AUDIO_RATE}:async=1:first_pts={first}",
        "aformat=channel_layouts=stereo",
        f"asetpts=PTS-{first}",
        f"apad=whole_len={end - first}",
        f"atrim=end_sample={end - first}",
    ]
