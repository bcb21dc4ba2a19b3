"""The picture of jobs at work: a live table on a terminal, lines in a pipe, objects with --json."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rushes.cli.output import is_coloured, note, printable, say_line
from rushes.cli.progress import became_playable, name_of, stage_line

if TYPE_CHECKING:
    from rich.table import Table

    from rushes.api.sight import Sight

Show = Callable[["Sequence[Sight]"], None]

LINE_EVERY = 5.0  # seconds, in a pipe, while a job goes on with the same steps
ROWS = 20
BAR = 24


@contextmanager
def screen(*, as_json: bool) -> Iterator[Show]:
    """Return the function that shows jobs. Only objects go to stdout: they are the result."""
    if as_json:
        yield Objects().show
    elif not sys.stderr.isatty():
        yield Lines().show
    else:
        from rich.console import Console
        from rich.live import Live

        console = Console(stderr=True, no_color=not is_coloured())
        with Live(console=console, auto_refresh=False, transient=True) as live:
            lines = Lines(live.console.out, milestones_only=True)

            def show(sights: Sequence[Sight]) -> None:
                lines.show(sights)
                live.update(_picture(sights), refresh=True)

            yield show


class Lines:
    """A line when a job begins another step, when its film can be watched, and now and then."""

    def __init__(self, say: Callable[[str], None] = note, *, milestones_only: bool = False) -> None:
        self._say = say
        self._milestones_only = milestones_only
        self._told: dict[str, tuple[str, int, float]] = {}
        self._playable: set[str] = set()

    def show(self, sights: Sequence[Sight]) -> None:
        for sight in sights:
            if became_playable(sight) and sight.job_id not in self._playable:
                self._playable.add(sight.job_id)
                self._say(f"▶ {name_of(sight)} can be watched: {printable(str(sight.playlist))}")
            if not self._milestones_only:
                self._show(sight)

    def _show(self, sight: Sight) -> None:
        now, line = time.monotonic(), stage_line(sight)
        step, percent, at = self._told.get(sight.job_id, ("", -1, 0.0))
        is_new = line.partition(" ")[0] != step
        if is_new or (percent != sight.percent and now - at >= LINE_EVERY):
            self._told[sight.job_id] = (line.partition(" ")[0], sight.percent, now)
            self._say(f"{name_of(sight)}: {sight.percent} %  {line}")


class Objects:
    """An object whenever something about a job has changed."""

    def __init__(self) -> None:
        self._told: dict[str, Sight] = {}
        self._playable: set[str] = set()

    def show(self, sights: Sequence[Sight]) -> None:
        for sight in sights:
            if became_playable(sight) and sight.job_id not in self._playable:
                self._playable.add(sight.job_id)
                say_line(sight, event="playable")
            if sight != self._told.get(sight.job_id):
                self._told[sight.job_id] = sight
                say_line(sight, event="finished" if sight.is_over else "progress")


def _picture(sights: Sequence[Sight]) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2))
    for _ in range(3):
        table.add_column(no_wrap=True)
    table.add_column(overflow="ellipsis", no_wrap=True)
    open_first = sorted(sights, key=lambda sight: sight.is_over)
    for sight in open_first[:ROWS]:
        filled = sight.percent * BAR // 100
        bar = Text.assemble(("━" * filled, "green"), ("─" * (BAR - filled), "bright_black"))
        table.add_row(
            Text(name_of(sight)), bar, Text(f"{sight.percent:3} %"), Text(stage_line(sight))
        )
    if len(sights) > ROWS:
        table.add_row(Text(f"… and {len(sights) - ROWS} more"))
    return table


@contextmanager
def sending(name: str, *, as_json: bool) -> Iterator[Callable[[int, int], None]]:
    """Return the function that shows how much of a film is with the server."""
    if as_json or not sys.stderr.isatty():
        yield _Sent(name, as_json=as_json)
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TransferSpeedColumn

    console = Console(stderr=True, no_color=not is_coloured())
    columns = ("{task.description}", BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task(f"sending {name}", total=None)
        yield lambda sent, total: progress.update(task, completed=sent, total=total)


class _Sent:
    """A line now and then."""

    def __init__(self, name: str, *, as_json: bool) -> None:
        self._name, self._as_json = name, as_json
        self._next = time.monotonic() + LINE_EVERY

    def __call__(self, sent: int, total: int) -> None:
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + LINE_EVERY
        if self._as_json:
            say_line({"event": "sending", "path": self._name, "sent": sent, "bytes": total})
        else:
            note(f"{self._name}: {100 * sent // total} % sent")
