"""What went wrong, as data: one record for the page, the CLI, the API and the log.

CODES is the only list of error codes. Each has a sentence and what a person can do next.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import Any

MESSAGE_LIMIT = 8_192
TRACE_LIMIT = 16_384


class KilledBy(StrEnum):
    USER = "user"
    SYSTEM = "system"
    TIMEOUT = "timeout"
    WORKER_CRASH = "worker_crash"
    OOM = "oom"


class Phase(StrEnum):
    """Where in a job a failure happened."""

    INIT = "init"
    BATCHING = "batching"
    PROCESSING = "processing"
    FINALIZING = "finalizing"


@dataclass(frozen=True, slots=True)
class Code:
    """One error code: what it means, whether trying again may help, what to do."""

    meaning: str
    retryable: bool
    hint: str


CODES: dict[str, Code] = {
    "DB_CONN_REFUSED": Code(
        "the database cannot be reached", True, "start the database, or correct RUSHES_DATABASE_URL"
    ),
    "REDIS_UNAVAILABLE": Code(
        "Redis cannot be reached", True, "start Redis; work goes on by polling meanwhile"
    ),
    "GPU_OOM": Code(
        "the GPU ran out of memory", True, "run fewer GPU tasks at once on this worker"
    ),
    "DISK_FULL": Code("there is no space left on the disk", True, "free space, then retry the job"),
    "CATALOG_NOT_FOUND": Code("the catalog does not exist", False, "check the id of the catalog"),
    "INVALID_INPUT": Code(
        "the input cannot be accepted", False, "correct the input and submit again"
    ),
    "PROCESSING_ERROR": Code(
        "a stage failed", True, "read the log of the attempt, then retry the job"
    ),
    "STAGE_EXCEPTION": Code(
        "a stage raised an unexpected error", True, "read the stack trace; it is probably a bug"
    ),
    "TOOL_FAILED": Code(
        "a program that the stage started failed", True, "read the output of the command"
    ),
    "OUTPUT_INVALID": Code(
        "a stage produced output that does not validate", False, "report it: it is a bug in a stage"
    ),
    "WORKER_TIMEOUT": Code(
        "the task stopped making progress, or ran too long",
        True,
        "look at the last step of the attempt; raise the limit if the work is just long",
    ),
    "WORKER_CRASHED": Code(
        "the task lost its worker again and again",
        False,
        "the input probably kills its worker: look at memory use, then retry the job",
    ),
    "DEPENDENCY_FAILED": Code(
        "a task that this one needs has failed", False, "retry the job: the failed task runs first"
    ),
    "MAX_RETRIES_EXCEEDED": Code(
        "every attempt failed", False, "look at the attempts, then retry the job"
    ),
    "INTERNAL": Code("Rushes itself failed", True, "report it with the stack trace"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Why an attempt, a task or a job failed."""

    error: str
    error_code: str
    error_type: str
    retryable: bool
    failed_at: int | None = None
    failed_phase: str = Phase.PROCESSING
    failed_batch: int | None = None
    progress_at_failure: dict[str, int] | None = None
    hint: str | None = None
    stack_trace: str | None = None
    killed_by: str | None = None

    def to_json(self) -> str:
        return json.dumps({key: value for key, value in asdict(self).items() if value is not None})


def failure(
    code: str, message: str, *, error_type: str, retryable: bool | None = None, **detail: Any
) -> Failure:
    """Make a Failure with texts that any database can store and the hint of its code."""
    known = CODES.get(code)
    record = Failure(
        error=clean(message, MESSAGE_LIMIT) or code,
        error_code=code,
        error_type=error_type,
        retryable=(known.retryable if known else True) if retryable is None else retryable,
        hint=known.hint if known else None,
    )
    return replace(record, **{key: value for key, value in detail.items() if value is not None})


def clean(text: str, limit: int) -> str:
    """Return `text` without NUL and lone surrogates, cut to `limit` characters.

    >>> clean("a\\x00b", 10)
    'ab'
    """
    safe = text.replace("\x00", "").encode("utf-8", "replace").decode("utf-8")
    return safe if len(safe) <= limit else safe[: limit - 1] + "…"
