"""The words between a worker and a server: the bodies of `/api/worker/*`.

Every call names the task and its lease epoch, and may be repeated: what was done before is
answered as it was then.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from rushes.domain.failure import MESSAGE_LIMIT, TRACE_LIMIT, Failure, clean
from rushes.domain.failure import failure as make_failure
from rushes.domain.graph import MAX_SPEC_BYTES
from rushes.domain.outcome import Beat, Done, Failed, HandedBack, Outcome
from rushes.domain.task import Claim
from rushes.domain.worker import Mode, Usage
from rushes.errors import Invalid
from rushes.stages.process import Execution

VERSION = 1
OLDEST = 1
"""Workers that speak less than this are turned away."""

LONGEST_WAIT_S = 25.0
MOST = 1_000
LONGEST_WORD, LONGEST_TEXT, LONGEST_EXTRA = 200, 100_000, 10_000
MOST_LINES = 10_000
CODE = re.compile(r"[A-Z][A-Z0-9_]{0,63}")
Id = Annotated[int, Field(ge=1, le=2**62)]
Epoch = Annotated[int, Field(ge=1, le=2**31 - 1)]
Owner = Annotated[str, Field(min_length=1, max_length=200)]
Key = Annotated[str, Field(max_length=500)]
Word = Annotated[str, Field(min_length=1, max_length=LONGEST_WORD)]
Text = Annotated[str, Field(max_length=LONGEST_TEXT)]
Percent = Annotated[int, Field(ge=0, le=100)]


class Message(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Introduction(Message):
    """What a worker says of itself, when it registers and each time that it starts."""

    worker_name: Annotated[str | None, Field(max_length=200)] = None
    lanes: Annotated[dict[Word, Annotated[int, Field(ge=1, le=10_000)]], Field(max_length=100)] = {}
    kinds: Annotated[list[Word], Field(max_length=MOST)] = []
    capabilities: Annotated[list[Word], Field(max_length=MOST)] = []
    metadata: dict[str, Any] = {}
    hostname: Annotated[str, Field(max_length=255)] = ""
    version: Annotated[str, Field(max_length=50)] = "0"
    protocol: int = VERSION

    @classmethod
    def of(cls, **told: Any) -> Self:
        """Return it, or raise Invalid for what no server would take."""
        try:
            return cls(**told)
        except ValidationError as error:
            first = error.errors()[0]
            name = ".".join(str(part) for part in first["loc"])
            raise Invalid(
                f"{name}: {first['msg']}", hint="look at --name and the settings"
            ) from error


class Welcome(Message):
    """`api_key` is shown this once, to whoever registers; `owner` is told to whoever starts."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    worker_id: str
    worker_name: str
    api_key: str | None = None
    owner: str | None = None
    kinds: list[str] | None = None
    server_version: str
    protocol: int = VERSION


class Ended(Message):
    """How an attempt ended."""

    task_id: Id
    lease_epoch: Epoch
    outcome: Literal["done", "failed", "handed_back"]
    result: Annotated[str | None, Field(max_length=MAX_SPEC_BYTES)] = None
    failure: Problem | None = None

    @classmethod
    def of(cls, outcome: Outcome) -> Ended:
        told: dict[str, Any] = {"task_id": outcome.id, "lease_epoch": outcome.epoch}
        if isinstance(outcome, Done):
            return cls(**told, outcome="done", result=outcome.result)
        if isinstance(outcome, Failed):
            return cls(**told, outcome="failed", failure=Problem.of(outcome.failure))
        return cls(**told, outcome="handed_back")

    def value(self) -> Outcome:
        if self.outcome == "done":
            return Done(self.task_id, self.lease_epoch, self.result or "null")
        if self.outcome == "failed":
            problem = self.failure or Problem(error="the worker did not say why")
            return Failed(self.task_id, self.lease_epoch, problem.value())
        return HandedBack(self.task_id, self.lease_epoch)


class Problem(Message):
    """Why an attempt failed, as far as the worker knows. It is cut to what is kept."""

    error: Annotated[str, Field(max_length=20_000_000)]
    error_code: Annotated[str, Field(pattern=f"^{CODE.pattern}$")] = "PROCESSING_ERROR"
    error_type: Annotated[str, Field(max_length=LONGEST_WORD)] = "RemoteError"
    retryable: bool = True
    hint: Annotated[str | None, Field(max_length=MESSAGE_LIMIT)] = None
    stack_trace: Annotated[str | None, Field(max_length=4 * TRACE_LIMIT)] = None
    killed_by: Literal["oom"] | None = None

    @classmethod
    def of(cls, failure: Failure) -> Problem:
        """Return it as it can be sent, whatever a stage has said."""
        told = {name: getattr(failure, name) for name in cls.model_fields}
        told["error_type"] = clean(failure.error_type, LONGEST_WORD)
        told["hint"] = failure.hint and clean(failure.hint, MESSAGE_LIMIT)
        if not CODE.fullmatch(failure.error_code):
            told["error_code"] = "PROCESSING_ERROR"
        return cls(**told)

    def value(self) -> Failure:
        return make_failure(
            self.error_code,
            self.error,
            error_type=clean(self.error_type, LONGEST_WORD),
            retryable=self.retryable,
            hint=self.hint and clean(self.hint, MESSAGE_LIMIT),
            stack_trace=self.stack_trace and clean(self.stack_trace, TRACE_LIMIT),
            killed_by=self.killed_by,
        )


