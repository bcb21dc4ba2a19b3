"""Everything an operator can set, in one class. Environment prefix: RUSHES_.

Numbers are seconds unless the name says otherwise.
"""

from __future__ import annotations

import socket
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Annotated, Self

from pydantic import Field, SecretStr, ValidationError, field_validator, model_validator
from pydantic_core import ErrorDetails
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from rushes.errors import Invalid

PREFIX = "RUSHES_"
Names = Annotated[tuple[str, ...], NoDecode]


class Settings(BaseSettings):
    model_config = SettingsConfigDict(
        env_prefix=PREFIX, env_file=".env", frozen=True, extra="ignore"
    )

    data: Path = Path("~/.local/share/rushes")
    """The data folder: the database and the files, unless they are elsewhere."""

    database_url: str | None = None
    """`sqlite:////path/to/file.db` for one machine, `postgresql://…` for many.

    Unset: a file in the data folder.
    """

    database_pool_size: int = Field(default=10, ge=2, le=500)
    """Connections to PostgreSQL per process."""

    lease: float = Field(default=60, ge=1, le=3600)
    """How long a worker may be silent before its task is given to another."""

    worker_heartbeat_interval: float = Field(default=10, gt=0, le=600)
    """How often a worker says that it and its tasks are alive; at most a third of the lease. On
    SQLite one that holds tasks does so twice a second, to hear at once that they are killed."""

    worker_offline_threshold_minutes: float = Field(default=5, gt=0)
    """Silence after which a worker is shown as offline. Its tasks hang on their leases alone."""

    worker_patience: float = Field(default=600, ge=1)
    """How long a worker that reaches nobody goes on with its work."""

    worker_drain_timeout: float = Field(default=300, ge=0)
    """How long a worker that is asked to stop waits for its tasks to reach a checkpoint."""

    worker_name: str = Field(
        default_factory=socket.gethostname, max_length=64, pattern=r"^[^#\x00]+$"
    )
    """The name of this machine's worker; a number is added when it is taken."""

    worker_slots: int = Field(default=2, ge=1, le=1000)
    """Tasks that this machine's worker runs at once in each lane."""

    worker_lanes: Names = ("default", "media", "encode", "text")
    """Lanes that this machine's worker serves, separated by commas; `lane=4` sets its slots."""

    worker_capabilities: Names = ()
    """What this machine's worker has besides its stages, separated by commas, such as `gpu`."""

    worker_cache_gb: float = Field(default=20, ge=0)
    """How much a worker of another machine keeps of the films that it has fetched, in GB."""

    worker_admin_secret: SecretStr | None = Field(default=None, min_length=16)
    """Lets whoever sends it as `X-Admin-Secret` register workers. Unset: only tokens do."""

    storage_reserve_gb: float = Field(default=1, ge=0)
    """Room on the disk that is kept free, in GB: below it nothing is begun that writes."""

    clip_lifetime_days: float = Field(default=30, gt=0, le=3650)
    """How long a clip is kept, in days, unless its request says otherwise."""

    clip_longest_minutes: float = Field(default=30, gt=0, le=1440)
    """How long a clip may be, in minutes."""

    stale_job_check_interval: float = Field(default=5, gt=0, le=600)
    """How often recovery looks for abandoned tasks."""

    job_stale_timeout: float | None = Field(default=None, gt=0)
    """Time without progress after which a task is taken away. Unset: as its kind says."""

    max_retry_attempts: int | None = Field(default=None, ge=1, le=1000)
    """Runs of a task before it fails for good. Unset: as its kind says, 3 mostly."""

    max_crashes: int = Field(default=3, ge=1, le=1_000_000)
    """Workers that a task may lose in a row, with no checkpoint between, before it fails."""

    gpu_grace: float = Field(default=10, ge=0, le=60)
    """How long a worker leaves a task to a free one that has what the task prefers."""

    priority_step_hours: float = Field(default=24, gt=0)
    """How much waiting one step of priority is worth."""

    host: str = "127.0.0.1"
    """The address that the server listens on; another than this needs a credential first."""

    port: int = Field(default=8765, ge=0, le=65_535)
    """The port that the server listens on."""

    root_path: str = Field(default="", pattern=r"^(/[^/?#\s]+)*$")
    """Where the server is mounted behind a proxy, such as `/rushes`."""

    trusted_proxies: Names = ()
    """Addresses or networks of proxies, separated by commas, that may say whose request it is.

    By `X-Forwarded-For`, and by `X-Forwarded-Proto` whether it came by TLS. Unset: nobody may.
    """

    sse_heartbeat: float = Field(default=30, gt=0, le=600)
    """Seconds between two signs of life on a stream of events."""

    sse_retry: float = Field(default=3, gt=0, le=600)
    """Seconds after which a page that lost the stream of events comes back."""

    metrics_public: bool = False
    """Whether `/metrics` answers without a key."""

    import_roots: Names = ()
    """Folders that films may be imported from by their path, separated by commas."""

    watch_folders: Names = ()
    """Folders whose new films are added by themselves, separated by commas."""

    stages: Names = ()
    """Python modules with stages of your own, separated by commas."""

    log_level: str = Field(default="info", pattern="^(debug|info|warning|error)$")
    """debug, info, warning or error."""

    test: bool = False
    """Switches the failpoints on. Never set it on a machine with data that matters."""

    failpoints: str = ""
    """Places where the program fails on purpose; see docs/explanation/failpoints.md."""

    @field_validator(
        "worker_lanes",
        "worker_capabilities",
        "trusted_proxies",
        "import_roots",
        "watch_folders",
        "stages",
        mode="before",
    )
    @classmethod
    def _split(cls, value: object) -> object:
        if not isinstance(value, str):
            return value
        return tuple(part.strip() for part in value.split(",") if part.strip())

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.worker_heartbeat_interval * 3 > self.lease:
            raise ValueError(
                f"worker_heartbeat_interval ({self.worker_heartbeat_interval:g} s) is more than "
                f"a third of lease ({self.lease:g} s): a late heartbeat would lose the task"
            )
        self.lanes()
        self.proxies()
        return self

    @property
    def folder(self) -> Path:
        return self.data.expanduser()

    @property
    def url(self) -> str:
        """The database that is used."""
        return self.database_url or f"sqlite:///{self.folder.absolute() / 'rushes.db'}"

    def lanes(self) -> dict[str, int]:
        """Return {lane: slots} of this machine's worker."""
        lanes = {}
        for entry in self.worker_lanes:
            name, _, slots = entry.partition("=")
            if slots and not (slots.isdigit() and int(slots) > 0):
                raise ValueError(f"worker_lanes: {entry!r} does not give a number of slots")
            lanes[name] = int(slots) if slots else self.worker_slots
        return lanes

    def proxies(self) -> tuple[IPv4Network | IPv6Network, ...]:
        """Return the networks whose word is believed."""
        try:
            return tuple(ip_network(one) for one in self.trusted_proxies)
        except ValueError as error:
            raise ValueError(f"trusted_proxies: {error}") from error


def load(**overrides: object) -> Settings:
    """Read the environment. Raises Invalid with one line per setting that is wrong."""
    try:
        return Settings(**overrides)  # type: ignore[arg-type]
    except ValidationError as error:
        raise Invalid("\n".join(_line(entry) for entry in error.errors())) from error


def _line(entry: ErrorDetails) -> str:
    loc, message = entry["loc"], entry["msg"]
    name = PREFIX + str(loc[0]).upper() + ": " if loc else ""
    return name + message.removeprefix("Value error, ")
