"""Follows a job over `/api/events`, and by asking where a server, or what is between, cuts streams.

The stream only makes it quick. What ended up in the history of the job is what counts: it is read
when the job is over, and each event is told once, by its number.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from pydantic import ValidationError

from rushes.api import models
from rushes.client.job import patiently
from rushes.domain.event import EventType
from rushes.domain.job import FINISHED
from rushes.errors import RushesError, Unavailable

if TYPE_CHECKING:
    from rushes.client.protocol import Jobs
    from rushes.wire.http import Http

PATH = "/events"
SILENCE_S = 90.0  # a server says that it is there more often
ASK_EVERY_S = 0.5
CUTS = 3  # in a row, without an event: then asking is better
AGAIN = ("reset", "resync")  # some events are not kept any more, or were sent too fast for us
ENDS = (EventType.JOB_COMPLETED, EventType.JOB_FAILED, EventType.JOB_KILLED)


class Message(NamedTuple):
    """One event of a stream as it comes over the wire."""

    id: str
    type: str
    data: str


@dataclass(slots=True)
class Feed:
    """Where somebody is in the stream of one job; without a cursor, at what comes next."""

    http: Http
    jobs: Jobs
    job_id: str
    cursor: str | None = None
    cuts: int = 0

    @property
    def is_useless(self) -> bool:
        return self.cuts >= CUTS

    def read(self) -> Iterator[models.Event]:
        """Yield events until the job is over or the stream ends, however it ends."""
        self.cuts += 1
        try:
            yield from self._listen()
        except Unavailable:
            return
        except (RushesError, ValidationError):  # it has no such stream
            self.cuts = CUTS

    def _listen(self) -> Iterator[models.Event]:
        known = {} if self.cursor is None else {"Last-Event-ID": self.cursor}
        headers = {"Accept": "text/event-stream", **known}
        with self.http.stream(PATH, {"job": self.job_id}, headers, SILENCE_S) as lines:
            for message in messages(lines):
                if message.type in AGAIN:
                    self.cursor = None
                    return
                if self.cursor is None:  # the stream has begun: what was before is known
                    yield from self.jobs.events(self.job_id)
                if message.id:  # progress has none
                    self.cursor = message.id
                if message.id and message.data:
                    self.cuts = 0
                    yield models.Event.model_validate_json(message.data)
                if message.type in ENDS:
                    return


def follow(http: Http, jobs: Jobs, job_id: str) -> Iterator[models.Event]:
    """Yield what happens to a job, from its beginning until it is over."""
    told = set[int]()
    for event in _events(Feed(http, jobs, job_id)):
        if event.event_id not in told:
            told.add(event.event_id)
            yield event


def _events(feed: Feed) -> Iterator[models.Event]:
    """Yield every event at least once."""
    while patiently(feed.jobs, feed.job_id).status not in FINISHED:
        if not feed.is_useless:
            yield from feed.read()
        if feed.is_useless:
            yield from feed.jobs.events(feed.job_id)
        if feed.cuts:
            time.sleep(ASK_EVERY_S)
    yield from feed.jobs.events(feed.job_id)


def messages(lines: Iterable[str]) -> Iterator[Message]:
    """Parse a stream of events; one that is only a sign of life has no data.

    >>> list(messages(["retry: 3000", "", ": alive", "id: 1-2", "event: x", "data: {}", ""]))
    [Message(id='1-2', type='x', data='{}')]
    """
    fields: dict[str, str] = {}
    for line in lines:
        if line:
            name, _, value = line.partition(":")
            value = value.removeprefix(" ")
            fields[name] = f"{fields[name]}\n{value}" if name in fields else value
            continue
        if fields.keys() & {"id", "data"}:
            yield Message(fields.get("id", ""), fields.get("event", ""), fields.get("data", ""))
        fields = {}
