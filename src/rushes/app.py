"""The composition root: settings in, everything wired once. Read it third."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from types import FrameType

from rushes import __version__
from rushes.domain.job import Status
from rushes.domain.kind import Kind
from rushes.engine import recovery
from rushes.engine.engine import Engine, Limits
from rushes.engine.loops import Maintenance
from rushes.engine.notify import Notifier, open_notifier
from rushes.engine.presence import Introduction, free_name, register
from rushes.errors import Unavailable
from rushes.observability import failpoints
from rushes.settings import Settings
from rushes.stages import registry
from rushes.stages.registry import Stage
from rushes.store import jobs
from rushes.store.database import Database, Transaction, open_database
from rushes.store.migrate import check_version
from rushes.store.sqlite import SqliteDatabase
from rushes.worker import processes
from rushes.worker.local import LocalSession
from rushes.worker.loop import Timing, Worker

IDLE_EVERY = 0.2  # seconds between two looks whether any job is open


@dataclass(frozen=True, slots=True)
class App:
    """One process of Rushes, whatever it does: a command, a worker, later the server."""

    settings: Settings
    db: Database
    stages: Mapping[str, Stage]
    engine: Engine
    notifier: Notifier


@contextmanager
def open_app(settings: Settings) -> Iterator[App]:
    """Open the database and wire the engine to it. A new SQLite file gets its schema."""
    if settings.test:
        failpoints.arm(settings.failpoints)
    db = open_database(settings.url, pool_size=settings.database_pool_size)
    with closing(db):
        if db.dialect == "sqlite" and db.schema_version() == 0:
            db.migrate()
        check_version(db.schema_version())
        with closing(open_notifier(db)) as notifier:
            yield _wire(settings, db, notifier)


def run_worker(
    app: App, *, name: str | None = None, maintain: bool = True, until_idle: bool = False
) -> str | None:
    """Run this process as a worker until it gets SIGTERM or SIGINT; a second one forces.

    With `until_idle` also until no job is open. Returns why it had to stop, if it was not
    asked to.
    """
    settings = app.settings
    name = name or free_name(app.engine, settings.worker_name)
    owner = register(app.engine, _introduction(app, name))
    worker = Worker(
        LocalSession(app.engine, owner),
        app.stages,
        settings.lanes(),
        timing=_timing(settings),
        exchanges=2 if app.db.dialect == "postgres" else 1,
    )
    app.notifier.listen(worker.hint)
    maintenance = Maintenance(
        app.engine, owner, recover_every=timedelta(seconds=settings.stale_job_check_interval)
    )
    with _signals(worker), _embedded(app, owner):
        if maintain:
            maintenance.start()
        with _idle_watch(app.engine, worker) if until_idle else nullcontext():
            worker.run()
        maintenance.stop()
    return worker.replaced


def _wire(settings: Settings, db: Database, notifier: Notifier) -> App:
    stages = dict(registry.load(("rushes.stages.demo", *settings.stages)))
    kinds = {name: _adjusted(stage.kind, settings) for name, stage in stages.items()}
    limits = Limits(
        lease=timedelta(seconds=settings.lease),
        gpu_grace=timedelta(seconds=settings.gpu_grace),
        offline_after=timedelta(minutes=settings.worker_offline_threshold_minutes),
        max_losses=settings.max_crashes,
        priority_step=timedelta(hours=settings.priority_step_hours),
    )
    engine = Engine(db=db, kinds=kinds, limits=limits)
    return App(settings, db, stages, engine, notifier)


def _adjusted(kind: Kind, settings: Settings) -> Kind:
    """Apply what the operator set for all kinds."""
    if settings.max_retry_attempts is not None:
        kind = replace(kind, max_attempts=settings.max_retry_attempts)
    if settings.job_stale_timeout is not None:
        kind = replace(kind, stall=timedelta(seconds=settings.job_stale_timeout))
    return kind


def _introduction(app: App, name: str) -> Introduction:
    return Introduction(
        name=name,
        lanes=app.settings.lanes(),
        kinds=frozenset(app.stages),
        capabilities=frozenset(app.settings.worker_capabilities),
        hostname=app.settings.worker_name,
        version=__version__,
    )


def _timing(settings: Settings) -> Timing:
    return Timing(
        heartbeat=timedelta(seconds=settings.worker_heartbeat_interval),
        patience=timedelta(seconds=settings.worker_patience),
        drain=timedelta(seconds=settings.worker_drain_timeout),
    )


@contextmanager
def _embedded(app: App, owner: str) -> Iterator[None]:
    """On SQLite all workers are processes of this machine: take back what dead ones held."""
    if not isinstance(app.db, SqliteDatabase):
        yield
        return
    folder = app.db.path.parent / "workers"
    with processes.alive(folder, owner):
        owners = [row["owner"] for row in app.db.read(lambda tx: tx.rows("lease_owners"))]
        recovery.take_back(app.engine, processes.dead(folder, owners))
        yield


@contextmanager
def _idle_watch(engine: Engine, worker: Worker) -> Iterator[None]:
    """Drain the worker when no job is open."""
    over = threading.Event()

    def watch() -> None:
        while not over.wait(IDLE_EVERY):
            with suppress(Unavailable):
                if not engine.db.read(_has_open_job):
                    worker.drain()
                    return

    thread = threading.Thread(target=watch, name="rushes-idle", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _has_open_job(tx: Transaction) -> bool:
    return any(jobs.list_page(tx, status=word, limit=1) for word in (Status.QUEUED, Status.RUNNING))


@contextmanager
def _signals(worker: Worker) -> Iterator[None]:
    """Let SIGTERM and SIGINT drain the worker.

    In a thread: a handler interrupts whatever this thread does, locks held and all.
    """

    def drain(_signal: int, _frame: FrameType | None) -> None:
        threading.Thread(target=worker.drain, name="rushes-drain", daemon=True).start()

    before = {number: signal.signal(number, drain) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
