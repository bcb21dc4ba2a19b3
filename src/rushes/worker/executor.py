"""Runs one claimed task: resolve, run, encode; whatever happens becomes an outcome.

The ways out are values, not exceptions, so that none can be forgotten. A lost lease is the
one case that reports nothing: the task belongs to somebody else.
"""

from __future__ import annotations

import errno
import json
import traceback
from collections.abc import Mapping

from pydantic import BaseModel

from rushes.domain.failure import TRACE_LIMIT, Failure, KilledBy, clean, failure
from rushes.domain.graph import MAX_SPEC_BYTES, check_json
from rushes.domain.outcome import Done, Failed, HandedBack, Outcome
from rushes.errors import Invalid, LeaseLost, Permanent, StageError
from rushes.stages.context import Interrupted, TaskContext
from rushes.stages.registry import Run, Stage

_EMPTY = json.dumps(None)
_FULL = (errno.ENOSPC, errno.EDQUOT)


def execute(context: TaskContext, stages: Mapping[str, Stage]) -> Outcome | None:
    """Run the stage of a claim. None: the task is no longer ours, there is nothing to say."""
    claim, kept = context.claim, False
    try:
        result = _encoded(_resolve(claim.kind, stages)(context))
        kept = True
        return Done(claim.id, claim.epoch, result)
    except LeaseLost:
        return None
    except Interrupted:
        return HandedBack(claim.id, claim.epoch)
    except (Exception, SystemExit) as error:  # a bug in a stage must not take the worker down
        return Failed(claim.id, claim.epoch, _classified(error))
    finally:
        context.close(kept=kept)


def _resolve(kind: str, stages: Mapping[str, Stage]) -> Run:
    if kind not in stages:
        raise Permanent(f"this worker has no stage {kind!r}", error_code="INTERNAL")
    return stages[kind].run


def _encoded(result: object) -> str:
    """Return a result as JSON text; one that cannot be stored is a bug in the stage."""
    if result is None:
        return _EMPTY
    value = result.model_dump(mode="json") if isinstance(result, BaseModel) else result
    try:
        return check_json(value, MAX_SPEC_BYTES, "the result")
    except Invalid as error:
        raise Permanent(error.message, error_code="OUTPUT_INVALID") from error


def _classified(error: BaseException) -> Failure:
    if isinstance(error, StageError):
        return failure(
            error.error_code,
            error.message,
            error_type=type(error).__name__,
            retryable=error.retryable,
            hint=error.hint,
        )
    is_full = isinstance(error, OSError) and error.errno in _FULL
    return failure(
        "DISK_FULL" if is_full else "STAGE_EXCEPTION",
        str(error) or repr(error),
        error_type=type(error).__name__,
        stack_trace=clean("".join(traceback.format_exception(error)), TRACE_LIMIT),
        killed_by=KilledBy.OOM if isinstance(error, MemoryError) else None,
    )
