"""The composition root: settings in, everything wired once. Read it third."""

from __future__ import annotations

import secrets
import signal
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from types import FrameType

from rushes import __version__
from rushes.domain.job import Status
from rushes.domain.kind import Kind
from rushes.domain.room import GB
from rushes.engine import recovery
from rushes.engine.engine import Engine, Limits
from rushes.engine.loops import Loop, Maintenance
from rushes.engine.notify import Notifier, open_notifier
from rushes.engine.presence import Introduction, register, register_beside
from rushes.errors import Unavailable
from rushes.library import collect, indexing, layout, machine, uploads
from rushes.library.library import Library
from rushes.library.projections import projections
from rushes.media import ocr
from rushes.observability import failpoints
from rushes.settings import Settings
from rushes.stages import registry
from rushes.stages.registry import Stage
from rushes.storage.local import LocalStorage
from rushes.store import jobs
from rushes.store.database import Database, Transaction, open_database
from rushes.store.migrate import check_version
from rushes.store.sqlite import SqliteDatabase
from rushes.wire.http import Http
from rushes.worker import far, processes, protocol
from rushes.worker.cache import Cache
from rushes.worker.joined import Joined
from rushes.worker.local import LocalSession
from rushes.worker.loop import Worker
from rushes.worker.patience import Patience
from rushes.worker.remote import RemoteSession
from rushes.worker.timing import Timing

LAYOUT_EVERY = timedelta(seconds=0.5)
COLLECT_EVERY = timedelta(minutes=10)
INDEX_EVERY = timedelta(seconds=10)
STAGES = tuple(
    f"rushes.stages.{name}"
    for name in (
        *("demo", "probe", "thumbnail", "storyboard", "audio", "transcode", "playlist"),
        *("finalize", "sample", "ocr", "index", "clip"),
    )
)
FAR_POLL = timedelta(seconds=0.05)  # between two long polls
EMBEDDED_BEAT = timedelta(seconds=0.5)  # of a worker beside its database, while it holds tasks
LOOK_EVERY = 0.2  # seconds between two looks whether the work is over
WAIT_S = 1.5  # that a request waits for a connection to the database


@dataclass(frozen=True, slots=True)
class App:
    """One process of Rushes, whatever it does: a command, a worker, the server."""

    settings: Settings
    db: Database
    stages: Mapping[str, Stage]
    engine: Engine
    notifier: Notifier
    library: Library


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
    app: App,
    *,
    name: str | None = None,
    maintain: bool = True,
    until_idle: bool = False,
    until: Callable[[], bool] | None = None,
) -> str | None:
    """Run this process as a worker until it gets SIGTERM or SIGINT; a second one forces.

    With `until_idle` also until no job is open. With `until` it works for somebody who waits: it
    ends as soon as that is true, and what else it holds by then, or at the first signal, is
    handed back at once. Returns why it had to stop, if it was not asked to.
    """
    settings = app.settings
    come = register if name else register_beside
    owner = come(app.engine, _introduction(app, name or settings.worker_name))
    worker = Worker(
        LocalSession(app.engine, owner, app.library.storage, app.library.reserve_bytes),
        app.stages,
        settings.lanes(),
        timing=_timing(settings, embedded=app.db.dialect == "sqlite"),
        exchanges=3 if app.db.dialect == "postgres" else 1,
    )
    app.notifier.listen(worker.hint)
    stop = worker.drain if until is None else partial(_stop_now, worker)
    is_over = until or (partial(_is_idle, app.engine) if until_idle else None)
    with (
        _signals(stop),
        _embedded(app, owner),
        maintained(app, owner) if maintain else nullcontext(),
        _end_watch(is_over, stop) if is_over else nullcontext(),
    ):
        worker.run()
    return worker.replaced


def join_server(settings: Settings, server: str, token: str, name: str | None) -> Joined:
    """Register this machine as a worker of a server elsewhere, and keep the key."""
    return far.join(server, token, _application(settings, name), settings.folder)


