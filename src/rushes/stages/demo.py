"""Two stages to see the engine at work with: many small tasks, and one that adds them up.

They have a lane of their own, so that only the workers of the demo run them.
"""

from __future__ import annotations

import hashlib
import time

from pydantic import BaseModel, Field

from rushes.stages.context import TaskContext
from rushes.stages.registry import stage

LANE = "demo"


class Shard(BaseModel):
    number: int = Field(ge=0)
    milliseconds: int = Field(default=10, ge=0, le=10_000)


class Digest(BaseModel):
    number: int
    digest: str


@stage("demo.shard", params=Shard, lane=LANE)
def shard(task: TaskContext) -> Digest:
    """Hash a number, and take a moment over it."""
    params = task.params(Shard)
    time.sleep(params.milliseconds / 1000)
    task.progress(50, "hashing")
    return Digest(
        number=params.number, digest=hashlib.sha256(str(params.number).encode()).hexdigest()
    )


@stage("demo.total", lane=LANE)
def total(task: TaskContext) -> dict[str, object]:
    """Count what the shards returned: each of them exactly once."""
    numbers = [result["number"] for result in task.results("demo.shard")]
    return {"shards": len(numbers), "distinct": len(set(numbers)), "sum": sum(numbers)}
