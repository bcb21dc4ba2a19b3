"""Following a job at a server: over the stream, through cuts, and where there is no stream."""

from __future__ import annotations

import threading
from collections.abc import Callable
from itertools import islice

import pytest

from rushes.api import models
from rushes.client import Client, stream
from rushes.settings import Settings
from tests.client.server import Served, Wire, served
from tests.library.studio import Studio


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "ASK_EVERY_S", 0.02)


def followed(client: Client, studio: Studio) -> tuple[list[models.Event], list[models.Event]]:
    """Follow a film that is made meanwhile. Returns what was told, and what happened."""
    job_id = studio.add(text=True).job_id
    told = client.jobs.follow(job_id)
    seen = [next(told)]
    worker = threading.Thread(target=studio.finish)
    worker.start()
    seen += told
    worker.join()
    return seen, list(client.jobs.events(job_id))


def by_number(events: list[models.Event]) -> list[models.Event]:
    return sorted(events, key=lambda event: event.event_id)


def test_job_is_followed_from_its_beginning_to_its_end(client: Client, studio: Studio):
    seen, happened = followed(client, studio)

    assert by_number(seen) == happened
    assert seen[0].type == "job.submitted"


def test_stream_that_is_cut_loses_nothing_and_tells_nothing_twice(server: Served, studio: Studio):
    """000-126: it goes on after the last event that was heard."""
    cuts = [-n for n in range(700, 5_000, 450)]
    with (
        Wire(server.url, cuts, only=b"/api/events") as wire,
        Client(wire.url, key=server.key) as client,
    ):
        job_id = studio.add(text=True).job_id
        told = client.jobs.follow(job_id)
        seen = [next(told)]
        while studio.step():  # no faster than it is told, so that the stream is needed throughout
            happened = list(client.jobs.events(job_id))
            seen += islice(told, len(happened) - len(seen))
        seen += told

        assert wire.connections > 3
    assert by_number(seen) == happened


def test_server_without_a_stream_is_asked(settings: Settings, studio: Studio):
    with served(settings, streams=False) as server, Client(server.url, key=server.key) as client:
        seen, happened = followed(client, studio)

    assert seen == happened


def test_events_come_by_the_stream_and_not_by_asking(
    far: Client, studio: Studio, monkeypatch: pytest.MonkeyPatch
):
    """000-126: the history is read twice, at the beginning and at the end."""
    asked: list[str] = []
    events: Callable[..., list[models.Event]] = type(far.jobs).events

    def counted(jobs: object, job_id: str) -> list[models.Event]:
        asked.append(job_id)
        return events(jobs, job_id)

    monkeypatch.setattr(type(far.jobs), "events", counted)
    job_id = studio.add(text=True).job_id
    told = far.jobs.follow(job_id)
    next(told)
    studio.finish()
    list(told)

    assert len(asked) == 2


def test_job_that_is_over_is_told_at_once(far: Client, studio: Studio):
    job_id = studio.add().job_id
    studio.finish()

    assert [event.type for event in far.jobs.follow(job_id)][-1] == "job.completed"
