"""Somebody at the other end of a stream of events, and the server that they listen to."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import ExitStack, closing, contextmanager
from typing import Any, TypeVar
from urllib.parse import urlencode

from starlette.types import ASGIApp

from rushes.api.context import Context
from rushes.api.server import build
from rushes.api.sse import Hub
from rushes.engine.engine import Engine
from rushes.engine.notify import open_notifier
from rushes.errors import Unavailable
from rushes.library.library import Library
from rushes.settings import Settings
from rushes.store.database import Database, Transaction, ignore
from tests.api.house import House
from tests.library.studio import Studio
from tests.waiting import until

T = TypeVar("T")

Told = dict[str, Any]


class Fault:
    """A database that can be away, for all or for the thread that reads the feed."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self.dialect, self.url = db.dialect, db.url
        self.is_away = self.is_feed_away = False
        self.reads = 0

    def read(self, work: Callable[[Transaction], T], *, now: int | None = None) -> T:
        is_feed = threading.current_thread().name == "rushes-feed"
        self.reads += not is_feed
        if self.is_away or (self.is_feed_away and is_feed):
            raise Unavailable("the database cannot be reached: it is away")
        return self._db.read(work, now=now)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._db, name)


class Reader:
    """Somebody at the other end of a stream, who may stop reading or leave at any byte."""

    def __init__(self, app: ASGIApp, loop: asyncio.AbstractEventLoop, key: str, **query: str):
        last = query.pop("last", None)
        headers = [(b"authorization", f"Bearer {key}".encode()), (b"host", b"testserver")]
        if last is not None:
            headers.append((b"last-event-id", last.encode()))
        scope = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": "1.1",
            "method": "GET",
            "scheme": "http",
            "path": "/api/events",
            "raw_path": b"/api/events",
            "root_path": "",
            "query_string": urlencode(query).encode(),
            "headers": headers,
            "client": ("127.0.0.1", 1),
            "server": ("testserver", 80),
        }
        self.status = 0
        self.received = b""
        self.is_whole = False
        self._loop = loop
        self._reads = asyncio.Event()
        self._left = asyncio.Event()
        self._asked = False
        loop.call_soon_threadsafe(self._reads.set)
        self.ended: Future[None] = asyncio.run_coroutine_threadsafe(
            app(scope, self._receive, self._send), loop
        )

    def __enter__(self) -> Reader:
        self.wait(lambda: self.status and (b"\n\n" in self.received or self.ended.done()))
        return self

    def __exit__(self, *_: object) -> None:
        self.leave()

    def leave(self) -> None:
        self._loop.call_soon_threadsafe(self._left.set)
        self._loop.call_soon_threadsafe(self._reads.set)
        self.ended.result(30)

    def stop_reading(self) -> None:
        self._loop.call_soon_threadsafe(self._reads.clear)

    def go_on_reading(self) -> None:
        self._loop.call_soon_threadsafe(self._reads.set)

    def wait(self, is_so: Callable[[], object]) -> None:
        until(lambda: is_so() or self._is_broken())

    def told(self, n: int = 0) -> list[Told]:
        """Return what was told so far, but wait for `n` events."""
        self.wait(lambda: len(parse(self.received)[0]) >= n)
        return parse(self.received)[0]

    def ids(self, n: int = 0) -> list[str]:
        return [told["id"] for told in self.told(n) if "id" in told]

    @property
    def cursor(self) -> str:
        return parse(self.received)[1]

    def _is_broken(self) -> bool:
        return self.ended.done() and bool(self.ended.exception())

    async def _receive(self) -> dict[str, Any]:
        if not self._asked:
            self._asked = True
            return {"type": "http.request", "body": b"", "more_body": False}
        await self._left.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Any) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            return
        await self._reads.wait()
        self.received += message.get("body", b"")
        self.is_whole = not message.get("more_body", False)


def parse(received: bytes) -> tuple[list[Told], str]:
    """Return the events of a stream and the last id, as a browser does. Half an event is none."""
    told, last = [], ""
    *blocks, _ = received.decode().split("\n\n")
    for block in blocks:
        lines = [line.partition(": ") for line in block.split("\n") if not line.startswith(":")]
        fields = {name: value for name, _, value in lines}
        last = fields.get("id", last)
        if "data" in fields:
            told.append({**fields, "data": json.loads(fields["data"])})
    return told, last


class Stage:
    """A server with its people, on one database."""

    def __init__(self, house: House, hub: Hub, loop: asyncio.AbstractEventLoop, fault: Fault):
        self.house, self.hub, self.loop, self.fault = house, hub, loop, fault
        self.admin = house.key()

    def reader(self, key: str | None = None, **query: str) -> Reader:
        return Reader(self.house.application, self.loop, key or self.admin, **query)


@contextmanager
def opened(
    studio: Studio, loop: asyncio.AbstractEventLoop, *, most: int = 10_000, **settings: Any
) -> Iterator[Stage]:
    fault = Fault(studio.db)
    engine = Engine(db=fault, kinds=studio.engine.kinds)
    library = Library(engine=engine, storage=studio.storage, reserve_bytes=0)
    chosen = Settings(data=studio.storage.root, **settings)
    with ExitStack() as stack:
        stack.callback(setattr, studio.db, "on_commit", ignore)
        notifier = stack.enter_context(closing(open_notifier(studio.db)))
        hub = stack.enter_context(closing(Hub(library, notifier, chosen, most=most)))
        app = build(Context(library=library, settings=chosen, notifier=notifier, hub=hub))
        yield Stage(House(studio, app), hub, loop, fault)
