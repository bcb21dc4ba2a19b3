"""Stages for tests: they do nothing, sleep, fail, crash, run programs, take memory."""

from __future__ import annotations

import os
import resource
import signal
import time
from pathlib import Path

from pydantic import BaseModel

from rushes.errors import Permanent, Retryable
from rushes.stages.context import TaskContext
from rushes.stages.registry import stage


class Nap(BaseModel):
    milliseconds: int = 10
    steps: int = 1


class File(BaseModel):
    path: Path


class Hog(BaseModel):
    megabytes: int


@stage("noop", lane="short", short=True)
def noop(_task: TaskContext) -> None:
    """Nothing at all."""


@stage("nap", params=Nap)
def nap(task: TaskContext) -> dict[str, int]:
    """Sleep in steps, with a checkpoint after each."""
    params, first = task.params(Nap), task.checkpoint.get("step", 0)
    for step in range(first, params.steps):
        time.sleep(params.milliseconds / 1000)
        task.progress(100 * (step + 1) / params.steps)
        task.save(step=step + 1)
    return {"task": task.claim.id, "steps": params.steps - first}


@stage("oversleep", params=Nap)
def oversleep(task: TaskContext) -> dict[str, int]:
    """Sleep without a word: no progress, no checkpoint, deaf to a drain."""
    time.sleep(task.params(Nap).milliseconds / 1000)
    return {"task": task.claim.id}


@stage("count", short=True)
def count(task: TaskContext) -> dict[str, int]:
    """How many results the steps before have, and how many of them are different."""
    results = task.results()
    return {"results": len(results), "distinct": len({str(result) for result in results})}


@stage("spin", params=Nap)
def spin(task: TaskContext) -> None:
    """Keep the interpreter busy, as badly written work does."""
    end = time.monotonic() + task.params(Nap).milliseconds / 1000
    while time.monotonic() < end:
        pass


@stage("fail")
def fail(_task: TaskContext) -> None:
    raise Permanent("this cannot work", error_code="INVALID_INPUT", hint="do not try")


@stage("falter", max_attempts=3)
def falter(task: TaskContext) -> str:
    """Fail once, then work."""
    if task.attempt == 1:
        raise Retryable("not this time")
    return "at last"


@stage("bug")
def bug(_task: TaskContext) -> float:
    return 1 / int("0")


@stage("quit")
def quit_(_task: TaskContext) -> None:
    """End the thread, as a program that was made into a stage may do."""
    raise SystemExit("nothing left to do")


@stage("crash")
def crash(_task: TaskContext) -> None:
    """Take the worker down, as a segmentation fault does."""
    os.kill(os.getpid(), signal.SIGKILL)


@stage("hog", params=Hog)
def hog(task: TaskContext) -> int:
    """Take more memory than this process may have."""
    wanted = task.params(Hog).megabytes << 20
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (wanted // 2, hard))
    try:
        return len(bytearray(wanted))
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


@stage("child", params=File)
def child(task: TaskContext) -> None:
    """Run a program that starts another, writes down both, and stays."""
    path = task.params(File).path
    task.run(["sh", "-c", f"sleep 60 & echo $! $$ > {path}.part; mv {path}.part {path}; wait"])


@stage("echo")
def echo(task: TaskContext) -> str:
    task.log("info", "about to echo", word="hello")
    return task.run(["sh", "-c", "echo hello; echo trouble >&2"], type="shell").stdout


@stage("false")
def false(task: TaskContext) -> None:
    task.run(["sh", "-c", "echo no such thing >&2; exit 3"])


@stage("slowish", lane="short", short=True)
def slowish(_task: TaskContext) -> None:
    """Short, but far from nothing."""
    time.sleep(0.03)


class Brittle(BaseModel):
    fails_on_attempts: int = 0


@stage("brittle", lane="short", short=True, params=Brittle)
def brittle(task: TaskContext) -> int:
    """Fail for good in the first claims, as many as it is told, then work."""
    if task.claim.epoch <= task.params(Brittle).fails_on_attempts:
        raise Permanent("not in this claim")
    return task.claim.id
