"""Reads the feed. A cursor says where a reader was; it can miss nothing (sql/events.sql).

On PostgreSQL the order of the feed is that of transaction numbers, which are given out at a
transaction's first write: the second claim of a task may come before the expiry that set it
free. Whoever tells the history of a job sorts its events by the second part of the cursor,
which grows from cause to effect.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from rushes.domain.event import Event
from rushes.domain.job import Status, percent
from rushes.domain.readable import readable
from rushes.errors import Invalid
from rushes.store.database import Row, Transaction

BEGINNING = "0-0"
_CURSOR = re.compile(r"([0-9]{1,19})-([0-9]{1,18})")


def after(
    tx: Transaction, cursor: str = BEGINNING, *, job_id: str | None = None, limit: int = 1_000
) -> list[Event]:
    """Return the events after `cursor`, oldest first. Nothing will ever appear before them."""
    match = _CURSOR.fullmatch(cursor)
    if match is None:
        raise Invalid(f"not a cursor: {cursor[:40]!r}")
    rows = tx.rows("feed", xid=match[1], id=int(match[2]), job_id=job_id, n=limit)
    return [_event(row) for row in rows]


def end(tx: Transaction) -> str:
    """Return the cursor of a reader that wants only what happens from now on."""
    [row] = tx.rows("feed_end")
    return f"{row['xid']}-{row['id']}"


def _event(row: Row) -> Event:
    return Event(
        cursor=f"{row['xid']}-{row['id']}",
        job_id=row["job_id"],
        type=row["type"],
        at=row["at"],
        data=json.loads(row["data"]),
    )


class Place(NamedTuple):
    """A cursor that can be compared: a place in the feed, before which nothing will ever appear."""

    xid: int
    id: int

    @classmethod
    def of(cls, cursor: str) -> Place:
        """Return the place of a cursor. Raises Invalid for what is none."""
        match = _CURSOR.fullmatch(cursor)
        if match is None:
            raise Invalid(f"not a cursor: {cursor[:40]!r}")
        return cls(int(match[1]), int(match[2]))

    def __str__(self) -> str:
        return f"{self.xid}-{self.id}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Live:
    """An event with what decides who may see it; `owner` is None for what is nobody's job."""

    place: Place
    event: Event
    owner: str | None
    asset_id: str | None


class Standing(NamedTuple):
    """How a cursor stands to the feed: whether rows after it are gone, or it is none of ours."""

    end: Place
    gone: bool
    ahead: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Moving:
    """How far a running task is."""

    id: int
    job_id: str
    step: str
    item: int
    progress: int
    phase: str | None
    message: str | None
    at: int
    asset_id: str | None
    owner: str


def live(tx: Transaction, after: Place, *, limit: int) -> list[Live]:
    """Return the events after a place, oldest first, with their owners."""
    rows = tx.rows("live_feed", xid=str(after.xid), id=after.id, n=limit)
    return [
        Live(
            place=Place(int(row["xid"]), row["id"]),
            event=_event(row),
            owner=row["owner"],
            asset_id=row["asset_id"],
        )
        for row in rows
    ]


def standing(tx: Transaction, place: Place) -> Standing:
    [row] = tx.rows("feed_standing", xid=str(place.xid), id=place.id)
    end = Place(int(row["xid"]), row["id"])
    return Standing(end, gone=bool(row["gone"]), ahead=bool(row["ahead"]))


def moving(tx: Transaction) -> list[Moving]:
    """Return how far everything is that runs."""
    return [Moving(**row) for row in tx.rows("running_progress")]


def percents(tx: Transaction, job_ids: Iterable[str]) -> dict[str, int]:
    """Return the progress of jobs, as domain/job.py defines it."""
    wanted = [{"id": job_id} for job_id in job_ids]
    means: dict[str, dict[str, float]] = {entry["id"]: {} for entry in wanted}
    for row in tx.rows("step_progress", jobs=wanted):
        means[row["job_id"]][row["step"]] = row["reached"] / row["tasks"]
    return {
        row["id"]: percent(Status(row["status"]), means[row["id"]], _weights(row["plan"]))
        for row in tx.rows("plans_of", jobs=wanted)
    }


def _weights(plan: str) -> dict[str, int]:
    return {step: entry["weight"] for step, entry in readable(plan, {}).items()}