def run_far_worker(settings: Settings, found: Joined) -> str | None:
    """Run this process as a worker of a server elsewhere, with nothing but its address and a key.

    Returns why it had to stop, if it was not asked to.
    """
    if settings.test:
        failpoints.arm(settings.failpoints)
    stages = dict(registry.load((*STAGES, *settings.stages)))
    cache = Cache(settings.folder / "worker", most_bytes=int(settings.worker_cache_gb * GB))
    stop = threading.Event()
    with closing(Http(found.server, found.key)) as http:
        with _signals(stop.set):
            owner = far.introduce(http, _application(settings, found.name, stages), stop)
        if owner is None:
            return None
        worker = Worker(
            RemoteSession(
                http,
                owner,
                cache,
                reserve_bytes=int(settings.storage_reserve_gb * GB),
                patience=Patience(settings.worker_patience),
            ),
            stages,
            settings.lanes(),
            timing=replace(_timing(settings), poll=FAR_POLL),
            scratch_root=cache.scratch,
            exchanges=2,
        )
        with _signals(worker.drain):
            worker.run()
    return worker.replaced


def _application(
    settings: Settings, name: str | None, stages: Mapping[str, Stage] | None = None
) -> protocol.Introduction:
    here = machine.try_out()
    return protocol.Introduction.of(
        worker_name=name or settings.worker_name,
        lanes=settings.lanes(),
        kinds=sorted(stages or ()),
        capabilities=sorted({*settings.worker_capabilities, *here.capabilities}),
        metadata=here.metadata,
        hostname=socket.gethostname(),
        version=__version__,
    )


def run_server(app: App, *, ready: Callable[[str], None]) -> None:
    """Serve HTTP and look after the library until SIGTERM or SIGINT; `ready` gets the address."""
    stopped = threading.Event()
    holder = f"{app.settings.worker_name}-server#{secrets.token_hex(4)}"
    with _signals(stopped.set), maintained(app, holder), open_server(app) as address:
        ready(address)
        stopped.wait()


@contextmanager
def open_server(app: App) -> Iterator[str]:
    """Serve HTTP in the background, and give the address. Films in watched folders are added."""
    from rushes.api.context import Context
    from rushes.api.run import serving
    from rushes.api.server import build
    from rushes.api.sse import Hub
    from rushes.library import inbox
    from rushes.web import pages

    left = threading.Event()
    with ExitStack() as stack:
        app = stack.enter_context(_apart(app))
        hub = stack.enter_context(closing(Hub(app.library, app.notifier, app.settings)))
        context = Context(
            library=app.library, settings=app.settings, notifier=app.notifier, hub=hub
        )
        app.notifier.listen(context.hall.hint)
        watched = [inbox.watchable(app.library, Path(one)) for one in app.settings.watch_folders]
        for folder in watched:
            watch = partial(inbox.watch, app.library, folder, stop=left)
            threading.Thread(target=watch, name="rushes-inbox", daemon=True).start()
        stack.callback(left.set)
        application = build(context)
        pages.install(application)
        address = stack.enter_context(serving(application, app.settings.host, app.settings.port))
        for waiting in (hub, context.hall):  # before the server, which waits for its requests
            stack.callback(waiting.close)
        yield address


@contextmanager
def _apart(app: App) -> Iterator[App]:
    """Give the server connections of its own: a crowd of readers must not stop a heartbeat."""
    if app.db.dialect == "sqlite":
        yield app
        return
    settings = app.settings
    own = open_database(settings.url, pool_size=settings.database_pool_size, wait_s=WAIT_S)
    with closing(own) as db:
        db.on_commit = app.db.on_commit
        engine = replace(app.engine, db=db)
        yield replace(app, db=db, engine=engine, library=replace(app.library, engine=engine))


