"""Many who listen at once: how long it takes until all have heard of something."""

from __future__ import annotations

import selectors
import socket
import time
from contextlib import ExitStack, closing

import httpx

from bench.api.house import House

EVENTS = 20


def heard(house: House, job_id: str, clients: int) -> list[float]:
    """Return for each of some events after how many ms each client had heard of it."""
    delays: list[float] = []
    with ExitStack() as stack:
        listeners = [stack.enter_context(closing(_listen(house))) for _ in range(clients)]
        selector = stack.enter_context(selectors.DefaultSelector())
        for listener in listeners:
            selector.register(listener, selectors.EVENT_READ)
        _until_quiet(selector)
        http = stack.enter_context(httpx.Client(base_url=house.address, headers=house.headers))
        for number in range(EVENTS):
            began = time.monotonic()
            http.patch(f"/api/jobs/{job_id}", json={"priority": number % 10}).raise_for_status()
            waiting = set(listeners)
            while waiting:
                for key, _ in selector.select(30):
                    listener = key.fileobj
                    assert isinstance(listener, socket.socket)
                    if b"job.priority" in listener.recv(65_536) and listener in waiting:
                        waiting.remove(listener)
                        delays.append((time.monotonic() - began) * 1000)
    return delays


def _listen(house: House) -> socket.socket:
    line = socket.create_connection(house.door, timeout=30)
    line.sendall(
        f"GET /api/events?topics=jobs HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer {house.key}"
        "\r\n\r\n".encode()
    )
    assert line.recv(65_536).startswith(b"HTTP/1.1 200 ")
    return line


def _until_quiet(selector: selectors.BaseSelector) -> None:
    while found := selector.select(0.5):
        for key, _ in found:
            assert isinstance(key.fileobj, socket.socket)
            key.fileobj.recv(65_536)
