"""Taking jobs in: all of a job or nothing, and the same request twice is one job."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from threading import Barrier
from typing import Any

import pytest

from rushes.domain.graph import Boost, JobRequest, Step
from rushes.domain.task import Claim
from rushes.engine.submit import Submitted, submit, submit_many
from rushes.errors import ActiveJobExists, Conflict, Invalid, KeyReused, Unavailable
from rushes.store.ids import new_id
from tests.bad_requests import BAD_REQUESTS
from tests.world import World, armed, interrupted, sql

TABLES = ("jobs", "tasks", "edges", "events", "idempotency_keys")
GRAPH = {
    "split": Step(),
    "part": Step(items=[{}, {}], after=("split",)),
    "join": Step(after=("part",)),
}


def job(**options: Any) -> JobRequest:
    return replace(JobRequest(kind="test", steps={"noop": Step()}), **options)


def test_job_is_made_with_tasks_edges_and_event_at_once(world: World):
    """000-004, 000-043, 002-071, 003-006, 003-007, 003-025."""
    job_id = world.submit(GRAPH, label="film", owner="ana", priority=7, spec={"film": 1})

    made = world.job(job_id)
    assert (made.status, made.label, made.owner, made.priority) == ("queued", "film", "ana", 7)
    assert (made.open_tasks, made.spec, made.created_at) == (4, '{"film":1}', world.now)
    assert _rows(world) == {"jobs": 1, "tasks": 4, "edges": 4, "events": 1, "idempotency_keys": 0}
    assert world.states(job_id) == {"split": ["ready"], "part": ["new"] * 2, "join": ["new"]}
    assert [task.open_parents for task in world.tasks(job_id)] == [0, 1, 1, 2]


def test_steps_may_come_in_any_order(world: World):
    job_id = world.submit(dict(reversed(GRAPH.items())))

    assert world.states(job_id) == {"split": ["ready"], "part": ["new"] * 2, "join": ["new"]}


def test_job_with_a_later_start_waits_for_its_time(world: World):
    job_id = world.submit(run_at=world.now + 60_000)
    early = world.advance()
    world.tick(60)
    world.advance()

    assert early == 0
    assert world.states(job_id) == {"noop": ["ready"]}


@pytest.mark.parametrize("name", BAD_REQUESTS)
def test_bad_request_writes_nothing(world: World, name: str):
    """002-050."""
    request, sentence = BAD_REQUESTS[name]

    with pytest.raises(Invalid) as refused:
        submit(world.engine, request, now=world.now)

    assert sentence in refused.value.message
    assert set(_rows(world).values()) == {0}


def test_job_that_breaks_before_its_commit_leaves_nothing(world: World):
    """000-043, 003-025."""
    with armed("job.before_commit=error"), pytest.raises(Unavailable):
        world.submit(idempotency_key="once")

    assert set(_rows(world).values()) == {0}


def test_job_whose_answer_was_lost_is_found_by_its_id(world: World):
    """003-063: a caller that brings the id may ask again."""
    request = job(id=new_id())
    first = submit(world.engine, request, now=world.now)

    again = submit(world.engine, request, now=world.now)

    assert first == again == Submitted(request.id)
    assert _rows(world)["tasks"] == 1


def test_id_of_another_job_is_refused(world: World):
    """003-063."""
    request = job(id=new_id())
    submit(world.engine, request, now=world.now)

    with pytest.raises(Conflict, match="is another job"):
        submit(world.engine, replace(request, label="other"), now=world.now)


def test_same_key_and_request_is_the_same_job(world: World):
    """003-063 (C51)."""
    first = world.submit(idempotency_key="k")

    again = submit(world.engine, job(idempotency_key="k"), now=world.now)

    assert again == Submitted(first, created=False)
    assert _rows(world)["jobs"] == 1


@pytest.mark.parametrize(
    "other",
    [
        {"label": "other"},
        {"priority": 6},
        {"kind": "other"},
        {"spec": {"x": 1}},
        {"run_at": 1},
        {"steps": {"noop": Step(params={"x": 1})}},
        {"steps": {"noop": Step(optional=True)}},
        {"steps": {"noop": Step(max_attempts=9)}},
        {"steps": {"noop": Step(boost=Boost.ALL)}},
        {"steps": {"noop": Step(weight=2)}},
        {"steps": {"n": Step(kind="noop")}},
        {"steps": {"noop": Step(), "split": Step()}},
    ],
    ids=str,
)
def test_same_key_for_another_request_is_refused(world: World, other: dict[str, Any]):
    """003-063 (C51)."""
    first = world.submit(idempotency_key="k")

    with pytest.raises(KeyReused, match="'k' was used for another request") as refused:
        world.submit(idempotency_key="k", **other)

    assert refused.value.detail["job_id"] == first
    assert _rows(world)["jobs"] == 1


def test_key_belongs_to_its_owner(world: World):
    """003-063."""
    jobs = {world.submit(idempotency_key="k", owner=owner) for owner in ("ana", "bob", None)}

    assert len(jobs) == 3


def test_key_of_a_finished_job_still_finds_it(world: World):
    job_id = world.submit(idempotency_key="k")
    world.finish(world.worker())

    assert world.submit(idempotency_key="k") == job_id


def test_hundred_requests_with_one_key_make_one_job(world: World):
    """003-063, 000-146."""
    start = Barrier(100)

    def ask(_: int) -> Submitted:
        start.wait()
        return submit(world.engine, job(idempotency_key="k"), now=world.now)

    with ThreadPoolExecutor(100) as pool:
        answers = list(pool.map(ask, range(100)))

    assert len({answer.job_id for answer in answers}) == 1
    assert sum(answer.created for answer in answers) == 1
    assert (_rows(world)["jobs"], _rows(world)["tasks"]) == (1, 1)


def test_active_job_of_a_dedupe_key_is_returned_to_the_same_request(world: World):
    """002-052, 000-004."""
    first = world.submit(dedupe_key="asset")

    again = submit(world.engine, job(dedupe_key="asset"), now=world.now)

    assert again == Submitted(first, created=False)


def test_other_request_for_an_active_dedupe_key_is_refused(world: World):
    """002-052."""
    first = world.submit(dedupe_key="asset")

    with pytest.raises(ActiveJobExists) as refused:
        world.submit(dedupe_key="asset", label="other")

    assert refused.value.detail["job_id"] == first


def test_dedupe_key_is_free_once_its_job_has_ended(world: World):
    """002-052, 002-053."""
    first = world.submit(dedupe_key="asset")
    world.finish(world.worker())

    assert world.submit(dedupe_key="asset") != first


def test_rivals_for_a_dedupe_key_make_one_job(world: World):
    """002-052 (D16)."""
    start = Barrier(8)

    def ask(_: int) -> str:
        start.wait()
        return world.submit(dedupe_key="asset")

    with ThreadPoolExecutor(8) as pool:
        answers = set(pool.map(ask, range(8)))

    assert len(answers) == 1


def test_idempotency_key_leads_to_the_job_that_was_there(world: World):
    """003-063: not to one that was never made, because the dedupe key found another."""
    there = world.submit(dedupe_key="asset")
    first = world.submit(dedupe_key="asset", idempotency_key="k")

    again = world.submit(dedupe_key="asset", idempotency_key="k")

    assert first == again == there


def test_rival_that_ends_at_that_very_moment_leaves_room_for_a_new_job(world: World):
    """002-052: whatever the other does meanwhile, the caller gets a job."""
    owner = world.worker()
    start = Barrier(2, timeout=30)

    def end(claim: Claim) -> bool:
        start.wait()
        return world.complete(claim)

    def ask() -> str:
        start.wait()
        return world.submit(dedupe_key="asset")

    with ThreadPoolExecutor(2) as pool:
        for _ in range(10):
            first = world.submit(dedupe_key="asset")
            [claim] = world.claim(owner)
            ended, asked = pool.submit(end, claim), pool.submit(ask)
            assert ended.result()
            assert asked.result() == first or world.job(asked.result()).status == "queued"


def test_bulk_makes_all_jobs(world: World):
    """003-081."""
    answers = submit_many(world.engine, [job(label=str(n)) for n in range(50)], now=world.now)

    assert [world.job(answer.job_id).label for answer in answers] == [str(n) for n in range(50)]
    assert _rows(world) == {**_rows(world), "jobs": 50, "tasks": 50, "events": 50}


def test_bulk_of_nothing_is_nothing(world: World):
    assert submit_many(world.engine, [], now=world.now) == []


@pytest.mark.parametrize(
    "bad, error",
    [(job(priority=11), Invalid), (job(dedupe_key="asset", label="other"), ActiveJobExists)],
)
def test_bulk_with_one_bad_request_makes_none(
    world: World, bad: JobRequest, error: type[Exception]
):
    """003-025."""
    world.submit(dedupe_key="asset")

    with pytest.raises(error):
        submit_many(world.engine, [job(), bad, job()], now=world.now)

    assert _rows(world)["jobs"] == 1


def test_bulk_with_one_key_twice_makes_one_job(world: World):
    twice = [job(idempotency_key="k"), job(idempotency_key="k")]

    first, again = submit_many(world.engine, twice, now=world.now)

    assert again == Submitted(first.job_id, created=False)
    assert _rows(world)["jobs"] == 1


def test_bulk_with_one_id_twice_is_refused_in_one_line(world: World):
    twice = [job(id=new_id())] * 2

    with pytest.raises(Invalid, match="is asked for twice"):
        submit_many(world.engine, twice, now=world.now)

    assert _rows(world)["jobs"] == 0


def test_order_key_is_the_time_plus_a_day_per_step_of_priority_minus_the_boost(world: World):
    """003-044, 003-045, 002-070 (C40, C68)."""
    day = timedelta(days=1) // timedelta(milliseconds=1)
    steps = {
        "noop": Step(priority=7),
        "split": Step(boost=Boost.ALL),
        "part": Step(items=[{}, {}], boost=Boost.FIRST),
    }
    world.submit(steps, priority=6)

    rows = sql(world.db, "SELECT due_at, priority FROM tasks ORDER BY id")

    assert [(row["due_at"] - world.now) / day for row in rows] == [2, 3.5, 3.5, 4]
    assert [row["priority"] for row in rows] == [8, 6, 6, 6]


def test_commit_wakes_the_lanes_that_have_work(world: World, monkeypatch: pytest.MonkeyPatch):
    """000-045."""
    woken: list[set[str]] = []
    monkeypatch.setattr(world.db, "on_commit", woken.append)

    world.submit({"noop": Step(), "gpu": Step(), "join": Step(after=("noop",))})

    assert woken == [{"default", "gpu"}]


def test_job_is_invisible_before_its_commit(world: World):
    """001-009, 003-025."""
    seen: list[int] = []
    read = world.db.read
    look = lambda: seen.append(len(read(lambda tx: tx.rows("count_jobs", owner=None))))  # noqa: E731

    with interrupted("job.before_commit", look):
        world.submit()

    assert seen == [0]


def _rows(world: World) -> dict[str, int]:
    counts = [sql(world.db, f"SELECT count(*) AS n FROM {table}") for table in TABLES]
    return {table: row["n"] for table, [row] in zip(TABLES, counts, strict=True)}