@contextmanager
def maintained(app: App, holder: str) -> Iterator[Maintenance]:
    """Run the loops that look after jobs and files; only one process does their work at a time."""
    library = app.library
    maintenance = Maintenance(
        app.engine,
        holder,
        recover_every=timedelta(seconds=app.settings.stale_job_check_interval),
        others=(
            Loop("layout", LAYOUT_EVERY, lambda: layout.run_once(library)),
            Loop("collect", COLLECT_EVERY, lambda: collect.run_once(library)),
            Loop("index", INDEX_EVERY, lambda: indexing.run_once(library)),
            Loop("uploads", COLLECT_EVERY, lambda: uploads.expire(library)),
        ),
    )
    maintenance.start()
    try:
        yield maintenance
    finally:
        maintenance.stop()
        with suppress(Unavailable, OSError):  # what was finished last
            layout.run_once(library)


def capabilities(settings: Settings) -> frozenset[str]:
    """Return what this machine's worker has besides its stages: what is set and what is found."""
    found = {"ocr"} if ocr.is_installed() else set()
    return frozenset({*settings.worker_capabilities, *found})


def _wire(settings: Settings, db: Database, notifier: Notifier) -> App:
    stages = dict(registry.load((*STAGES, *settings.stages)))
    kinds = {name: _adjusted(stage.kind, settings) for name, stage in stages.items()}
    limits = Limits(
        lease=timedelta(seconds=settings.lease),
        gpu_grace=timedelta(seconds=settings.gpu_grace),
        offline_after=timedelta(minutes=settings.worker_offline_threshold_minutes),
        max_losses=settings.max_crashes,
        priority_step=timedelta(hours=settings.priority_step_hours),
    )
    storage = LocalStorage(settings.folder.absolute())
    engine = Engine(db=db, kinds=kinds, limits=limits, projections=projections(storage))
    reserve_bytes = int(settings.storage_reserve_gb * GB)
    library = Library(
        engine=engine,
        storage=storage,
        reserve_bytes=reserve_bytes,
        keep_clips=timedelta(days=settings.clip_lifetime_days),
        longest_clip=timedelta(minutes=settings.clip_longest_minutes),
    )
    return App(settings, db, stages, engine, notifier, library)


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
        capabilities=capabilities(app.settings),
        hostname=app.settings.worker_name,
        version=__version__,
    )


def _timing(settings: Settings, *, embedded: bool = False) -> Timing:
    heartbeat = timedelta(seconds=settings.worker_heartbeat_interval)
    return Timing(
        heartbeat=heartbeat,
        busy=min(heartbeat, EMBEDDED_BEAT) if embedded else None,
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


def _stop_now(worker: Worker) -> None:
    """Do not wait for what runs: somebody else goes on with it."""
    worker.drain()
    worker.drain()


@contextmanager
def _end_watch(is_over: Callable[[], bool], stop: Callable[[], None]) -> Iterator[None]:
    """Stop the worker when it is over. What goes wrong with looking is raised at the end."""
    left = threading.Event()
    errors: list[Exception] = []

    def watch() -> None:
        try:
            while not (left.wait(LOOK_EVERY) or _or_unavailable(is_over)):
                pass
        except Exception as error:  # noqa: BLE001  (raised below, in the thread of the caller)
            errors.append(error)
        stop()

    thread = threading.Thread(target=watch, name="rushes-end", daemon=True)
    thread.start()
    try:
        yield
    finally:
        left.set()
        thread.join()
    if errors:
        raise errors[0]


def _or_unavailable(is_over: Callable[[], bool]) -> bool:
    with suppress(Unavailable):
        return is_over()
    return False


def _is_idle(engine: Engine) -> bool:
    return not engine.db.read(_has_open_job)


def _has_open_job(tx: Transaction) -> bool:
    return any(
        jobs.list_page(tx, jobs.Which(word), limit=1) for word in (Status.QUEUED, Status.RUNNING)
    )


@contextmanager
def _signals(stop: Callable[[], None]) -> Iterator[None]:
    """Let SIGTERM and SIGINT stop the worker.

    In a thread: a handler interrupts whatever this thread does, locks held and all.
    """

    def drain(_signal: int, _frame: FrameType | None) -> None:
        threading.Thread(target=stop, name="rushes-drain", daemon=True).start()

    before = {number: signal.signal(number, drain) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
