"""Requests that cannot become a job, each with the sentence that says why."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from rushes.domain.graph import JobRequest, Step


def _job(**changes: Any) -> JobRequest:
    return replace(JobRequest(kind="test", steps={"noop": Step()}), **changes)


def _steps(**steps: Step) -> JobRequest:
    return _job(steps=steps)


def _step(**changes: Any) -> JobRequest:
    return _steps(noop=replace(Step(), **changes))


def _fan_out(**changes: Any) -> JobRequest:
    fan = Step(after=("split",), each="values")
    return _steps(split=Step(), part=replace(fan, **changes))


def _nested(depth: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(depth):
        value = {"in": value}
    return value


BAD_REQUESTS: dict[str, tuple[JobRequest, str]] = {
    "no steps": (_steps(), "a job needs at least one step"),
    "no kind": (_job(kind=""), "a job needs a kind"),
    "step without a name": (_job(steps={"": Step(kind="noop")}), "a step needs a name"),
    "long name": (_job(steps={"n" * 65: Step(kind="noop")}), "the limit is 64"),
    "unknown kind": (_steps(fly=Step()), "unknown kind 'fly' in step 'fly'"),
    "unknown parent": (_step(after=("join",)), "runs after 'join', which is not a step"),
    "runs after itself": (_step(after=("noop",)), "cycle: noop → noop"),
    "cycle": (
        _steps(
            split=Step(after=("join",)), part=Step(after=("split",)), join=Step(after=("part",))
        ),
        "the steps form a cycle: ",
    ),
    "priority 11": (_job(priority=11), "priority 11 is not between 0 and 10"),
    "priority -1": (_job(priority=-1), "priority -1 is not between 0 and 10"),
    "priority 11 of a step": (_step(priority=11), "priority 11 is not between 0 and 10"),
    "no attempts": (_step(max_attempts=0), "weight and max_attempts cannot be that low"),
    "negative weight": (_step(weight=-1), "weight and max_attempts cannot be that low"),
    "each without a parent": (_step(each="values"), "each needs a parent and excludes items"),
    "each with items": (_fan_out(items=[{}]), "each needs a parent and excludes items"),
    "no items": (_step(items=[]), "step 'noop' has no items"),
    "too many tasks": (_step(items=[{}] * 10_001), "10001 tasks; the limit is 10000"),
    "too many edges": (
        _steps(part=Step(items=[{}] * 400), join=Step(items=[{}] * 251, after=("part",))),
        "100400 dependencies; the limit is 100000",
    ),
    "params over the limit": (_step(params={"x": "y" * 65_536}), "the limit is 65536"),
    "params that are no object": (_step(params=["x"]), "params of step 'noop' is not an object"),
    "params that are no JSON": (_step(params={"x": {1}}), "params of step 'noop' is not JSON"),
    "params that are not a number": (_step(params={"x": float("nan")}), "is not JSON"),
    "params without an end": (_step(params=_nested(100_000)), "is not JSON"),
    "params of the second item": (_step(items=[{}, {"x": "\x00"}]), "contains a NUL"),
    "NUL in params": (_step(params={"x": ["a\x00b"]}), "params of step 'noop' contains a NUL"),
    "NUL in a key of params": (_step(params={"a\x00b": 1}), "params of step 'noop' contains a NUL"),
    "NUL in the params of a fan-out": (_fan_out(params={"x": "\x00"}), "contains a NUL"),
    "params of a fan-out over the limit": (_fan_out(params={"x": "y" * 65_536}), "the limit is"),
    "params of a fan-out that are no JSON": (_fan_out(params={"x": {1}}), "is not JSON"),
    "NUL in the name of a list": (_fan_out(each="a\x00b"), "contains a NUL"),
    "NUL in the name of a step": (_job(steps={"a\x00b": Step(kind="noop")}), "contains a NUL"),
    "NUL in the label": (_job(label="a\x00b"), "label contains a NUL"),
    "NUL in the owner": (_job(owner="a\x00b"), "owner contains a NUL"),
    "NUL in the kind": (_job(kind="a\x00b"), "kind contains a NUL"),
    "NUL in the dedupe key": (_job(dedupe_key="\x00"), "dedupe_key contains a NUL"),
    "NUL in the idempotency key": (_job(idempotency_key="\x00"), "idempotency_key contains a NUL"),
    "half a character in the label": (_job(label="\ud800"), "label is not text"),
    "half a character in the key": (_job(idempotency_key="\ud800"), "idempotency_key is not text"),
    "long label": (_job(label="x" * 501), "label has 501 characters; the limit is 500"),
    "NUL in the spec": (_job(spec={"x": "\x00"}), "the spec contains a NUL"),
    "spec over the limit": (_job(spec={"x": "y" * 1_048_576}), "the limit is 1048576"),
    "id that is no UUID": (_job(id="seven"), "'seven' is not a UUID"),
}
