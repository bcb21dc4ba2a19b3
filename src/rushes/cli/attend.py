"""Stays with jobs until they are over: works on them here, or only looks on."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer

from rushes.cli.live import Show, screen
from rushes.cli.output import note, plural, say, say_line
from rushes.cli.progress import end_lines, is_busy
from rushes.cli.text import short_id
from rushes.domain.job import Status
from rushes.errors import Unavailable

if TYPE_CHECKING:
    from rushes.api.sight import Sight
    from rushes.app import App
    from rushes.client import Client

FAILED, KILLED, PARTLY, INTERRUPTED = 1, 8, 10, 130
CODES = {Status.FAILED: FAILED, Status.KILLED: KILLED}
LOOK_EVERY = 0.2
ASK_EVERY = 1.0  # a server
PATIENCE = 60.0  # seconds that a server may be away
BEAT = 1.0  # seconds between two news of a task: somebody looks on
EXPLAIN_AFTER = 3.0
LAYOUT_PATIENCE = 10.0  # seconds that a finished film may take to appear in the folder
GO_ON = "rushes worker run --until-idle"


class Crowd:
    """Some jobs and what was last seen of them."""

    def __init__(self, client: Client, job_ids: Sequence[str], show: Show) -> None:
        self._jobs = client.jobs
        self._show = show
        self._ended_at: dict[str, float] = {}
        self._idle_since = time.monotonic()
        self._why: str | None = None
        self.sights = [self._jobs.sight(job_id) for job_id in job_ids]

    @property
    def open(self) -> list[Sight]:
        return [sight for sight in self.sights if not sight.is_over]

    def look(self) -> bool:
        """Look at what is not over yet and show it. Returns whether all is over."""
        self.sights = [sight if sight.is_over else self._next(sight) for sight in self.sights]
        self._show(self._explained())
        return not self.open

    def _explained(self) -> list[Sight]:
        """Say of the first open job why nothing runs, if that lasts."""
        now = time.monotonic()
        if not self.open or any(is_busy(sight) for sight in self.open):
            self._idle_since, self._why = now, None
        elif now - self._idle_since > EXPLAIN_AFTER:
            waiting = self._jobs.show(self.open[0].job_id).waiting
            self._idle_since, self._why = now, waiting.text if waiting else None
        first = self.open[0] if self.open else None
        return [
            sight.model_copy(update={"waits_for": self._why}) if sight is first else sight
            for sight in self.sights
        ]

    def _next(self, before: Sight) -> Sight:
        """A film is over when its files are where people look for them, if that can be."""
        sight, now = self._jobs.sight(before.job_id), time.monotonic()
        if sight.is_over and not sight.is_laid_out:
            ended_at = self._ended_at.setdefault(sight.job_id, now)
            return before if now - ended_at < LAYOUT_PATIENCE else sight
        return sight


def work(app: App, client: Client, job_ids: Sequence[str], *, as_json: bool) -> list[Sight]:
    """Run the workers in this process until these jobs are over, and return how they ended.

    Other processes may work on the same data at the same time. One that took our name, because
    both started at once, only means that we need another.
    """
    from dataclasses import replace

    from rushes.app import run_worker

    quick = min(app.settings.worker_heartbeat_interval, BEAT)
    app = replace(
        app, settings=app.settings.model_copy(update={"worker_heartbeat_interval": quick})
    )
    with screen(as_json=as_json) as show:
        crowd = Crowd(client, job_ids, show)
        while run_worker(app, until=crowd.look) is not None and not crowd.look():
            pass
    if crowd.open:
        _tell_interrupted(crowd.open, as_json=as_json)
        raise typer.Exit(INTERRUPTED)
    return crowd.sights


def watch(client: Client, job_ids: Sequence[str], *, as_json: bool, every: float) -> list[Sight]:
    """Look on until these jobs are over, also while a server starts again."""
    with screen(as_json=as_json) as show:
        crowd = Crowd(client, job_ids, show)
        seen_at = time.monotonic()
        while True:
            try:
                if crowd.look():
                    return crowd.sights
                seen_at = time.monotonic()
            except Unavailable:
                if time.monotonic() - seen_at > PATIENCE:
                    raise
            time.sleep(every)


def stay(client: Client, job_ids: Sequence[str], *, as_json: bool) -> list[Sight]:
    """Look on while a server works. Ctrl-C only ends the looking."""
    try:
        return watch(client, job_ids, as_json=as_json, every=ASK_EVERY)
    except KeyboardInterrupt:
        again = f"rushes jobs watch {' '.join(map(short_id, job_ids))}"
        if as_json:
            say_line({"event": "interrupted", "jobs": list(job_ids), "hint": again})
        else:
            go = "goes" if len(job_ids) == 1 else "go"
            what = plural(len(job_ids), "job")
            note(f"interrupted: {what} {go} on at the server; look again with: {again}")
        raise typer.Exit(INTERRUPTED) from None


def tell_ends(sights: Sequence[Sight]) -> None:
    for sight in sights:
        say(*end_lines(sight))


def exit_code(codes: Sequence[int]) -> int:
    """Return 0 if all went well and 10 if some did; else what they have in common, or 1.

    >>> exit_code([0, 0]), exit_code([0, 8]), exit_code([8, 8]), exit_code([1, 8])
    (0, 10, 8, 1)
    """
    different = set(codes) or {0}
    if len(different) == 1:
        return different.pop()
    return PARTLY if 0 in different else FAILED


def code_of(sight: Sight) -> int:
    return CODES.get(sight.status, 0)


def _tell_interrupted(left: Sequence[Sight], *, as_json: bool) -> None:
    if as_json:
        say_line({"event": "interrupted", "jobs": [sight.job_id for sight in left], "hint": GO_ON})
        return
    stays = "stays" if len(left) == 1 else "stay"
    note(f"interrupted: {plural(len(left), 'job')} {stays} in the queue; go on with: {GO_ON}")
