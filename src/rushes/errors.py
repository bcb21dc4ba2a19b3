"""Every error Rushes raises on purpose.

RushesError
├── Unauthenticated          401  nobody knows who this is
├── Forbidden                403  somebody who is known may not do this
├── NotFound                 404  no such job, task or worker
├── Conflict                 409  the state moved under the caller
│   ├── IllegalTransition         the table in domain/task.py forbids it
│   ├── LeaseLost                 another worker owns the task now, or nobody
│   ├── ActiveJobExists           one active job per dedupe key
│   ├── KeyReused                 the idempotency key was used for another request
│   ├── DuplicateOf               the same content is in the library
│   └── ChangedMeanwhile     412  somebody edited it since the caller looked
├── Gone                     410  it was there, and its time is over
├── Invalid                  422  the caller's input cannot be accepted
├── TooMany                  429  the same was tried too often
├── Unavailable              503  the database, or another part, cannot be reached
│   └── SchemaMismatch            the database is older or newer than this program
└── StageError                    a stage failed; the retry policy reads `retryable`
    ├── Permanent                 trying again cannot help
    ├── Retryable                 trying again may help
    └── ToolFailed                a program that the stage started failed
"""

from __future__ import annotations

from typing import ClassVar


class RushesError(Exception):
    """Base of every deliberate error. `code` is part of the contract with callers."""

    code: ClassVar[str] = "INTERNAL"
    status: ClassVar[int] = 500
    hint: str | None = None

    def __init__(self, message: str, *, hint: str | None = None, **detail: object) -> None:
        super().__init__(message)
        self.message = message
        self.detail = detail
        if hint is not None:
            self.hint = hint


class Unauthenticated(RushesError):
    code, status = "UNAUTHENTICATED", 401


class Forbidden(RushesError):
    code, status = "FORBIDDEN", 403


class TooMany(RushesError):
    """`retry_after` of the detail is in seconds."""

    code, status = "RATE_LIMITED", 429


class NotFound(RushesError):
    code, status = "NOT_FOUND", 404


class Conflict(RushesError):
    code, status = "CONFLICT", 409


class IllegalTransition(Conflict):
    code = "ILLEGAL_TRANSITION"


class LeaseLost(Conflict):
    """The task was recovered or killed while this worker held it.

    Not a failure of the work: the worker drops what it made and asks for the next task.
    """

    code = "LEASE_LOST"


class ActiveJobExists(Conflict):
    code = "ACTIVE_JOB_EXISTS"


class KeyReused(Conflict):
    code = "IDEMPOTENCY_KEY_REUSED"


class DuplicateOf(Conflict):
    code = "DUPLICATE_OF"


class ChangedMeanwhile(Conflict):
    code, status = "CHANGED_MEANWHILE", 412
    hint = "look at it again, then decide"


class Gone(RushesError):
    code, status = "EXPIRED", 410


class Invalid(RushesError):
    code, status = "INVALID_INPUT", 422


class Unavailable(RushesError):
    code, status = "UNAVAILABLE", 503


class SchemaMismatch(Unavailable):
    code = "SCHEMA_MISMATCH"


class StageError(RushesError):
    """A stage gave up. Subclasses say whether another attempt may help."""

    code = "PROCESSING_ERROR"
    retryable: ClassVar[bool] = True

    def __init__(
        self,
        message: str,
        *,
        error_code: str | None = None,
        hint: str | None = None,
        **detail: object,
    ) -> None:
        super().__init__(message, hint=hint, **detail)
        self.error_code = error_code or self.code


class Permanent(StageError):
    retryable = False


class Retryable(StageError):
    pass


class ToolFailed(StageError):
    code = "TOOL_FAILED"
