"""The picture of the engine's demo: a live table on a terminal, else a line each second."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rushes.cli.output import note, plural

if TYPE_CHECKING:
    from rich.console import Group

    from rushes.cli.demo_engine import Scene

BAR = 40
Show = Callable[["Scene"], None]


@contextmanager
def board(*, quiet: bool) -> Iterator[Show]:
    """Return the function that shows a scene. It draws on stderr: the result is for stdout."""
    if quiet:
        yield lambda _scene: None
    elif not sys.stderr.isatty():
        yield _plain()
    else:
        from rich.console import Console
        from rich.live import Live

        with Live(console=Console(stderr=True), auto_refresh=False) as live:
            yield lambda scene: live.update(_picture(scene), refresh=True)


def _plain() -> Show:
    next_line = time.monotonic()

    def show(scene: Scene) -> None:
        nonlocal next_line
        if time.monotonic() < next_line and scene.percent < 100:
            return
        next_line = time.monotonic() + 1
        workers = "  ".join(f"{name} {_state(scene, name)}" for name in scene.names)
        note(f"{scene.seconds:4.1f} s  {scene.percent:3} %  {scene.done:,} done  {workers}")

    return show


def _picture(scene: Scene) -> Group:
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    filled = scene.percent * BAR // 100
    table = Table("worker", "state", box=None, pad_edge=False, header_style="bold")
    table.add_column("holds", justify="right")
    table.add_column("done", justify="right")
    for name in scene.names:
        style = "red" if name == scene.victim else None
        holds, done = scene.holds.get(name, 0), scene.finished.get(name, 0)
        table.add_row(name, f"{_state(scene, name):<12}", str(holds), f"{done:,}", style=style)
    bar = Text.assemble(("━" * filled, "green"), ("─" * (BAR - filled), "bright_black"))
    numbers = (
        f" {scene.percent:3} %  {scene.done:,} of {scene.total:,} tasks  {scene.seconds:.1f} s"
    )
    return Group(bar.append(numbers, "default"), "", table, "", _caption(scene), "")


def _state(scene: Scene, name: str) -> str:
    if name == scene.victim:
        return "killed (-9)"
    if name not in scene.holds:
        return "starting"
    return "busy" if scene.holds[name] else "idle"


def _caption(scene: Scene) -> str:
    if scene.victim is None:
        return "all is well" if scene.done else "the workers start"
    killed = f"{scene.victim} got kill -9 and held {plural(len(scene.lost), 'task')}"
    return f"{killed}; others took over" if scene.taken_back else f"{killed}; the leases run out"
