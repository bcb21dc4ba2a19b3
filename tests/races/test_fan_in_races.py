"""The last parents of a task end at the same moment: the child is woken once, and surely."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Barrier, BrokenBarrierError

from rushes.domain.graph import JobRequest, Step
from rushes.domain.task import Claim
from rushes.engine import orchestrator
from rushes.engine.submit import submit_many
from tests.world import World, interrupted

PAIR = {"part": Step(items=[{}, {}]), "join": Step(after=("part",))}
RUNS = 200


def test_last_two_parents_that_end_at_the_same_moment_wake_the_finalizer_once(world: World):
    """004-001, 004-033, 001-003: two hundred times."""
    owner = world.worker()
    request = JobRequest(kind="test", steps=PAIR)
    jobs = submit_many(world.engine, [request] * RUNS, now=world.now)
    claims = world.claim(owner, 2 * RUNS)
    start = Barrier(2, timeout=30)

    def end(mine: list[Claim]) -> list[bool]:
        return [start.wait() >= 0 and world.complete(claim) for claim in mine]

    with ThreadPoolExecutor(2) as pool:
        accepted = list(pool.map(end, [claims[::2], claims[1::2]]))
    ran = world.finish(owner)

    assert accepted == [[True] * RUNS, [True] * RUNS]
    assert [claim.step for claim in ran] == ["join"] * RUNS
    assert len({claim.job_id for claim in ran}) == RUNS
    assert {world.job(job.job_id).status for job in jobs} == {"completed"}


def test_parents_that_are_both_about_to_commit_wake_the_finalizer_once(world: World):
    """004-001, 001-003: neither sees the other done, as far as the database lets them."""
    ann, bob = world.worker("ann"), world.worker("bob")
    job_id = world.submit(PAIR)
    claims = [*world.claim(ann), *world.claim(bob)]
    meeting = Barrier(2, timeout=1)  # they cannot both come, but a mutant's two must find the time

    def meet() -> None:
        with suppress(BrokenBarrierError):
            meeting.wait()

    with interrupted("complete.before_commit", meet), ThreadPoolExecutor(2) as pool:
        accepted = list(pool.map(world.complete, claims))

    assert accepted == [True, True]
    assert orchestrator.reconcile(world.engine) == []
    assert world.states(job_id)["join"] == ["ready"]


def test_parents_that_end_and_fail_at_the_same_moment_skip_the_finalizer_once(world: World):
    """004-005: done first or failed first, the job is failed."""
    ann, bob = world.worker("ann"), world.worker("bob")
    start = Barrier(2, timeout=30)

    def end(claim: Claim, well: bool) -> bool:
        start.wait()
        return world.complete(claim) if well else world.fail(claim, retryable=False)

    with ThreadPoolExecutor(2) as pool:
        for _ in range(10):
            job_id = world.submit(PAIR)
            claims = [*world.claim(ann), *world.claim(bob)]
            assert all(pool.map(end, claims, [True, False]))
            assert world.states(job_id)["join"] == ["skipped"]
            assert (world.job(job_id).status, world.job(job_id).open_tasks) == ("failed", 0)


def test_fan_outs_that_end_at_the_same_moment_wake_the_finalizer_once(world: World):
    """004-001, 004-032: the finalizer waits for what two fan-outs are adding at once."""
    steps = {
        "split": Step(),
        "noop": Step(),
        "part": Step(after=("split",), each="values"),
        "heavy": Step(after=("noop",), each="values"),
        "join": Step(after=("part", "heavy")),
    }
    ann, bob = world.worker("ann"), world.worker("bob")
    start = Barrier(2, timeout=30)

    def end(claim: Claim) -> bool:
        start.wait()
        return world.complete(claim, {"values": [{}, {}]})

    with ThreadPoolExecutor(2) as pool:
        for _ in range(10):
            job_id = world.submit(steps)
            claims = [*world.claim(ann), *world.claim(bob)]
            assert all(pool.map(end, claims))
            assert world.job(job_id).open_tasks == 5
            ran = [claim.step for claim in world.finish(ann)]
            assert ran[-1] == "join"
            assert (len(ran), world.job(job_id).status) == (5, "completed")
