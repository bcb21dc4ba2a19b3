"""A real server in the process of a test, and a wire to it that can be cut."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial

from rushes.api.context import Context
from rushes.api.run import serving
from rushes.api.server import build
from rushes.api.sse import Hub
from rushes.app import App, open_app
from rushes.domain.person import LOCAL, Scope
from rushes.library import keys
from rushes.library.keys import KeyRequest
from rushes.settings import Settings

STREAM = "/api/events"


@dataclass(frozen=True, slots=True)
class Served:
    """A server, and a key that opens everything."""

    url: str
    key: str
    app: App

    def key_for(self, *scopes: Scope) -> str:
        return key_for(self.app, *scopes)


def key_for(app: App, *scopes: Scope) -> str:
    wanted = KeyRequest(name="test", scopes=frozenset(scopes))
    return keys.create_key(app.db, LOCAL, wanted).text


@contextmanager
def served(settings: Settings, *, port: int = 0, streams: bool = True) -> Iterator[Served]:
    """Serve the library of these settings until the block is left."""
    with ExitStack() as stack:
        app = stack.enter_context(open_app(settings))
        hub = Hub(app.library, app.notifier, settings)
        context = Context(library=app.library, settings=settings, notifier=app.notifier, hub=hub)
        application = build(context)
        routes = application.router.routes
        if not streams:
            routes[:] = [route for route in routes if getattr(route, "path", None) != STREAM]
        url = stack.enter_context(serving(application, "127.0.0.1", port))
        stack.callback(hub.close)
        yield Served(url, key_for(app, *Scope), app)


class Wire:
    """Carries bytes to a server. `cuts` says after how many bytes each connection breaks.

    A positive number counts what goes to the server, a negative one what comes back. When all are
    used up, connections hold. With `only`, connections break only once they asked for that path.
    """

    def __init__(self, url: str, cuts: list[int], only: bytes = b"") -> None:
        self.cuts = cuts
        self.connections = 0
        self._only = only
        self._target = ("127.0.0.1", int(url.rpartition(":")[2]))
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def __enter__(self) -> Wire:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                self.connections += 1
                far = socket.create_connection(self._target)
                line = _Line(near, far, None if self._only else self._next_cut())
                for carry in (partial(self._up, line), partial(self._down, line)):
                    threading.Thread(target=carry, daemon=True).start()

    def _next_cut(self) -> int | None:
        return self.cuts.pop(0) if self.cuts else None

    def _up(self, line: _Line) -> None:
        with line:
            while chunk := line.near.recv(65_536):
                if self._only and self._only in chunk:
                    line.cut = self._next_cut()
                if line.cut is not None and line.cut >= 0:
                    line.cut -= len(chunk)
                    if line.cut < 0:
                        line.far.sendall(chunk[: line.cut])
                        return
                line.far.sendall(chunk)

    def _down(self, line: _Line) -> None:
        with line:
            while chunk := line.far.recv(65_536):
                if line.cut is not None and line.cut < 0:
                    line.cut += len(chunk)
                    if line.cut >= 0:
                        line.near.sendall(chunk[: len(chunk) - line.cut])
                        return
                line.near.sendall(chunk)


@dataclass(slots=True)
class _Line:
    """One connection. Whoever leaves first breaks it for both."""

    near: socket.socket
    far: socket.socket
    cut: int | None

    def __enter__(self) -> None:
        """Nothing to do."""

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> bool:
        for end in (self.near, self.far):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()
        return kind is not None and issubclass(kind, OSError)
