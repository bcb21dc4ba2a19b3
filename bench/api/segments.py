"""`python -m bench.api.segments`: segments from Rushes beside those from plain static files.

A server process each: granian with the whole application, where every request is authenticated and
looked up, and uvicorn with starlette's StaticFiles on the same files. The load comes from a third
process: threads with blocking sockets, each with one connection that is kept, because that takes
least from the two that are measured. Rounds take turns.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import timedelta
from hashlib import sha256
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from statistics import median

SIZES = {"200 kB": 200_000, "1 MB": 1_000_000}
SEGMENTS, CONNECTIONS = 32, 8
FOLDER = "objects/film/1-1"
MODULE = "bench.api.segments"
SERVERS = ("rushes", "uvicorn")


def main() -> None:
    """Measure both in turns, print a table, and one JSON object as the last line."""
    rounds, seconds = int(os.environ.get("ROUNDS", "3")), float(os.environ.get("SECONDS", "4"))
    found: dict[tuple[str, str], list[float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        film, key = _fill(root)
        with _serving("rushes", root) as ours, _serving("uvicorn", root) as theirs:
            tops = {"rushes": f"/api/videos/{film}/v1", "uvicorn": f"/{FOLDER}"}
            ports = {"rushes": ours, "uvicorn": theirs}
            for _ in range(rounds):
                for size, name in product(SIZES, SERVERS):
                    rate = _load(ports[name], f"{tops[name]}/{SIZES[size]}", key, seconds)
                    found.setdefault((size, name), []).append(rate)
    _print(found)


def _print(found: dict[tuple[str, str], list[float]]) -> None:
    parts = "httptools" if find_spec("httptools") else "h11"
    loop = "uvloop" if find_spec("uvloop") else "asyncio"
    print(f"{CONNECTIONS} connections, median of {len(next(iter(found.values())))} rounds")
    print(f"uvicorn: {parts}, {loop}; starlette StaticFiles\n")
    print("| segment | server | per second | MB/s | ratio |\n|---|---|---:|---:|---:|")
    ratios = []
    for size, length in SIZES.items():
        rates = {name: median(found[size, name]) for name in SERVERS}
        ratios.append(rates["rushes"] / rates["uvicorn"])
        for name, rate in rates.items():
            ratio = f"{ratios[-1]:.2f}" if name == "rushes" else ""
            print(f"| {size} | {name} | {rate:,.0f} | {rate * length / 1e6:,.0f} | {ratio} |")
    print()
    print(json.dumps({"segment_ratio": round(min(ratios), 2)}))


def _fill(root: Path) -> tuple[str, str]:
    """Make a library with one film whose segments are noise. Returns its id and a key."""
    from rushes.domain.person import LOCAL, Scope
    from rushes.library import keys
    from rushes.library.keys import KeyRequest
    from rushes.store.database import Transaction, open_database
    from rushes.store.ids import new_id

    film = new_id()
    files = []
    for size in SIZES.values():
        for number in range(SEGMENTS):
            content, name = os.urandom(size), f"{size}/{number:05d}.m4s"
            path = root / FOLDER / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            files.append(
                {
                    "name": f"assets/{film}/v1/{name}",
                    "key": f"{FOLDER}/{name}",
                    "bytes": size,
                    "sha256": sha256(content).hexdigest(),
                }
            )

    def work(tx: Transaction) -> None:
        told = {
            "title": "film",
            "tags": [],
            "filename": "film.mp4",
            "source_key": "x/y",
            "bytes": 1,
        }
        tx.run("add_asset", id=film, owner="", sha256="0" * 64, **told)
        tx.run("add_version", asset_id=film, job_id=new_id(), options="{}")
        tx.run("add_artifacts", asset_id=film, version=1, task_id=1, epoch=1, artifacts=files)

    with closing(open_database(f"sqlite:///{root / 'rushes.db'}")) as db:
        db.migrate()
        db.transact(work)
        wanted = KeyRequest(
            name="bench", scopes=frozenset({Scope.ADMIN}), lifetime=timedelta(days=1)
        )
        return film, keys.create_key(db, LOCAL, wanted).text


@contextmanager
def _serving(name: str, root: Path) -> Iterator[int]:
    with closing(socket.create_server(("127.0.0.1", 0))) as probe:
        port = int(probe.getsockname()[1])
    process = subprocess.Popen([sys.executable, "-m", MODULE, name, str(root), str(port)])
    try:
        for _ in range(200):
            with closing(socket.socket()) as door:
                if door.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        yield port
    finally:
        process.terminate()
        process.wait(20)


def _load(port: int, top: str, key: str, seconds: float) -> float:
    """Return how many segments per second a process of its own could get."""
    line = [sys.executable, "-m", MODULE, "load", str(port), top, key, str(seconds)]
    done = subprocess.run(line, check=True, capture_output=True, text=True)
    return float(done.stdout)


def load(port: str, top: str, key: str, seconds: str) -> None:
    """Get segments, one after the other on each connection, and print how many per second."""
    counts: list[int] = []
    start = threading.Barrier(CONNECTIONS + 1)
    end = threading.Event()

    def viewer(first: int) -> None:
        with socket.create_connection(("127.0.0.1", int(port))) as connection:
            size, room = int(top.rpartition("/")[2]), bytearray(1 << 21)
            _get(connection, f"{top}/{first:05d}.m4s", key, size, room)
            start.wait()
            n = 0
            while not end.is_set():
                _get(connection, f"{top}/{(first + n) % SEGMENTS:05d}.m4s", key, size, room)
                n += 1
            counts.append(n)

    threads = [threading.Thread(target=viewer, args=(4 * n,)) for n in range(CONNECTIONS)]
    for thread in threads:
        thread.start()
    start.wait(30)
    began = time.monotonic()
    time.sleep(float(seconds))
    end.set()
    for thread in threads:
        thread.join()
    assert len(counts) == CONNECTIONS, "a viewer got something else than its segment"
    print(sum(counts) / (time.monotonic() - began))


def _get(connection: socket.socket, path: str, key: str, size: int, room: bytearray) -> None:
    connection.sendall(
        f"GET {path} HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer {key}\r\n\r\n".encode()
    )
    got = 0
    while (at := room.find(b"\r\n\r\n", 0, got)) < 0:
        more = connection.recv_into(memoryview(room)[got:])
        assert more, "the server hung up"
        got += more
    head = bytes(room[:at]).lower()
    assert head.startswith(b"http/1.1 200 "), head
    assert b"content-length: %d" % size in head, head
    whole = at + 4 + size
    while got < whole:
        more = connection.recv_into(memoryview(room)[got:], whole - got)
        assert more, "the server hung up"
        got += more


def rushes(root: str, port: str) -> None:
    """Serve the library in a folder with our application."""
    from rushes.api.context import Context
    from rushes.api.run import serving
    from rushes.api.server import build
    from rushes.api.sse import Hub
    from rushes.app import open_app
    from rushes.settings import Settings

    settings = Settings(data=Path(root))
    with open_app(settings) as app:
        hub = Hub(app.library, app.notifier, settings)
        context = Context(library=app.library, settings=settings, notifier=app.notifier, hub=hub)
        with serving(build(context), "127.0.0.1", int(port)):
            threading.Event().wait()


def uvicorn(root: str, port: str) -> None:
    """Serve the same folder as plain files."""
    from starlette.staticfiles import StaticFiles
    from uvicorn import Config, Server

    config = Config(
        StaticFiles(directory=root), port=int(port), log_level="error", access_log=False
    )
    asyncio.run(Server(config).serve())


if __name__ == "__main__":
    parts = {"load": load, "rushes": rushes, "uvicorn": uvicorn}
    if len(sys.argv) > 1:
        parts[sys.argv[1]](*sys.argv[2:])
    else:
        main()
