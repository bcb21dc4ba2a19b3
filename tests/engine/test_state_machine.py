"""A random walk through the real store, compared with the model of machine.py at every step.

Faults on: any call in any order, stale and repeated reports, silence, restarts. Faults off:
everything ends, and the doctor finds nothing. The same class runs on both databases.
"""

from __future__ import annotations

import itertools
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import HealthCheck, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from rushes.domain.event import OF_MOVE
from rushes.domain.failure import failure
from rushes.domain.graph import Boost, JobRequest, Step
from rushes.domain.kind import Kind
from rushes.domain.outcome import Done, Failed, HandedBack, Outcome
from rushes.domain.task import Claim
from rushes.engine import complete, doctor, operator, orchestrator, presence, recovery
from rushes.engine.claim import claim
from rushes.engine.submit import submit
from rushes.errors import ActiveJobExists, Conflict, Invalid, KeyReused
from rushes.observability import failpoints
from rushes.store.database import Database, open_database
from rushes.store.queries import load
from tests.conftest import empty
from tests.engine.machine import KINDS, LEASE, Job, Model, Task, Worker
from tests.world import World, interrupted, sql

STEPS = 100  # per run
ROWS = """
    SELECT id, job_id, step, item, state, lease_epoch, attempt, losses, lease_owner, run_at,
           lease_expires_at, open_parents, due_at, progress, skip_reason, each
      FROM tasks ORDER BY id
"""
EVENTS = "SELECT type FROM events"
JOBS = "SELECT id, status, open_tasks, failed_tasks, warnings FROM jobs"
TABLES = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
RESULTS = [*(json.dumps({"parts": [{}] * n}) for n in (2, 1, 3, 2, 0)), "null", '{"parts": 5}']
FREE = ["noop", "stalls", "stalls", "overruns", "encode", "gpu"]
TICKS = [1, 11, 21, 21, 41, 59, 61, 61, 100, 125, 400, 5 * 3_600]


def step(*kinds: str, **fixed: Any) -> st.SearchStrategy[Step]:
    """One draw per step: what a walk is made of is cheap to make."""
    choices = itertools.product(kinds or FREE, (False, True), (None, 1, 5), (5, 8), Boost)
    names = ("kind", "optional", "max_attempts", "priority", "boost")
    steps = [Step(**dict(zip(names, choice, strict=True)), **fixed) for choice in choices]
    return st.integers(0, len(steps) - 1).map(lambda number: steps[number])


PIPELINES = st.one_of(
    st.fixed_dictionaries({"one": step()}),
    st.fixed_dictionaries({"a": step(), "b": step(after=("a",)), "c": step(after=("a", "b"))}),
    st.fixed_dictionaries({"many": step("noop", items=[{}, {}, {}]), "z": step(after=("many",))}),
    st.fixed_dictionaries(
        {
            "split": step("split"),
            "part": step("part", after=("split",), each="parts"),
            "join": step("join", after=("part",)),
        }
    ),
    st.fixed_dictionaries(
        {
            "first": step("split"),
            "second": step("split"),
            "part": step("part", after=("first", "second"), each="parts"),
            "batch": step("noop", after=("part",), each="parts"),
            "join": step("join", after=("batch", "first")),
        }
    ),
)
PICK = st.integers(0, 50)
KEYS = st.sampled_from([None, None, "k", "l", "m"])
ENDS = st.sampled_from(["done", "done", "retry", "retry", "fail", "back"])
ORDERS = [
    *("pause", "restart", "restart after a crash", "restart after a crash", "present", "present"),
    *("drain", "disable", "resume", "resume", "leave"),
]
WANT = st.fixed_dictionaries({"default": st.integers(0, 4), "gpu": st.integers(0, 2)})