class Ask(Message):
    """`held` is given after an answer was lost: claims that are not among them are taken back."""

    owner: Owner
    want: Annotated[dict[Word, Annotated[int, Field(ge=0, le=MOST)]], Field(max_length=100)] = {}
    outcomes: Annotated[list[Ended], Field(max_length=MOST)] = []
    held: Annotated[list[Id] | None, Field(max_length=100 * MOST)] = None
    wait: Annotated[float, Field(ge=0, le=LONGEST_WAIT_S)] = 0


class Given(Message):
    """A task that a worker has now."""

    task_id: int
    lease_epoch: int
    job_id: str
    kind: str
    step: str
    item: int
    attempt: int
    max_attempts: int
    lease_ms: int
    params: str
    checkpoint: str | None

    @classmethod
    def of(cls, claim: Claim) -> Given:
        same = {name: getattr(claim, name) for name in cls.model_fields if hasattr(claim, name)}
        return cls(**same, task_id=claim.id, lease_epoch=claim.epoch)

    def value(self, owner: str) -> Claim:
        same = self.model_dump(exclude={"task_id", "lease_epoch"})
        return Claim(id=self.task_id, epoch=self.lease_epoch, owner=owner, **same)


class Answer(Message):
    model_config = ConfigDict(extra="ignore", frozen=True)

    tasks: list[Given] = []
    refused: list[int] = []


class Sign(Message):
    """What a heartbeat says of one task."""

    task_id: Id
    lease_epoch: Epoch
    moved: bool = False
    progress: Percent | None = None
    phase: Annotated[str | None, Field(max_length=MESSAGE_LIMIT)] = None
    message: Annotated[str | None, Field(max_length=MESSAGE_LIMIT)] = None
    checkpoint: Annotated[str | None, Field(max_length=MAX_SPEC_BYTES)] = None

    @classmethod
    def of(cls, beat: Beat) -> Sign:
        same = {name: getattr(beat, name) for name in cls.model_fields if hasattr(beat, name)}
        for name in ("phase", "message"):
            same[name] = same[name] and clean(same[name], MESSAGE_LIMIT)
        return cls(**same, task_id=beat.id, lease_epoch=beat.epoch)

    def value(self) -> Beat:
        same = self.model_dump(exclude={"task_id", "lease_epoch", "owner"})
        return Beat(id=self.task_id, epoch=self.lease_epoch, **same)


class Alive(Message):
    owner: Owner
    tasks: Annotated[list[Sign], Field(max_length=MOST)] = []
    free_bytes: Annotated[int | None, Field(ge=0)] = None
    reserve_bytes: Annotated[int, Field(ge=0)] = 0
    cpu_percent: Percent | None = None
    memory_percent: Percent | None = None

    @property
    def usage(self) -> Usage | None:
        if self.cpu_percent is None or self.memory_percent is None:
            return None
        return Usage(self.cpu_percent, self.memory_percent)


class Orders(Message):
    """What is asked of the worker, and which of its tasks are gone, and why."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    mode: Mode
    gone: dict[int, str] = {}


class Progress(Sign):
    owner: Owner


class Complete(Message):
    owner: Owner
    task_id: Id
    lease_epoch: Epoch
    result: Any = None


class Fail(Problem):
    owner: Owner
    task_id: Id
    lease_epoch: Epoch


class Accepted(Message):
    accepted: Literal[True] = True


class About(Message):
    """A task that a worker holds."""

    owner: Owner
    task_id: Id
    lease_epoch: Epoch


class Wanted(About):
    keys: Annotated[
        list[Annotated[str, Field(max_length=500)]], Field(min_length=1, max_length=MOST)
    ]


class Input(Message):
    """Where a file is to be had, for a while, and how long it is."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    key: str
    bytes: int
    url: str


class Inputs(Message):
    items: list[Input]


class Result(Message):
    step: str
    item: int
    state: str
    result: Any


class Results(Message):
    items: list[Result]


class Run(Message):
    """A program that a stage ran."""

    type: Annotated[str, Field(max_length=100)]
    command: Annotated[list[Text], Field(max_length=MOST_LINES)]
    started_at: int
    duration_ms: int
    exit_code: int
    stdout: Text
    stderr: Text

    @classmethod
    def of(cls, execution: Execution) -> Self:
        same = {name: getattr(execution, name) for name in cls.model_fields}
        command = [clean(word, LONGEST_TEXT) for word in execution.command[:MOST_LINES]]
        return cls(**{**same, "type": clean(execution.type, 100), "command": command})


class Line(Message):
    """A line of the log."""

    level: Literal["debug", "info", "warn", "error"]
    message: Annotated[str, Field(max_length=MESSAGE_LIMIT)]
    metadata: Annotated[str | None, Field(max_length=LONGEST_EXTRA)] = None

    @classmethod
    def of(cls, line: Mapping[str, Any]) -> Self:
        """Return a line without what does not fit: half of its JSON would be none."""
        same = {name: line[name] for name in cls.model_fields}
        fits = len(same["metadata"] or "") <= LONGEST_EXTRA
        return cls(**{**same, "metadata": same["metadata"] if fits else None})


class Record(About):
    executions: Annotated[list[Run], Field(max_length=MOST)] = []
    logs: Annotated[list[Line], Field(max_length=MOST_LINES)] = []


class Stored(Message):
    """How far a file is; all of it is there when `key` is."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    offset: int
    key: str | None = None


class Leave(Message):
    owner: Owner
