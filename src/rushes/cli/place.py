"""Where the work of a command is done: by this process, or at the server that it is sent to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rushes.cli import attend
from rushes.cli.connection import connect, person, reach, server_of
from rushes.errors import Invalid

if TYPE_CHECKING:
    import typer

    from rushes.api.sight import Sight
    from rushes.app import App
    from rushes.client import Client

OCR = "ocr"  # what a worker has that can read text
AT_WORK = ("idle", "busy")


@dataclass(frozen=True, slots=True)
class Place:
    """A client and, if this process is to do the work, its engine."""

    client: Client
    app: App | None

    @property
    def next_step(self) -> str:
        """What to say of work that is only in the queue."""
        return "; next: rushes worker run" if self.app else " of the server"

    @property
    def reads_text(self) -> bool:
        """Whether somebody can read text: this machine, or a worker. A server knows by itself."""
        from rushes.app import capabilities

        if self.app is None or OCR in capabilities(self.app.settings):
            return True
        workers = self.client.workers.list().items
        return any(OCR in one.capabilities for one in workers if one.status in AT_WORK)

    def check_reads_text(self) -> None:
        if not self.reads_text:
            raise Invalid("no worker can read text here", hint="pip install 'rushes[ocr]'")

    def stay(self, job_ids: Sequence[str], *, as_json: bool) -> list[Sight]:
        """Stay until jobs are over, and return how they ended."""
        if self.app is None:
            return attend.stay(self.client, job_ids, as_json=as_json)
        return attend.work(self.app, self.client, job_ids, as_json=as_json)


@contextmanager
def workplace(ctx: typer.Context) -> Iterator[Place]:
    """Reach the place of a command that makes work."""
    from rushes.client import Client

    if server_of(ctx) is not None:
        with reach(ctx) as client:
            yield Place(client, None)
    else:
        with connect(ctx) as app:
            yield Place(Client.at(app.library, person()), app)