class EngineMachine(RuleBasedStateMachine):
    """Each rule does the same to the world and to the model, and compares the answers."""

    steps: ClassVar[Counter[str]] = Counter()

    def __init__(self, db: Database) -> None:
        super().__init__()
        clear(db)
        self.world = World(db, KINDS)
        self.model = Model(self.world.now)
        self.claims: list[Claim] = []

    @initialize(first=st.lists(PIPELINES, min_size=2, max_size=4))
    def begin(self, first: list[dict[str, Step]]) -> None:
        self.start("ann", {"default": 4}, ())
        self.start("gil", {"default": 1, "gpu": 2}, ("gpu",))
        self.recover()
        for steps in first:
            self.ask(JobRequest(kind="test", steps=steps))
        self.number()
        for worker in (0, 1):
            self.claim(worker, {"default": 1, "gpu": 1})

    @precondition(lambda self: sum(job.is_active for job in self.model.jobs.values()) < 5)
    @rule(
        steps=PIPELINES,
        priority=st.sampled_from([5, 5, 2, 10]),
        delay=st.sampled_from([None, None, None, 30, 600]),
        key=KEYS,
        dedupe=st.sampled_from([None, None, "d", "e"]),
    )
    def submit(
        self,
        steps: dict[str, Step],
        priority: int,
        delay: int | None,
        key: str | None,
        dedupe: str | None,
    ) -> None:
        self.ask(
            JobRequest(
                kind="test",
                steps=steps,
                priority=priority,
                run_at=self.world.now + delay * 1_000 if delay else None,
                idempotency_key=key,
                dedupe_key=dedupe,
            )
        )

    @precondition(lambda self: self.model.jobs)
    @rule(which=PICK, key=KEYS, differs=st.booleans())
    def submit_again(self, which: int, key: str | None, differs: bool) -> None:
        request = self.pick_job(which).request
        name, step = next(iter(request.steps.items()))
        if differs:
            step = replace(step, optional=not step.optional)
        steps = {**request.steps, name: step}
        self.ask(replace(request, steps=steps, idempotency_key=key))

    def ask(self, request: JobRequest) -> None:
        known = self.model.keys.get(request.idempotency_key or "")
        before = known or self.model.rival(request)
        if before is not None and not is_same(before.request, request):
            with pytest.raises(KeyReused if known else ActiveJobExists):
                submit(self.world.engine, request, now=self.world.now)
            return
        submitted = submit(self.world.engine, request, now=self.world.now)
        assert submitted.created is (before is None)
        assert before is None or submitted.job_id == before.id
        if before is None:
            self.model.submit(submitted.job_id, request)
        if request.idempotency_key:
            self.model.keys[request.idempotency_key] = self.model.jobs[submitted.job_id]

    @rule(who=PICK, want=WANT)
    def claim(self, who: int, want: dict[str, int]) -> None:
        self.take(self.pick_worker(who).owner, want)

    @precondition(lambda self: self.live)
    @rule(which=PICK, end=ENDS, result=st.sampled_from(RESULTS))
    def finish(self, which: int, end: str, result: str) -> None:
        claim = pick(self.live, which)
        self.report(claim.owner, [outcome(claim, end, result)])

    @precondition(lambda self: self.claims)
    @rule(which=PICK, end=ENDS, result=st.sampled_from(RESULTS), stranger=st.booleans())
    def report_again_or_late(self, which: int, end: str, result: str, stranger: bool) -> None:
        claim = pick(self.claims[::-1], which)
        owner = "eve#0" if stranger else claim.owner
        self.report(owner, [outcome(claim, end, result)])

    @precondition(lambda self: self.claims)
    @rule(ends=st.lists(st.tuples(PICK, ENDS, st.sampled_from(RESULTS)), max_size=5), want=WANT)
    def exchange(self, ends: list[tuple[int, str, str]], want: dict[str, int]) -> None:
        owner = self.claims[-1].owner
        own = [claim for claim in reversed(self.claims) if claim.owner == owner]
        chosen = {pick(own, which): (end, result) for which, end, result in ends}
        outcomes = [outcome(claim, *how) for claim, how in chosen.items()]
        answer = complete.exchange(self.world.engine, owner, outcomes, want, now=self.world.now)
        assert answer.refused == self.model.report(owner, outcomes)
        self.number()
        self.check_claims(answer.claims, self.model.claim(owner, want))

    @precondition(lambda self: self.claims)
    @rule(which=PICK, progress=st.integers(0, 100), moved=st.booleans(), saved=st.booleans())
    def beat(self, which: int, progress: int, moved: bool, saved: bool) -> None:
        claim = pick(self.claims[::-1], which)
        told = self.world.beat(
            claim, progress=progress, moved=moved, checkpoint="half" if saved else None
        )
        assert told == self.model.beat(
            claim.owner, claim.id, claim.epoch, progress=progress, moved=moved, saved=saved
        )

    @precondition(lambda self: self.live)
    @rule(which=PICK, keep=st.booleans())
    def forget_an_answer(self, which: int, keep: bool) -> None:
        owner = pick(self.live, which).owner
        own = [claim for claim in self.live if claim.owner == owner]
        lost = own[1:] if keep else own
        held = [claim.id for claim in own if claim not in lost]
        n = complete.hand_back_strays(self.world.engine, owner, held, now=self.world.now)
        assert n == len(lost)
        self.model.report(owner, [HandedBack(claim.id, claim.epoch) for claim in lost])

    @rule(seconds=st.sampled_from(TICKS), loops=st.sampled_from(["", "r", "a", "ra", "ar"]))
    def let_time_pass(self, seconds: int, loops: str) -> None:
        self.tick(seconds)
        for loop in loops:
            self.recover() if loop == "r" else self.advance()

    def tick(self, seconds: int) -> None:
        self.world.tick(seconds)
        self.model.now = self.world.now

    def recover(self) -> None:
        assert self.world.recover().in_grace == self.model.recover()

    def advance(self) -> None:
        self.world.advance()
        self.model.advance()
        self.number()

    @rule(who=PICK, want=WANT, seconds=st.sampled_from([21, 41, 61]))
    def claim_and_fall_silent(self, who: int, want: dict[str, int], seconds: int) -> None:
        self.claim(who, want)
        self.tick(seconds)
        self.recover()

    @precondition(lambda self: self.live)
    @rule(which=PICK, end=ENDS, result=st.sampled_from(RESULTS), seconds=st.sampled_from([21, 61]))
    def finish_while_recovery_looks(self, which: int, end: str, result: str, seconds: int) -> None:
        def finish_and_claim() -> None:
            failpoints.call("recovery.between_select_update", None)
            claim = pick(self.live, which)
            self.report(claim.owner, [outcome(claim, end, result)])
            self.number()
            self.take(claim.owner, {"default": 1})

        self.tick(seconds)
        with interrupted("recovery.between_select_update", finish_and_claim):
            self.recover()

    @precondition(lambda self: self.model.jobs)
    @rule(which=PICK, order=st.sampled_from(["kill", "priority"]), priority=st.integers(0, 10))
    def change_job(self, which: int, order: str, priority: int) -> None:
        job = self.pick_job(which)
        self.kill(job) if order == "kill" else self.set_priority(job, priority)

    def kill(self, job: Job) -> None:
        if job.status in ("completed", "failed"):
            with pytest.raises(Conflict):
                operator.kill(self.world.engine, job.id, now=self.world.now)
            return
        operator.kill(self.world.engine, job.id, now=self.world.now)
        self.model.kill(job)

    @precondition(lambda self: self.model.jobs)
    @rule(which=PICK, only=st.sampled_from(["all", "all", "kind", "task"]), what=PICK)
    def requeue(self, which: int, only: str, what: int) -> None:
        job = self.pick_job(which)
        task = pick(job.tasks, what)
        filters: dict[str, Callable[[Task], bool]] = {
            "all": lambda one: True,
            "kind": lambda one: one.kind is task.kind,
            "task": lambda one: one is task,
        }
        chosen = {"kind": task.kind.name} if only == "kind" else {}
        chosen |= {"task_id": task.id} if only == "task" else {}
        rival = self.model.rival(job.request)
        n = 0
        if job.is_active or rival is None:
            n = self.model.requeue(job, filters[only])
        if n == 0:
            with pytest.raises(Conflict):
                operator.requeue(self.world.engine, job.id, now=self.world.now, **chosen)
            return
        assert operator.requeue(self.world.engine, job.id, now=self.world.now, **chosen) == n

    def set_priority(self, job: Job, priority: int) -> None:
        if not job.is_active:
            with pytest.raises(Conflict):
                operator.set_priority(self.world.engine, job.id, priority, now=self.world.now)
            return
        operator.set_priority(self.world.engine, job.id, priority, now=self.world.now)
        self.model.set_priority(job, priority)

    @rule(who=PICK, order=st.sampled_from(ORDERS), kind=st.sampled_from(sorted(KINDS)))
    def change_workers(self, who: int, order: str, kind: str) -> None:
        worker = self.pick_worker(who)
        if order == "pause":
            self.pause_or_resume(kind)
        elif order.startswith("restart"):
            self.restart(worker, known_dead=order == "restart after a crash")
        elif order == "present":
            self.say_present(worker)
        else:
            self.direct(worker, order)

    def pause_or_resume(self, kind: str) -> None:
        if kind in self.model.paused:
            assert operator.resume(self.world.engine, kind, by="eve")
        else:
            operator.pause(self.world.engine, kind, by="eve")
        self.model.paused ^= {kind}

    def restart(self, worker: Worker, *, known_dead: bool) -> None:
        self.start(worker.name, worker.lanes, tuple(worker.offers))
        if known_dead:
            recovery.take_back(self.world.engine, [worker.owner], now=self.world.now)
            self.model.take_back(worker.owner)

    def direct(self, worker: Worker, order: str) -> None:
        sources, mode = {
            "drain": ({"active"}, "draining"),
            "disable": ({"active", "draining", "stopped"}, "disabled"),
            "resume": ({"draining", "disabled"}, "active"),
            "leave": ({"active", "draining", "stopped"}, "stopped"),
        }[order]
        if order == "leave":
            presence.leave(self.world.engine, worker.owner, now=self.world.now)
            worker.seen_at = self.world.now
        else:
            given = {"drain": operator.drain, "disable": operator.disable}
            call = given.get(order, operator.resume_worker)
            if worker.mode not in sources:
                with pytest.raises(Conflict):
                    call(self.world.engine, worker.id)
                return
            call(self.world.engine, worker.id)
        worker.mode = mode if worker.mode in sources else worker.mode

    def say_present(self, worker: Worker) -> None:
        assert presence.present(self.world.engine, worker.owner, now=self.world.now) == worker.mode
        worker.seen_at = self.world.now
        recovery.mark_offline(self.world.engine, now=self.world.now)

    @invariant()
    def rows_are_as_the_model_says(self) -> None:
        self.steps["steps"] += 1
        self.compare()

    def compare(self) -> None:
        rows = self.number()
        assert len(rows) == len(self.model.tasks)
        for row in rows:
            task = self.model.tasks[row["id"]]
            if task.backoff is not None:
                assert task.backoff[0] <= row["run_at"] <= task.backoff[1]
                task.run_at, task.backoff = row["run_at"], None
            said = {**row, "fans_out": row["each"] is not None}
            for name, value in task.row().items():
                assert value is None or said[name] == value, (name, said, task.row())
            if task.owner is None:
                assert row["lease_owner"] is row["lease_expires_at"] is None
        for row in sql(self.world.db, JOBS):
            assert {**row, "id": str(row["id"])} == self.model.jobs[str(row["id"])].row()

    def teardown(self) -> None:
        if sys.exc_info()[0] is not None:
            return
        self.steps["runs"] += 1
        self.let_it_end()
        assert [job.id for job in self.model.jobs.values() if job.is_active] == []
        report = doctor.examine(self.world.engine, strict=True, now=self.world.now)
        assert report.findings == []
        self.steps.update(row["type"] for row in sql(self.world.db, EVENTS))

    def let_it_end(self) -> None:
        """Faults stop: work goes on by itself until nothing is left."""
        for kind in sorted(self.model.paused):
            self.pause_or_resume(kind)
        self.start("zed", {"default": 99, "gpu": 99}, ("gpu",))
        zed = self.model.workers["zed"].owner
        for _ in range(40):
            if not any(job.is_active for job in self.model.jobs.values()):
                return
            self.tick(100)
            self.recover()
            self.advance()
            claims = self.take(zed, {"default": 99, "gpu": 99})
            self.report(zed, [outcome(claim, "done", RESULTS[0]) for claim in claims])
            self.compare()

    @property
    def live(self) -> list[Claim]:
        return [c for c in self.claims if self.model.holds(c.owner, c.id, c.epoch)]

    def pick_worker(self, n: int) -> Worker:
        return pick(list(self.model.workers.values()), n)

    def pick_job(self, n: int) -> Job:
        return pick(list(self.model.jobs.values())[::-1], n)

    def start(self, name: str, lanes: dict[str, int], capabilities: tuple[str, ...]) -> None:
        owner = self.world.worker(name, lanes=lanes, capabilities=capabilities)
        known = self.model.workers.get(name)
        [row] = sql(self.world.db, f"SELECT id FROM workers WHERE name = '{name}'")
        mode = "disabled" if known and known.mode == "disabled" else "active"
        self.model.workers[name] = Worker(
            str(row["id"]), name, owner, lanes, frozenset(capabilities), self.world.now, mode
        )

    def take(self, owner: str, want: dict[str, int]) -> list[Claim]:
        claims = claim(self.world.engine, owner, want, now=self.world.now)
        self.check_claims(claims, self.model.claim(owner, want))
        return claims

    def report(self, owner: str, outcomes: list[Outcome]) -> None:
        refused = complete.report(self.world.engine, owner, outcomes, now=self.world.now)
        assert refused == self.model.report(owner, outcomes)

    def check_claims(self, claims: list[Claim], tasks: list[Task]) -> None:
        got = [(claim.id, claim.epoch, claim.attempt) for claim in claims]
        assert got == [(task.id, task.epoch, task.attempt) for task in tasks]
        assert all(claim.lease_ms == LEASE for claim in claims)
        self.claims = [*self.claims, *claims][-60:]

    def number(self) -> list[dict[str, object]]:
        rows = [{**row, "job_id": str(row["job_id"])} for row in sql(self.world.db, ROWS)]
        self.model.number(rows)
        return rows


