"""Recovery looks, then writes; what happens in between must count."""

from __future__ import annotations

from rushes.domain.graph import Step
from rushes.domain.task import State
from rushes.observability import failpoints
from tests.world import World


def test_checkpoint_between_look_and_write_keeps_a_task_from_being_poison(world: World) -> None:
    """C2: three losses in a row without a checkpoint between, and no fewer."""
    job = world.submit({"noop": Step(max_attempts=10)})
    ann = world.worker()
    for _ in range(2):
        world.claim(ann)
        world.tick(world.lease)
        world.recover()
    [claim] = world.claim(ann)
    world.tick(world.lease)

    def checkpoint() -> None:
        failpoints.call("recovery.between_select_update", None)
        world.beat(claim, checkpoint="{}")
        world.now += 2 * 60_000

    failpoints.call("recovery.between_select_update", checkpoint)
    world.recover()
    world.recover()

    [task] = world.tasks(job)
    assert (task.state, task.losses) == (State.READY, 1)
