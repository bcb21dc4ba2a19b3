"""Metrics: the same from every process, complete after a restart, quick with a long history."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from rushes.api import health
from rushes.api.health import Totals, Watch
from rushes.domain.graph import Step
from rushes.errors import Unavailable
from rushes.library.library import Library
from rushes.observability import metrics
from rushes.settings import Settings
from rushes.storage.local import LocalStorage
from rushes.store.database import Database
from tests.api.house import House
from tests.api.test_health import application
from tests.library.studio import Studio
from tests.world import World, quieten, sql

LINE = re.compile(
    r'(?P<name>[a-z_]+)(?:\{(?P<labels>[a-z_]+="(?:[^"\\\n]|\\["\\n])*"'
    r'(?:,[a-z_]+="(?:[^"\\\n]|\\["\\n])*")*)\})? (?P<value>[0-9.e+-]+)'
)


@pytest.fixture
def library(world: World, tmp_path: Path) -> Library:
    return Library(engine=world.engine, storage=LocalStorage(tmp_path), reserve_bytes=0)


@pytest.fixture
def studio(db: Database, tmp_path: Path) -> Studio:
    return Studio(db, tmp_path / "data")


def test_every_metric_counts_what_happened(world: World, library: Library):
    """000-133, 002-065, 003-043, 003-064, 003-065, 003-067…070: the queue by lane, to scale by."""
    ann = world.worker()
    world.submit()
    [claim] = world.claim(ann)
    world.tick(3)
    world.complete(claim)
    failing = world.submit()
    [claim] = world.claim(ann)
    world.fail(claim, retryable=False)
    world.kill(world.submit())
    world.submit()
    world.submit()
    world.claim(ann)

    told = scrape(world, library)

    assert world.job(failing).status == "failed"
    assert told["rushes_jobs_created_total"] == 5
    assert told['rushes_jobs_completed_total{status="completed"}'] == 1
    assert told['rushes_jobs_completed_total{status="failed"}'] == 1
    assert told['rushes_jobs_completed_total{status="killed"}'] == 1
    assert told["rushes_failures_total"] == 1
    assert told["rushes_jobs_in_progress"] == 1
    assert told['rushes_queue_size{lane="default"}'] == 1
    assert told['rushes_queue_size{lane="gpu"}'] == 0
    assert told['rushes_task_attempts_total{kind="noop",outcome="done"}'] == 1
    assert told['rushes_task_attempts_total{kind="noop",outcome="failed"}'] == 1
    assert told['rushes_task_duration_seconds_sum{kind="noop"}'] == 3
    assert told['rushes_task_duration_seconds_count{kind="noop"}'] == 2
    assert told["rushes_workers_active"] == 1
    assert told['rushes_worker_load{worker="ann"}'] == 1


def test_duration_of_jobs_falls_into_buckets_up_to_six_hours(world: World, library: Library):
    """003-066."""
    ann = world.worker()
    for seconds in (2, 3, 20_000, 30_000):
        world.submit({"heavy": Step()})
        [claim] = world.claim(ann)
        world.tick(seconds)
        assert world.complete(claim)

    told = scrape(world, library)

    def reached(end: str) -> float:
        return told[f'rushes_job_duration_seconds_bucket{{status="completed",le="{end}"}}']

    assert [reached(end) for end in ("1", "2", "4", "14400", "21600", "+Inf")] == [0, 1, 2, 2, 3, 4]
    assert told['rushes_job_duration_seconds_sum{status="completed"}'] == 50_005
    assert told['rushes_job_duration_seconds_count{status="completed"}'] == 4


def test_stale_work_retries_and_giving_up_are_counted(world: World, library: Library):
    """000-133, 002-058."""
    ann = world.worker()
    job_id = world.submit()
    [claim] = world.claim(ann)
    world.tick(world.lease * 2)
    world.recover()
    [claim] = world.claim(ann)
    world.fail(claim)
    world.tick(3_600)
    world.advance()
    [claim] = world.claim(ann)
    world.fail(claim)

    told = scrape(world, library)

    assert world.job(job_id).status == "failed"
    assert told["rushes_stale_jobs_recovered_total"] == 1
    assert told["rushes_max_retries_exceeded_total"] == 1
    outcomes = {"expired": 1, "retried": 1, "failed": 1}
    assert {
        outcome: told[f'rushes_task_attempts_total{{kind="noop",outcome="{outcome}"}}']
        for outcome in outcomes
    } == outcomes


def test_failure_that_nobody_would_try_again_is_not_one_of_too_many_tries(
    world: World, library: Library
):
    """000-133: not even when it happens in the last attempt."""
    ann = world.worker()
    job_id = world.submit()
    for is_last in (False, False, True):
        world.tick(3_600)
        world.advance()
        [claim] = world.claim(ann)
        world.fail(claim, retryable=not is_last)

    assert world.job(job_id).status == "failed"
    assert scrape(world, library)["rushes_max_retries_exceeded_total"] == 0


def test_attempt_is_counted_once_also_when_its_task_is_killed_later(world: World, library: Library):
    """A task that waits is killed with the epoch of the run before."""
    job_id = world.submit()
    [claim] = world.claim(world.worker())
    world.fail(claim)
    world.kill(job_id)

    told = scrape(world, library)

    assert told['rushes_task_attempts_total{kind="noop",outcome="retried"}'] == 1
    assert told['rushes_task_duration_seconds_count{kind="noop"}'] == 1
    assert not [name for name in told if 'outcome="killed"' in name]


def test_scrape_after_scrape_and_a_new_process_tell_the_same(
    world: World, library: Library, monkeypatch: pytest.MonkeyPatch
):
    """A restart loses nothing, and nothing is counted twice, in whatever steps it is counted."""
    monkeypatch.setattr(health, "STRETCH", 3)
    ann, running = world.worker(), Watch(library)
    for number in range(7):
        world.submit()
        world.finish(ann)
        if number % 3 == 0:
            running.scrape()
    quieten(world.db)

    told, again, new = running.scrape(), running.scrape(), Watch(library).scrape()

    assert told == again == new
    assert parse(told)["rushes_jobs_created_total"] == 7


def test_history_that_is_too_long_for_one_scrape_is_counted_in_several(
    world: World, library: Library, monkeypatch: pytest.MonkeyPatch
):
    """Half a count would look as if all the rest had happened at once."""
    monkeypatch.setattr(health, "STRETCH", 2)
    for _ in range(5):
        world.submit()
    quieten(world.db)
    totals, refused = Totals(world.db), 0

    while True:
        try:
            totals.catch_up(seconds=-1)
        except Unavailable:
            refused += 1
        else:
            break

    assert (totals.created, refused) == (5, 2)


def test_labels_are_bounded(world: World, library: Library):
    """002-058: kinds that the program does not know have one name; gone workers have none."""
    gone = world.worker("gone")
    for _ in range(2):
        world.submit()
        world.finish(gone)
    sql(world.db, "UPDATE tasks SET kind = 'strange-' || id")
    world.tick(world.engine.limits.offline_after * 2)
    world.worker('odd "name"\\')

    told = scrape(world, library)

    assert told['rushes_task_attempts_total{kind="other",outcome="done"}'] == 2
    assert [name for name in told if "rushes_worker_load" in name] == [
        r'rushes_worker_load{worker="odd \"name\"\\"}'
    ]
    assert not [name for name in told if "strange" in name]


def test_metrics_are_for_admins_unless_made_public(studio: Studio):
    closed = House(studio, application(studio.library))
    public = House(
        studio,
        application(
            studio.library, settings=Settings(data=studio.storage.root, metrics_public=True)
        ),
    )

    closed.visitor().problem("GET", "/metrics", 401)
    closed.visitor(closed.key(closed.user("ann"))).problem("GET", "/metrics", 403)
    answers = [closed.admin.get("/metrics"), public.visitor().get("/metrics")]

    assert [answer.status_code for answer in answers] == [200, 200]
    assert answers[0].headers["content-type"] == metrics.CONTENT_TYPE
    assert parse(answers[0].text)["rushes_workers_active"] == 1


def scrape(world: World, library: Library) -> dict[str, float]:
    quieten(world.db)
    return parse(Watch(library).scrape(now=world.now))


def parse(text: str) -> dict[str, float]:
    """Return {sample: value}. Fails for what Prometheus would not read."""
    told: dict[str, float] = {}
    for line in text.splitlines():
        if not line.startswith(("# HELP rushes_", "# TYPE rushes_")):
            match = LINE.fullmatch(line)
            assert match is not None, line
            sample, _, value = line.rpartition(" ")
            assert sample not in told, sample
            told[sample] = float(value)
    return told
