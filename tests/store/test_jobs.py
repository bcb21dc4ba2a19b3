"""Jobs as people look at them: found by a piece of the id, listed in pages, with progress."""

from __future__ import annotations

from datetime import timedelta

import pytest

from rushes.domain.graph import Step
from rushes.domain.job import progress
from rushes.errors import Invalid, NotFound
from rushes.store import jobs, tasks
from rushes.store.jobs import Which
from tests.world import NOBODY, World

STEPS = {
    "split": Step(weight=1),
    "part": Step(items=[{}] * 3, after=("split",), weight=5),
    "join": Step(after=("part",), weight=2),
}


@pytest.mark.parametrize("piece", [slice(None), slice(-8, None), slice(0, -1)])
def test_job_is_found_by_a_piece_of_its_id(world: World, piece: slice):
    """003-004."""
    world.submit()
    job_id = world.submit()

    assert world.db.read(lambda tx: jobs.find(tx, job_id[piece])) == job_id


def test_newest_job_has_a_name_of_its_own(world: World):
    world.submit()
    job_id = world.submit()

    assert world.db.read(lambda tx: jobs.find(tx, "@last")) == job_id


@pytest.mark.parametrize(
    "text", ["", "abc", "%%%%", "____", "nonsense", "ffffffff", "@first", "@last"]
)
def test_text_that_fits_no_job_finds_none(world: World, text: str):
    """004-027."""
    with pytest.raises(NotFound):
        world.db.read(lambda tx: jobs.find(tx, text))


@pytest.mark.parametrize("db", ["sqlite"], indirect=True)
def test_job_is_found_by_its_name_in_capitals_of_any_alphabet(world: World):
    """PostgreSQL goes by the locale of its database, which is none in these tests."""
    job_id = world.submit(label="Über den Ärger")
    world.submit(label="Older")

    for text in ("ärger", "ÜBER", "den"):
        which = Which(text=text)
        [found] = world.db.read(lambda tx, which=which: jobs.list_page(tx, which))
        assert found.id == job_id


def test_text_that_fits_two_jobs_is_refused(world: World):
    first, _ = world.submit(), world.submit()

    with pytest.raises(Invalid, match="fits more than one job"):
        world.db.read(lambda tx: jobs.find(tx, first[:4]))


@pytest.mark.parametrize("job_id", [NOBODY, "nonsense", ""])
def test_job_that_does_not_exist_is_not_found(world: World, job_id: str):
    """004-027."""
    with pytest.raises(NotFound, match="there is no job"):
        world.job(job_id)


def test_list_goes_on_where_the_page_before_ended(world: World):
    """004-029 (C66): newest first."""
    made = [world.submit() for _ in range(5)]

    first = world.db.read(lambda tx: jobs.list_page(tx, limit=3))
    second = world.db.read(lambda tx: jobs.list_page(tx, limit=3, before=first[-1].id))

    assert [job.id for job in [*first, *second]] == made[::-1]


def test_list_may_be_of_one_status_or_kind(world: World):
    """004-029."""
    killed, queued = world.submit(), world.submit(kind="other")
    world.kill(killed)

    by_status = world.db.read(lambda tx: jobs.list_page(tx, jobs.Which("killed")))
    by_kind = world.db.read(lambda tx: jobs.list_page(tx, jobs.Which(kind="other")))

    assert ([job.id for job in by_status], [job.id for job in by_kind]) == ([killed], [queued])
    assert world.db.read(jobs.counts) == {
        **dict.fromkeys(("running", "completed", "failed"), 0),
        "queued": 1,
        "killed": 1,
    }


def test_progress_of_a_list_is_that_of_the_rules(world: World):
    """000-013, 004-022, 004-026, 004-036: one definition, counted by the database or not."""
    job_id = world.submit(STEPS)
    owner = world.worker()
    seen = []

    def look() -> None:
        job = world.job(job_id)
        listed = world.db.read(lambda tx: jobs.percent(tx, [job]))[job_id]
        seen.append((listed, progress(world.tasks(job_id), job.weights)))

    look()
    while claims := world.claim(owner):
        world.beat(claims[0], progress=33)
        look()
        world.complete(claims[0])
        look()

    assert [listed for listed, _ in seen] == [computed for _, computed in seen]
    assert [listed for listed, _ in seen] == sorted(listed for listed, _ in seen)
    assert seen[-1] == (100, 100)


def test_task_that_does_not_exist_is_not_found(world: World):
    with pytest.raises(NotFound, match="there is no task 9999"):
        world.db.read(lambda tx: tasks.get(tx, 9_999))


def test_failures_are_counted_by_cause_and_hour(world: World):
    """002-059: an hour is one from now on back, not one of the clock."""
    ann = world.worker()
    for code, minutes in (
        ("DISK_FULL", 500),
        ("DISK_FULL", 31),
        ("INTERNAL", 30),
        ("DISK_FULL", 0),
    ):
        world.submit()
        [claim] = world.claim(ann)
        world.fail(claim, code, retryable=False)
        world.tick(timedelta(minutes=minutes))

    groups, hours = world.db.read(
        lambda tx: (
            tx.rows("failed_groups", owner=None),
            tx.rows("failed_hours", owner=None, hours=9),
        ),
        now=world.now,
    )

    assert [(group["error_code"], group["jobs"]) for group in groups] == [
        ("DISK_FULL", 3),
        ("INTERNAL", 1),
    ]
    assert sorted((row["error_code"], row["hours_ago"], row["jobs"]) for row in hours) == [
        ("DISK_FULL", 0, 1),
        ("DISK_FULL", 1, 1),
        ("INTERNAL", 0, 1),
    ]
