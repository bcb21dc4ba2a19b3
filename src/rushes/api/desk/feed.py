"""What happened to a job: all of it so far, or as it goes on."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from functools import partial

from rushes.api import models, views
from rushes.domain.event import Event
from rushes.domain.job import FINISHED, Job
from rushes.store import events, jobs
from rushes.store.database import Database, Transaction

LOOK_EVERY = 0.1


def history(tx: Transaction, job_id: str) -> list[models.Event]:
    """Return the events of a job in the order in which they happened."""
    return [
        views.event(
            Event(
                cursor=f"0-{row['id']}",
                job_id=row["job_id"],
                type=row["type"],
                at=row["at"],
                data=json.loads(row["data"]),
            )
        )
        for row in tx.rows("job_events", job_id=job_id)
    ]


def follow(db: Database, job: Job) -> Iterator[models.Event]:
    """Yield the events of a job until it is over.

    The feed never fills in what was committed late; the history of a job that is over has all.
    Numbers order the events of a task by cause and effect, which the feed of PostgreSQL does not.
    """
    cursor, told = events.BEGINNING, set[int]()
    while True:
        over = db.read(lambda tx: jobs.get(tx, job.id)).status in FINISHED
        if over:
            news = db.read(partial(history, job_id=job.id))
        else:
            found = _news(db, job.id, cursor)
            cursor = found[-1].cursor if found else cursor
            news = [views.event(event) for event in found]
        for event in sorted(news, key=lambda event: event.event_id):
            if event.event_id not in told:
                told.add(event.event_id)
                yield event
        if over:
            return
        time.sleep(LOOK_EVERY)


def _news(db: Database, job_id: str, cursor: str) -> list[Event]:
    news: list[Event] = []
    while page := db.read(partial(events.after, cursor=cursor, job_id=job_id)):
        news += page
        cursor = page[-1].cursor
    return news
