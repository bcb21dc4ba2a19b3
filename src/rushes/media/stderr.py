"""What ffmpeg prints when it fails, and which of our errors it means.

The first pattern that matches wins, so causes stand before their consequences: a full disk also
makes a file that is invalid.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from rushes.errors import Permanent, Retryable, StageError, ToolFailed

KEPT_LINES = 20


class Meaning(NamedTuple):
    pattern: str
    error: type[StageError]
    code: str
    message: str
    hint: str | None = None


MEANINGS = (
    Meaning(
        r"No space left on device|Disk quota exceeded",
        Retryable,
        "DISK_FULL",
        "the disk is full",
        "free some space, or choose another scratch folder",
    ),
    Meaning(
        r"Cannot allocate memory|malloc of size \d+ failed|Picture size \S+ (is invalid|exceeds)",
        Permanent,
        "SOURCE_TOO_LARGE",
        "the picture is too large",
        "make a smaller version of it",
    ),
    Meaning(
        r"Unknown encoder|Encoder not found|Encoder \(codec \S+\) not found|No NVENC capable",
        Permanent,
        "ENCODER_UNAVAILABLE",
        "this ffmpeg lacks an encoder",
        "install a complete ffmpeg, or rushes[ffmpeg]",
    ),
    Meaning(
        r"No such filter|Unrecognized option|Option \S+ not found",
        Permanent,
        "FFMPEG_FAILED",
        "this ffmpeg lacks something that is needed",
        "install ffmpeg 5.1 or newer, or rushes[ffmpeg]",
    ),
    Meaning(
        r"not on whitelist|not in whitelist|not on the whitelist",
        Permanent,
        "SOURCE_UNSUPPORTED",
        "this kind of file is not accepted",
        "convert it to MP4 or Matroska",
    ),
    Meaning(
        r"Unknown decoder|Decoder \(codec \S+\) not found|Decoder not found"
        r"|Could not find codec parameters|no decoder found",
        Permanent,
        "SOURCE_UNSUPPORTED",
        "the video is coded in a way that cannot be read",
        "convert it to H.264 in MP4",
    ),
    Meaning(
        r"moov atom not found",
        Permanent,
        "SOURCE_CORRUPT",
        "the file has no index",
        "the upload or the recording was cut off; send it again",
    ),
    Meaning(
        r"matches no streams|does not contain any stream",
        Permanent,
        "SOURCE_NO_VIDEO",
        "the file lacks the stream that is needed",
    ),
    Meaning(
        r"No such file or directory",
        Permanent,
        "SOURCE_MISSING",
        "the file is not there",
    ),
    Meaning(
        r"Permission denied",
        Permanent,
        "STORAGE_DENIED",
        "the file may not be read or written",
        "check who owns the folder",
    ),
    Meaning(
        r"Invalid data found when processing input|Error while decoding|EBML header parsing failed"
        r"|could not find corresponding trex|Error splitting the input into NAL units",
        Permanent,
        "SOURCE_CORRUPT",
        "the file is damaged",
        "play it in another program to see whether it is whole",
    ),
)


def classify(stderr: str, exit_code: int) -> StageError:
    """Return the error that ffmpeg's last words mean, with those words in its detail."""
    kept = "\n".join(stderr.splitlines()[-KEPT_LINES:])
    for meaning in MEANINGS:
        if re.search(meaning.pattern, stderr):
            return meaning.error(
                meaning.message,
                error_code=meaning.code,
                hint=meaning.hint,
                exit_code=exit_code,
                stderr=kept,
            )
    return ToolFailed(
        f"ffmpeg failed with exit code {exit_code}",
        error_code="FFMPEG_FAILED",
        exit_code=exit_code,
        stderr=kept,
    )