def pick(items: list, n: int):
    return items[n % len(items)]


def outcome(claim: Claim, end: str, result: str) -> Outcome:
    if end == "done":
        return Done(claim.id, claim.epoch, result)
    if end == "back":
        return HandedBack(claim.id, claim.epoch)
    record = failure("PROCESSING_ERROR", "it broke", error_type="Broken", retryable=end == "retry")
    return Failed(claim.id, claim.epoch, record)


def is_same(one: JobRequest, other: JobRequest) -> bool:
    return (one.steps, one.priority, one.run_at) == (other.steps, other.priority, other.run_at)


def clear(db: Database) -> None:
    if db.dialect == "postgres":
        empty(db)
        return
    for row in sql(db, TABLES):
        if row["name"] != "schema_migrations":
            sql(db, f"DELETE FROM {row['name']}")


def walk(db: Database, goal: int, first_seed: int) -> None:
    """Run the machine, seed after seed, until `goal` steps are done and every move was seen."""
    start = time.monotonic()
    done: Counter[str] = Counter()

    class Machine(EngineMachine):
        steps = done

    for number in itertools.count(first_seed):
        left = goal - done["steps"]
        if left <= 0:
            break
        print(f"seed {number}, after {done['steps']} steps")
        options = settings(
            max_examples=min(200, left // STEPS + 1),
            stateful_step_count=STEPS,
            deadline=None,
            database=None,
            print_blob=True,
            suppress_health_check=list(HealthCheck),
        )
        run_state_machine_as_test(seed(number)(lambda: Machine(db)), settings=options)

    seconds = time.monotonic() - start
    print(f"{db.dialect}: {done['steps']} steps in {done['runs']} runs, {seconds:.1f} s")
    assert done["steps"] >= goal
    assert set(OF_MOVE.values()) <= set(done)


@pytest.fixture
def quick_sqlite(tmp_path: Path) -> Iterator[Database]:
    with closing(open_database(f"sqlite:///{tmp_path / 'walk.db'}")) as database:
        database.migrate()
        sql(database, "PRAGMA synchronous = OFF")
        yield database


@pytest.mark.timeout(600)
def test_random_walk_on_sqlite(quick_sqlite: Database):
    walk(quick_sqlite, 10_000, first_seed=1)


@pytest.mark.timeout(600)
def test_random_walk_on_postgres(postgres_database: Database):
    walk(postgres_database, 3_000, first_seed=1_000_000)


@pytest.mark.soak
def test_long_random_walk_on_sqlite(quick_sqlite: Database):
    walk(quick_sqlite, 1_000_000, first_seed=random.randrange(10**9))


@pytest.mark.soak
def test_long_random_walk_on_postgres(postgres_database: Database):
    walk(postgres_database, 200_000, first_seed=random.randrange(10**9))


# What the machine and its model brought to light.

LINE = {"split": Step(), "join": Step(after=("split",))}
FAN = {
    "split": Step(),
    "part": Step(after=("split",), each="parts"),
    "join": Step(after=("part",)),
}


def drain(world: World, end: Callable[[Claim], object]) -> None:
    owner = world.worker()
    while claims := world.claim(owner, 10):
        for held in claims:
            end(held)


def parts(n: int) -> dict[str, list[dict[str, int]]]:
    return {"parts": [{"n": number} for number in range(n)]}


def test_requeue_of_one_kind_takes_everything_that_was_killed(world: World):
    job = world.submit(LINE)
    operator.kill(world.engine, job, now=world.now)

    operator.requeue(world.engine, job, kind="join", now=world.now)
    drain(world, world.complete)

    assert world.job(job).status == "completed"


def test_requeue_of_a_task_that_would_only_be_skipped_again_is_refused(world: World):
    job = world.submit(LINE)
    drain(world, lambda claim: world.fail(claim, retryable=False))

    with pytest.raises(Conflict):
        operator.requeue(world.engine, job, kind="join", now=world.now)
    assert world.job(job).status == "failed"


def test_failure_that_was_not_requeued_is_still_that_of_the_job(world: World):
    job = world.submit({"split": Step(), "noop": Step()})
    drain(world, lambda claim: world.fail(claim, "TOOL_FAILED", retryable=False))

    operator.requeue(world.engine, job, kind="noop", now=world.now)
    drain(world, world.complete)

    ended = world.job(job)
    assert ended.status == "failed"
    assert json.loads(ended.failure or "")["step"] == "split"


def test_fan_out_that_was_skipped_still_fans_out_after_a_requeue(world: World):
    job = world.submit(FAN)
    drain(world, lambda claim: world.fail(claim, retryable=False))

    operator.requeue(world.engine, job, now=world.now)
    drain(world, lambda claim: world.complete(claim, parts(2)))

    assert world.states(job) == {"split": ["done"], "part": ["done", "done"], "join": ["done"]}


def test_parent_tried_again_completes_while_its_child_is_in_backoff(world: World):
    job = world.submit({"split": Step(optional=True), "join": Step(after=("split",))})
    owner = world.worker()
    world.fail(*world.claim(owner), retryable=False)
    [child] = world.claim(owner)
    operator.requeue(world.engine, job, now=world.now)
    [parent] = world.claim(owner)
    world.fail(child)

    assert world.complete(parent)

    assert orchestrator.reconcile(world.engine) == []
    assert world.states(job) == {"split": ["done"], "join": ["new"]}


def test_idempotency_key_of_a_duplicate_stands_for_the_active_job(world: World):
    first = world.submit(dedupe_key="d")

    assert world.submit(dedupe_key="d", idempotency_key="k") == first
    assert world.submit(dedupe_key="d", idempotency_key="k") == first


def test_request_with_another_optional_step_is_another_request(world: World):
    world.submit({"noop": Step()}, idempotency_key="k")

    with pytest.raises(KeyReused):
        world.submit({"noop": Step(optional=True)}, idempotency_key="k")


def test_list_of_a_second_parent_is_checked_when_it_is_brought(world: World):
    two = Step(after=("split", "noop"), each="parts")
    job = world.submit({"split": Step(), "noop": Step(), "part": two})
    first, second = world.claim(world.worker(), 2)

    world.complete(first, parts(1))
    world.complete(second, {"parts": 5})

    assert world.states(job) == {"split": ["done"], "noop": ["error"], "part": ["skipped"]}


@pytest.mark.timeout(60)
def test_values_beyond_the_limit_are_refused_before_the_last_parent_ends(world: World):
    last = {"noop": Step(optional=True), "part": Step(after=("split", "noop"), each="parts")}
    job = world.submit({"split": Step(items=[{}, {}]), **last})
    owner = world.worker()
    first, second, third = world.claim(owner, 3)

    world.complete(first, {"parts": [{}] * 6_000})
    world.complete(second, {"parts": [{}] * 6_000})
    world.fail(third, retryable=False)

    assert world.states(job)["split"] == ["done", "error"]
    assert world.job(job).status == "failed"


def test_values_are_checked_together_with_the_params_of_their_step(db: Database):
    def check(params: Mapping[str, object]) -> None:
        if set(params) != {"n", "ladder"}:
            raise Invalid("n and ladder are needed")

    world = World(db, {**KINDS, "part": Kind(name="part", check=check)})
    job = world.submit({**FAN, "part": replace(FAN["part"], params={"ladder": 3})})

    drain(world, lambda claim: world.complete(claim, parts(2)))

    assert world.job(job).status == "completed"


def test_every_task_of_a_fan_out_sees_the_results_of_its_parents(world: World):
    world.submit(FAN)
    owner = world.worker()
    world.complete(*world.claim(owner), parts(3))

    seen = [complete.parent_results(world.engine, claim) for claim in world.claim(owner, 3)]

    assert [results[0]["step"] for results in seen] == ["split"] * 3


def test_result_of_an_earlier_claim_in_the_same_report_is_not_stored(db: Database):
    stored: list[str] = []
    projections = {"noop": lambda _tx, task: stored.append(task.result)}
    world = World(db, KINDS, projections=projections)
    world.submit()
    owner = world.worker()
    [stale] = world.claim(owner)
    world.tick(61)
    world.recover()
    [fresh] = world.claim(owner)

    outcomes = [Done(fresh.id, fresh.epoch, '"fresh"'), Done(stale.id, stale.epoch, '"stale"')]
    complete.report(world.engine, owner, outcomes, now=world.now)

    assert stored == ['"fresh"']


def test_timeouts_are_not_counted_as_losses_of_a_worker(world: World):
    job = world.submit({"heavy": Step(max_attempts=9)})
    owner = world.worker()
    for _ in range(3):
        world.recover()
        [claim] = world.claim(owner)
        world.tick(timedelta(minutes=31))
        world.recover()
        world.beat(claim)
        world.tick(61)
        world.beat(claim)
        world.recover()

    assert world.states(job) == {"heavy": ["ready"]}
    assert [attempt["outcome"] for attempt in world.attempts(job)] == ["timed_out"] * 3


def test_counting_off_a_job_does_not_look_at_all_active_jobs(quick_sqlite: Database):
    closed = [{"id": "j", "closed": 1, "failed": 0, "warned": 0, "failure": None}]
    statement = f"EXPLAIN QUERY PLAN {load('sqlite')['close_jobs']}"

    plan = quick_sqlite._writer.execute(  # type: ignore[attr-defined]
        statement, {"closed": json.dumps(closed), "now": None}
    ).fetchall()

    [access] = [row["detail"] for row in plan if "jobs" in row["detail"]]
    assert access == "SEARCH jobs USING INDEX sqlite_autoindex_jobs_1 (id=?)"
