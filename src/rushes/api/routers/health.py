"""Whether the server is well: for probes without a key, for admins in full, for Prometheus."""

from __future__ import annotations

import shutil
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Request
from fastapi.responses import PlainTextResponse

from rushes import __version__
from rushes.api import models, views
from rushes.api.context import Here, Who, context_of, principal_of
from rushes.api.health import Watch
from rushes.domain.job import Status
from rushes.domain.person import Scope
from rushes.domain.room import Room
from rushes.domain.worker import Presence, presence
from rushes.engine.engine import millis
from rushes.errors import Unavailable
from rushes.library import machine
from rushes.library.library import Library
from rushes.media.sandbox import Level
from rushes.observability import metrics
from rushes.store import workers
from rushes.store.database import Transaction
from rushes.store.migrate import latest

router = APIRouter(tags=["health"])
root = APIRouter(tags=["health"])
"""The paths that are not below /api."""


class Alive(models.Model):
    status: Literal["up"] = "up"


class Health(Alive):
    """What anybody may know."""

    database: Literal["up"] = "up"
    workers_active: int
    jobs_pending: int


class Storage(models.Model):
    total_bytes: int
    free_bytes: int
    reserve_bytes: int
    has_room: bool


class Processing(models.Model):
    jobs: dict[Status, int]
    tasks_ready: dict[str, int]
    tasks_running: int
    workers: dict[Presence, int]


class Database(models.Model):
    dialect: str
    schema_version: int
    answered_in_ms: float
    feed_lag_ms: int


class Loop(models.Model):
    """A loop of maintenance; `is_led`: some process runs it now."""

    name: str
    leader: str | None
    is_led: bool


class Machine(models.Model):
    """What the machine of this server brings to the work."""

    ffmpeg: str | None
    ffmpeg_source: str | None
    sandbox: str
    reads_text: bool


class Detail(models.Model):
    """What an admin may know. `problems` are sentences; without one, all is well."""

    version: str
    problems: list[str]
    storage: Storage
    database: Database
    processing: Processing
    loops: list[Loop]
    machine: Machine


def watch_of(request: Request) -> Watch:
    """Return what this server keeps for those who ask how it is."""
    state = request.app.state
    if not hasattr(state, "watch"):
        state.watch = Watch(context_of(request).library)
    watch: Watch = state.watch
    return watch


Watching = Annotated[Watch, Depends(watch_of)]


@root.get("/livez")
async def livez() -> Alive:
    """Answer as long as the process does."""
    return Alive()


@root.get("/readyz")
async def readyz(watch: Watching) -> Alive:
    """Answer 503 while the database is away, does not fit, or the disk has no room."""
    vital = await watch.probe()
    checks = {
        "database": vital is not None,
        "schema": vital is not None and vital.schema == latest(),
        "storage": _room(watch.library).is_enough,
    }
    wrong = [name for name, is_up in checks.items() if not is_up]
    if wrong:
        told = {name: "up" if is_up else "down" for name, is_up in checks.items()}
        raise Unavailable(f"the server is not ready: {', '.join(wrong)}", **told)
    return Alive()


@root.get("/health")
async def health(watch: Watching) -> Health:
    """Say whether the database answers, how many workers are there and how many jobs wait."""
    vital = await watch.probe()
    if vital is None:
        raise Unavailable("the database is away", database="down")
    return Health(workers_active=vital.workers_active, jobs_pending=vital.jobs_pending)


@root.get("/metrics", response_class=PlainTextResponse)
def scrape(request: Request, here: Here, watch: Watching) -> PlainTextResponse:
    """Return all metrics for Prometheus."""
    if not here.settings.metrics_public:
        principal_of(request).need(Scope.ADMIN)
    text = watch.scrape(waiting=len(here.hall))
    return PlainTextResponse(text, headers={"Content-Type": metrics.CONTENT_TYPE})


@router.get("/health")
def show_health(here: Here, who: Who) -> Detail:
    """Show storage, database, work, maintenance and machine. For admins."""
    who.need(Scope.ADMIN)
    library, began = here.library, time.monotonic()
    found = library.db.read(lambda tx: _look(tx, library))
    answered_in_ms = round((time.monotonic() - began) * 1000, 1)
    detail = Detail(
        version=__version__,
        problems=[],
        storage=_storage(library),
        database=Database(
            **found["database"], dialect=library.db.dialect, answered_in_ms=answered_in_ms
        ),
        processing=found["processing"],
        loops=found["loops"],
        machine=_machine(),
    )
    return detail.model_copy(update={"problems": [*_problems(detail)]})


def _look(tx: Transaction, library: Library) -> dict[str, Any]:
    [schema], [lag] = tx.rows("schema"), tx.rows("feed_lag")
    known, now = workers.list_all(tx)
    offline = millis(library.engine.limits.offline_after)
    seen = Counter(presence(worker, now=now, offline_after=offline) for worker in known)
    jobs = {row["status"]: row["n"] for row in tx.rows("all_jobs")}
    return {
        "database": {"schema_version": schema["version"], "feed_lag_ms": lag["ms"]},
        "processing": Processing(
            jobs={status: jobs.get(status, 0) for status in Status},
            tasks_ready={row["lane"]: row["n"] for row in tx.rows("ready_tasks")},
            tasks_running=sum(worker.load for worker in known),
            workers={word: seen[word] for word in Presence},
        ),
        "loops": [
            Loop(
                name=row["name"],
                leader=views.name_of(row["holder"]),
                is_led=(row["held_until"] or 0) > row["now"],
            )
            for row in tx.rows("loops")
        ],
    }


def _problems(detail: Detail) -> Iterator[str]:
    seen = detail.processing.workers
    if not detail.storage.has_room:
        yield "the disk is below its reserve: nothing is begun that writes"
    if not seen[Presence.IDLE] + seen[Presence.BUSY]:
        yield "no worker is there to take tasks"
    for loop in detail.loops:
        if not loop.is_led:
            yield f"nobody runs the loop {loop.name}"
    if detail.machine.sandbox == Level.NONE:
        yield "films are opened without walls around ffmpeg"
    if detail.machine.ffmpeg is None:
        yield "there is no complete ffmpeg on this machine"


def _storage(library: Library) -> Storage:
    room, total = _room(library), 0
    with suppress(OSError):
        total = shutil.disk_usage(library.storage.root).total
    return Storage(total_bytes=total, **room._asdict(), has_room=room.is_enough)


def _room(library: Library) -> Room:
    return Room(library.storage.free_bytes(), library.reserve_bytes)


@cache
def _machine() -> Machine:
    """Look once: the walls are tried by running something behind them."""
    found = machine.look()
    return Machine(
        ffmpeg=found.ffmpeg.version if found.ffmpeg else None,
        ffmpeg_source=found.ffmpeg.source if found.ffmpeg else None,
        sandbox=found.walls,
        reads_text=found.reads_text,
    )
