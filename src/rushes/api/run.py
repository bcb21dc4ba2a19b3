"""Runs the application behind granian, in a thread with an event loop of its own."""

from __future__ import annotations

import asyncio
import errno
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from anyio import to_thread

from rushes.errors import Invalid, Unavailable

if TYPE_CHECKING:
    from fastapi import FastAPI
    from granian.server.embed import Server

START_S, STOP_S = 30.0, 5.0
HEADERS_MS = 10_000
BACKLOG, CONNECTIONS = 1_024, 10_000  # streams of events stay open
THREADS = 250  # so that many requests may wait for the database, and are told when it is busy
LOOPBACK = ("127.0.0.1", "::1", "localhost")


@contextmanager
def serving(application: FastAPI, host: str, port: int) -> Iterator[str]:
    """Serve until the block is left, and give the address. Port 0: any that is free."""
    port = _free(host, port)
    thread = _Thread(application, host, port)
    thread.start()
    try:
        thread.wait_until_up()
        yield f"http://{f'[{host}]' if ':' in host else host}:{port}"
    finally:
        thread.stop()


class _Thread(threading.Thread):
    def __init__(self, application: FastAPI, host: str, port: int) -> None:
        super().__init__(name="rushes-http", daemon=True)
        self._application, self._host, self._port = application, host, port
        self._loop = asyncio.new_event_loop()
        self._server: Server | None = None

    def run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self._serve())
        finally:
            self._loop.close()

    def wait_until_up(self) -> None:
        """Return when somebody answers at the door."""
        end = time.monotonic() + START_S
        while time.monotonic() < end and self.is_alive():
            try:
                socket.create_connection((self._host, self._port), timeout=1).close()
            except OSError:
                time.sleep(0.01)
            else:
                return
        raise Unavailable(f"the server did not come up at {self._host}:{self._port}")

    def stop(self) -> None:
        if self.is_alive() and self._server is not None:
            self._loop.call_soon_threadsafe(self._server.stop)
            self.join(STOP_S)

    async def _serve(self) -> None:
        from granian.constants import Interfaces
        from granian.http import HTTP1Settings
        from granian.server.embed import Server

        to_thread.current_default_thread_limiter().total_tokens = THREADS
        self._server = Server(
            self._application,
            address=self._host,
            port=self._port,
            interface=Interfaces.ASGINL,
            websockets=False,
            backlog=BACKLOG,
            backpressure=CONNECTIONS,
            http1_settings=HTTP1Settings(header_read_timeout=HEADERS_MS),
            log_enabled=False,
        )
        await self._server.serve()


def _free(host: str, port: int) -> int:
    """Return the port, or one that is free. Somebody else's is refused in one line."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except (OSError, TypeError) as error:  # TypeError: what can be no name of a host
            is_taken = getattr(error, "errno", None) == errno.EADDRINUSE
            raise Invalid(
                f"cannot listen on {host}:{port}: {getattr(error, 'strerror', error)}",
                hint="another program has the port; choose another one with --port"
                if is_taken
                else "look at --host and --port",
            ) from error
        return int(probe.getsockname()[1])
