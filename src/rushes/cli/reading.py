"""What commands read of the engine: a job with its tasks, its feed, why it waits."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from rushes.domain.event import Event
from rushes.domain.job import FINISHED, Job, Status
from rushes.domain.task import FINAL, Task
from rushes.domain.waiting import Reason
from rushes.domain.worker import Presence, presence
from rushes.engine.waiting import why
from rushes.store import events, jobs, tasks, workers

if TYPE_CHECKING:
    from rushes.app import App
    from rushes.domain.waiting import Waiting
    from rushes.store.database import Transaction

LOOK_EVERY = 0.1
AT_WORK = (Presence.IDLE, Presence.BUSY)


@dataclass(frozen=True, slots=True)
class Reading:
    """A job at one moment; `now` is the time of the database."""

    job: Job
    tasks: list[Task]
    percent: int
    now: int

    @property
    def is_over(self) -> bool:
        return self.job.status in FINISHED


def clock(tx: Transaction) -> int:
    [row] = tx.rows("clock")
    return int(row["now"])


def find(app: App, text: str) -> str:
    """Return the id of the job that `text` stands for."""
    return app.db.read(lambda tx: jobs.find(tx, text))


def open_jobs(app: App, limit: int) -> list[str]:
    """Return the jobs that are running or queued, oldest first."""

    def work(tx: Transaction) -> list[str]:
        states = (Status.RUNNING, Status.QUEUED)
        pages = (jobs.list_page(tx, status=status, limit=limit) for status in states)
        return [job.id for page in pages for job in page][:limit]

    return sorted(app.db.read(work))


def read_job(app: App, job_id: str) -> Reading:
    def work(tx: Transaction) -> Reading:
        job = jobs.get(tx, job_id)
        percent = jobs.percent(tx, [job])[job_id]
        return Reading(job, tasks.of_job(tx, job_id), percent, clock(tx))

    return app.db.read(work)


def history(app: App, job_id: str) -> list[Event]:
    """Return what has happened to a job so far, in the order in which it did."""
    rows = app.db.read(lambda tx: tx.rows("job_events", job_id=job_id))
    return [
        Event(
            cursor=f"0-{row['id']}",
            job_id=row["job_id"],
            type=row["type"],
            at=row["at"],
            data=json.loads(row["data"]),
        )
        for row in rows
    ]


def follow(app: App, job_id: str) -> Iterator[Event]:
    """Return what happens to a job, from its beginning until it is over.

    The feed never fills in what was committed late; the history of a job that is over has all.
    """
    cursor, told = events.BEGINNING, set[int]()
    while True:
        over = app.db.read(lambda tx: jobs.get(tx, job_id)).status in FINISHED
        news = history(app, job_id) if over else _news(app, job_id, cursor)
        for event in sorted(news, key=number):
            if number(event) not in told:
                told.add(number(event))
                yield event
        if over:
            return
        cursor = news[-1].cursor if news else cursor
        time.sleep(LOOK_EVERY)


def number(event: Event) -> int:
    """Return what orders the events of one task by cause and effect.

    The feed of PostgreSQL orders by transaction: one that began early and claimed late stands
    before the one that released the task. Numbers are given while the task is locked.
    """
    return int(event.cursor.rpartition("-")[2])


def concerns(event: Event, task_id: int) -> bool:
    """Whether an event moved this task."""
    moved, ready = event.data.get("tasks"), event.data.get("ready")
    was_moved = isinstance(moved, list) and any(entry[0] == task_id for entry in moved)
    return was_moved or (isinstance(ready, list) and task_id in ready)


def reasons(
    app: App, candidates: Sequence[Task], *, now: int
) -> Iterator[tuple[Task, Waiting | None, int]]:
    """Return why open tasks wait: one of each sort, and how many there are of it.

    Tasks of one step that differ in nothing but their number wait for the same reason, and
    asking for ten thousand of them would take longer than anybody waits for an answer.
    """
    sorts: dict[tuple[object, ...], list[Task]] = {}
    for task in candidates:
        if task.state not in FINAL:
            expired = (task.lease_expires_at or now) < now
            sort = (task.step, task.state, task.open_parents > 0, bool(task.failure), expired)
            sorts.setdefault(sort, []).append(task)
    for alike in sorts.values():
        yield alike[0], why(app.engine, alike[0].id), len(alike)


def waits_for(app: App, job_id: str) -> str | None:
    """Return why nothing of a job runs, in one sentence."""
    seen = read_job(app, job_id)
    found = (reason for _, reason, _ in reasons(app, seen.tasks, now=seen.now))
    texts = [reason.text for reason in found if reason and reason.reason != Reason.DEPENDENCY]
    return texts[0] if texts else None


def offers(app: App) -> frozenset[str]:
    """Return what this machine and the workers that are there have, such as `ocr`."""
    from rushes.app import capabilities

    found, now = app.db.read(workers.list_all)
    return capabilities(app.settings).union(
        *(worker.capabilities for worker in found if presence(worker, now=now) in AT_WORK)
    )


def _news(app: App, job_id: str, cursor: str) -> list[Event]:
    """Return all events after a cursor, in the order of the feed."""
    news: list[Event] = []
    while page := app.db.read(partial(events.after, cursor=cursor, job_id=job_id)):
        news += page
        cursor = page[-1].cursor
    return news
