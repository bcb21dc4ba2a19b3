"""Real workers in this process: a thread runs the loop, the test looks on."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from datetime import timedelta
from pathlib import Path

import pytest

import tests.stages  # noqa: F401  (registers the stages)
from rushes.api.context import Context
from rushes.api.run import serving
from rushes.api.server import build
from rushes.api.sse import Hub
from rushes.domain.person import LOCAL
from rushes.engine.engine import Limits
from rushes.engine.loops import Maintenance
from rushes.engine.notify import open_notifier
from rushes.engine.presence import Introduction, register
from rushes.errors import Invalid
from rushes.library import fleet
from rushes.library.library import Library
from rushes.settings import Settings
from rushes.stages.registry import STAGES, kinds
from rushes.storage.local import LocalStorage
from rushes.store.database import Database, open_database
from rushes.wire.http import Http
from rushes.worker.cache import Cache
from rushes.worker.local import LocalSession
from rushes.worker.loop import Worker
from rushes.worker.protocol import Introduction as Told
from rushes.worker.protocol import Welcome
from rushes.worker.remote import RemoteSession
from rushes.worker.session import WorkerSession
from rushes.worker.timing import Timing
from tests.conftest import empty
from tests.world import World

LEASE = timedelta(seconds=2)  # ten beats: a busy machine may hold up a few
TIMING = Timing(
    heartbeat=timedelta(seconds=0.2),
    patience=timedelta(seconds=30),
    poll=timedelta(seconds=0.2),
    drain=timedelta(seconds=10),
)


class Shop(World):
    """A World whose clock is the real one, with workers that run."""

    def __init__(self, db: Database) -> None:
        super().__init__(db, kinds(STAGES), limits=Limits(lease=LEASE))
        self.now = None  # type: ignore[assignment]
        self.maintenance = Maintenance(
            self.engine,
            "test",
            recover_every=timedelta(seconds=0.1),
            advance_every=timedelta(seconds=0.1),
        )

    @contextmanager
    def working(
        self, name: str = "ann", slots: int = 2, timing: Timing = TIMING, *, hints: bool = True
    ) -> Iterator[Worker]:
        """A worker that works while the block runs and is drained at its end."""
        with self.session(name, slots) as session:
            worker = Worker(session, STAGES, lanes(slots), timing=timing, exchanges=self.exchanges)
            notifier = open_notifier(self.db)
            if hints:
                notifier.listen(worker.hint)
            thread = threading.Thread(target=worker.run)
            thread.start()
            try:
                yield worker
            finally:
                worker.drain()
                thread.join(timeout=30)
                notifier.close()
                assert not thread.is_alive()

    @property
    def exchanges(self) -> int:
        return 2 if self.db.dialect == "postgres" else 1

    @contextmanager
    def session(self, name: str, slots: int) -> Iterator[WorkerSession]:
        """What a worker talks to: here, the engine itself."""
        kinds = frozenset(STAGES)
        owner = register(self.engine, Introduction(name=name, lanes=lanes(slots), kinds=kinds))
        yield LocalSession(self.engine, owner)


class FarShop(Shop):
    """The same, but its workers have nothing but the address of a server and a key."""

    def __init__(self, db: Database, folder: Path) -> None:
        super().__init__(db)
        self._folder = folder
        self._url = ""

    @property
    def exchanges(self) -> int:
        return 2

    @contextmanager
    def serving(self) -> Iterator[None]:
        library = Library(engine=self.engine, storage=LocalStorage(self._folder), reserve_bytes=0)
        settings = Settings(data=self._folder)
        with closing(open_notifier(self.db)) as notifier:
            hub = Hub(library, notifier, settings)
            context = Context(library=library, settings=settings, notifier=notifier, hub=hub)
            notifier.listen(context.hall.hint)
            with serving(build(context), "127.0.0.1", 0) as self._url:
                yield
                context.hall.close()

    @contextmanager
    def session(self, name: str, slots: int) -> Iterator[WorkerSession]:
        """What a worker talks to: HTTP."""
        key = self._key(name)
        with closing(Http(self._url, key)) as http:
            told = Told(lanes=lanes(slots), kinds=sorted(STAGES))
            welcome = http.ask("/worker/register", told, Welcome)
            cache = Cache(self._folder / name, most_bytes=1_000_000)
            yield RemoteSession(http, welcome.owner or "", cache)

    def _key(self, name: str) -> str:
        token = fleet.invite(self.db, LOCAL)
        with suppress(Invalid):  # it has joined before
            return fleet.join(self.db, token, fleet.Applicant(name=name)).text
        return fleet.add_key(self.db, LOCAL, name).text


def lanes(slots: int) -> dict[str, int]:
    return {"default": slots, "short": slots}


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres), "far"])
def shop(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Shop]:
    with ExitStack() as stack:
        if request.param == "postgres":
            database: Database = request.getfixturevalue("postgres_database")
            empty(database)
            shop = Shop(database)
        else:
            url: str = request.getfixturevalue("sqlite_url")
            shutil.copy(request.getfixturevalue("sqlite_template"), url.removeprefix("sqlite:///"))
            database = stack.enter_context(closing(open_database(url)))
            shop = Shop(database) if request.param == "sqlite" else FarShop(database, tmp_path)
        if isinstance(shop, FarShop):
            stack.enter_context(shop.serving())
        shop.maintenance.start()
        yield shop
        shop.maintenance.stop()
