"""A job as it is asked for: steps, what each runs after, and what must hold of them.

A step becomes one task, or one per entry of `items`, or — with `each` — one per value of
that list in the results of its parents, made when the last parent is done.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from graphlib import CycleError, TopologicalSorter
from uuid import UUID

from rushes.domain.kind import Kind
from rushes.errors import Invalid

MAX_TASKS = 10_000
MAX_EDGES = 100_000
MAX_PARAMS_BYTES = 65_536
MAX_SPEC_BYTES = 1_048_576
MAX_NAME = 64
MAX_TEXT = 500
LOWEST, NORMAL, HIGHEST = 0, 5, 10
PRIORITIES = {"low": 2, "normal": NORMAL, "high": 8, "urgent": HIGHEST}

Params = Mapping[str, object]


class Boost(StrEnum):
    """Which tasks of a step go half a priority step ahead of their equals."""

    NONE = "none"
    FIRST = "first"
    ALL = "all"


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One node of a pipeline. `kind` is the step's own name unless it is given."""

    kind: str | None = None
    after: tuple[str, ...] = ()
    params: Params = field(default_factory=dict)
    items: Sequence[Params] | None = None
    each: str | None = None
    optional: bool = False
    priority: int = NORMAL
    boost: Boost = Boost.NONE
    weight: int = 1
    max_attempts: int | None = None


Steps = Mapping[str, Step]


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRequest:
    """What a person asks for. The id is made by the engine unless the caller brings one."""

    kind: str
    steps: Steps
    id: str | None = None
    label: str | None = None
    owner: str | None = None
    priority: int = NORMAL
    spec: Params = field(default_factory=dict)
    run_at: int | None = None
    dedupe_key: str | None = None
    idempotency_key: str | None = None


def kind_of(name: str, step: Step) -> str:
    return step.kind or name


def item_params(step: Step) -> Sequence[Params]:
    """Return the params of the tasks that exist from the start."""
    return [step.params] if step.items is None else step.items


def task_priority(job: int, step: int) -> int:
    """A step's own priority shifts the job's.

    >>> task_priority(5, 8), task_priority(9, 8), task_priority(1, 0)
    (8, 10, 0)
    """
    return max(LOWEST, min(HIGHEST, job + step - NORMAL))


def validate(request: JobRequest, kinds: Mapping[str, Kind]) -> None:
    """Raise Invalid, with one sentence, for a request that cannot become a job."""
    _check_texts(request)
    check_priority(request.priority)
    if not request.steps:
        raise Invalid("a job needs at least one step")
    for name, step in request.steps.items():
        _check_step(name, step, request.steps, kinds)
    _check_order(request.steps)
    _check_size(request.steps)
    check_json(request.spec, MAX_SPEC_BYTES, "the spec")


def check_priority(priority: int) -> None:
    if not LOWEST <= priority <= HIGHEST:
        raise Invalid(
            f"priority {priority} is not between {LOWEST} and {HIGHEST}",
            hint="10 is first; low is 2, normal 5, high 8, urgent 10",
        )


def check_json(value: object, limit: int, what: str) -> str:
    """Return `value` as JSON text, or raise Invalid if it is too large or cannot be stored."""
    try:
        text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise Invalid(f"{what} is not JSON: {error}") from error
    if len(text) > limit:
        raise Invalid(f"{what} has {len(text)} bytes; the limit is {limit}")
    if "\\u0000" in text and _has_nul(value):
        raise Invalid(f"{what} contains a NUL character")
    return text


def check_params(params: Params, kind: Kind, what: str) -> str:
    """Return params as JSON text after the kind's own check."""
    text = _check_object(params, what)
    kind.check(params)
    return text


def check_text(text: str | None, what: str, limit: int = MAX_TEXT) -> None:
    if text is None:
        return
    if "\x00" in text:
        raise Invalid(f"{what} contains a NUL character")
    if len(text) > limit:
        raise Invalid(f"{what} has {len(text)} characters; the limit is {limit}")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise Invalid(f"{what} is not text: it has half a character") from error


def check_id(id: str) -> None:
    """Raise Invalid unless `id` is a UUID as both databases write it."""
    try:
        usual: str | None = str(UUID(id))
    except ValueError:
        usual = None
    if usual != id:
        raise Invalid(f"{id[:MAX_NAME]!r} is not a UUID in lower case")


def _check_object(params: Params, what: str) -> str:
    if not isinstance(params, Mapping):
        raise Invalid(f"{what} is not an object")
    return check_json(params, MAX_PARAMS_BYTES, what)


def _check_texts(request: JobRequest) -> None:
    if request.id is not None:
        check_id(request.id)
    for what in ("label", "owner", "dedupe_key", "idempotency_key"):
        check_text(getattr(request, what), what)
    if not request.kind:
        raise Invalid("a job needs a kind")
    check_text(request.kind, "kind", MAX_NAME)


def _check_step(name: str, step: Step, steps: Steps, kinds: Mapping[str, Kind]) -> None:
    if not name:
        raise Invalid("a step needs a name")
    check_text(name, "the name of a step", MAX_NAME)
    check_priority(step.priority)
    if step.weight < 0 or (step.max_attempts is not None and step.max_attempts < 1):
        raise Invalid(f"step {name}: weight and max_attempts cannot be that low")
    kind = kinds.get(kind_of(name, step))
    if kind is None:
        raise Invalid(
            f"unknown kind {kind_of(name, step)!r} in step {name!r}",
            hint=f"known kinds: {', '.join(sorted(kinds)) or 'none'}",
        )
    for parent in step.after:
        if parent not in steps:
            raise Invalid(f"step {name!r} runs after {parent!r}, which is not a step of the job")
    if step.each is not None:
        _check_fan_out(name, step)
    else:
        _check_items(name, step, kind)


def _check_items(name: str, step: Step, kind: Kind) -> None:
    if not item_params(step):
        raise Invalid(f"step {name!r} has no items")
    for params in item_params(step):
        check_params(params, kind, f"params of step {name!r}")


def _check_fan_out(name: str, step: Step) -> None:
    """The kind's own check waits for the values."""
    if step.items is not None or not step.after:
        raise Invalid(f"step {name!r}: each needs a parent and excludes items")
    check_text(step.each, f"each of step {name!r}", MAX_NAME)
    _check_object(step.params, f"params of step {name!r}")


def _check_order(steps: Steps) -> None:
    try:
        TopologicalSorter({name: step.after for name, step in steps.items()}).prepare()
    except CycleError as error:
        raise Invalid(f"the steps form a cycle: {' → '.join(error.args[1])}") from error


def _check_size(steps: Steps) -> None:
    sizes = {name: len(item_params(step)) for name, step in steps.items()}
    if sum(sizes.values()) > MAX_TASKS:
        raise Invalid(f"the job has {sum(sizes.values())} tasks; the limit is {MAX_TASKS}")
    edges = sum(
        sizes[name] * sum(sizes[parent] for parent in set(step.after))
        for name, step in steps.items()
    )
    if edges > MAX_EDGES:
        raise Invalid(
            f"the steps make {edges} dependencies; the limit is {MAX_EDGES}",
            hint="put a step of one task between two steps of many",
        )


def _has_nul(value: object) -> bool:
    if isinstance(value, str):
        return "\x00" in value
    if isinstance(value, Mapping):
        return any(_has_nul(key) or _has_nul(entry) for key, entry in value.items())
    if isinstance(value, list | tuple):
        return any(_has_nul(entry) for entry in value)
    return False
