"""`rushes demo`: one film through the whole pipeline, and a look whether all of it is true.

The film is made here, so every word in it is known, and when it is seen. Exit code 0 means that
what was made of it is whole and that every word was found at its time.
"""

from __future__ import annotations

import json
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, NoReturn

import typer

from rushes.cli import demo_engine, output
from rushes.cli.connection import AsJson, check_here
from rushes.cli.output import lasted, note, plural, say, say_json, styled
from rushes.domain.room import amount
from rushes.errors import Invalid, Permanent, RushesError

if TYPE_CHECKING:
    from rushes.app import App
    from rushes.cli.demo_story import Story
    from rushes.domain.task import Task
    from rushes.library.upload import Added

FAILED = 1
SETTINGS: dict[str, object] = {
    # one film: its first chunk is to be ready first, and an encoder takes all cores by itself
    "worker_lanes": ("media", "encode=1", "text=1"),
    "worker_capabilities": (),
    "worker_slots": 2,
    "worker_heartbeat_interval": 0.5,  # it brings the progress
    "max_retry_attempts": 2,
    "stages": (),
    "test": False,
}
DETAILS: dict[str, Callable[[list[Any]], str]] = {
    "probe": lambda made: "it can have " + " ".join(rung["name"] for rung in made[0]["rungs"]),
    "transcode": lambda made: f"{plural(len(made), 'chunk')}, each in every quality",
    "sample": lambda made: (
        f"{sum(len(batch['times_ms']) for part in made for batch in part['batches'])} of "
        f"{sum(part['looked_at'] for part in made)} pictures are worth reading"
    ),
    "index": lambda made: plural(made[0]["spans"], "text"),
}

app = typer.Typer()
app.command("engine")(demo_engine.engine)


class Screen(NamedTuple):
    """Where the demo tells what it does: lines that stay, and bars (in percent) that move."""

    say: Callable[[str], None]
    bars: Callable[[Mapping[str, float]], None]


@app.callback(invoke_without_command=True)
def demo(
    ctx: typer.Context,
    keep: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Work in this new folder, and keep what is made."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Make a sample video, process it and check the result.

    Needs no server, no network and no ffmpeg of the machine's own; leaves nothing behind without
    --keep. Exit code 0 only if all that was made is whole and every word was found at its time.
    """
    if ctx.invoked_subcommand is not None:
        return
    from rushes.app import open_app
    from rushes.cli import demo_story
    from rushes.settings import load

    check_here(ctx)
    with _place(keep) as folder, _screen(quiet=as_json) as screen:
        database = f"sqlite:///{folder}/rushes.db"
        with open_app(load(data=folder, database_url=database, **SETTINGS)) as rushes:
            story = _play(rushes, screen)
    if as_json:
        say_json(demo_story.view(story, folder if keep else None))
    else:
        say(*demo_story.lines(story, folder if keep else None))
    raise typer.Exit(0 if story.is_true else FAILED)


@contextmanager
def _place(keep: Path | None) -> Iterator[Path]:
    """Make the data folder of the demo; it goes with the demo unless it is to be kept."""
    before = signal.signal(signal.SIGTERM, _leave)
    try:
        if keep is not None:
            yield _empty(keep)
        else:
            with tempfile.TemporaryDirectory(
                prefix="rushes-demo-", ignore_cleanup_errors=True
            ) as folder:
                yield Path(folder)
    finally:
        signal.signal(signal.SIGTERM, before)


def _empty(folder: Path) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        is_used = any(folder.iterdir())
    except OSError as error:
        raise Invalid(f"{folder} cannot be used: {error.strerror}") from error
    if is_used:
        raise Invalid(f"{folder} is not empty", hint="name a folder that does not exist yet")
    return folder.absolute()


def _leave(number: int, _frame: FrameType | None) -> NoReturn:
    raise SystemExit(128 + number)


@contextmanager
def _screen(*, quiet: bool) -> Iterator[Screen]:
    """Tell on stderr: the result is for stdout. Bars are for a terminal, and vanish at the end."""
    if quiet:
        yield Screen(lambda _line: None, lambda _bars: None)
    elif not sys.stderr.isatty():
        yield Screen(note, lambda _bars: None)
    else:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TaskID
        from rich.text import Text

        console = Console(stderr=True, no_color=not output.is_coloured())
        columns = ("  {task.description:<10}", BarColumn(), "{task.percentage:>3.0f} %")
        with Progress(*columns, console=console, transient=True) as progress:
            shown: dict[str, TaskID] = {}

            def bars(percent: Mapping[str, float]) -> None:
                for gone in shown.keys() - percent.keys():
                    progress.remove_task(shown.pop(gone))
                for name, reached in percent.items():
                    if name not in shown:
                        shown[name] = progress.add_task(name, total=100)
                    progress.update(shown[name], completed=reached)

            yield Screen(lambda line: console.print(Text.from_ansi(line), soft_wrap=True), bars)


def _play(rushes: App, screen: Screen) -> Story:
    """Make the film, add it, work until its job is over, then look at everything."""
    from rushes.app import run_worker
    from rushes.cli.demo_story import tell
    from rushes.cli.reading import read_job
    from rushes.library import layout
    from rushes.library.upload import Upload, add

    began = time.monotonic()
    tools = _tools()
    screen.say(" · ".join(f"{name} {version}" for name, version in tools.items()))
    film = rushes.library.storage.root / "demo.mp4"
    screen.say(_make(film, screen))
    added = add(rushes.library, Upload(path=film, title="Demo"))
    film.unlink()
    run_worker(rushes, until=follow(rushes, added, screen))
    if not read_job(rushes, added.job_id).is_over:
        raise typer.Abort  # somebody stopped it
    layout.run_once(rushes.library)
    claims = {**_find(rushes, screen), **_cut(rushes, added, screen)}
    return tell(rushes, added, tools=tools, began=began, claims=claims)


def _find(rushes: App, screen: Screen) -> dict[str, list[str]]:
    """Search for known words; return the claim, and what is not true."""
    from rushes.library import demo_search

    what = f"{plural(len(demo_search.ASKED), 'question')}, such as {min(demo_search.ASKED)}"
    missed = _timed("search", what, lambda: rushes.db.read(demo_search.missed), screen)
    return {"a search finds known words at their times": missed}


def _cut(rushes: App, added: Added, screen: Screen) -> dict[str, list[str]]:
    """Play a known moment at once, and cut it out; return both claims, and what is not true."""
    from rushes.app import run_worker
    from rushes.cli.demo_story import made_of
    from rushes.cli.reading import read_job
    from rushes.library import clips, demo_clip
    from rushes.store import assets
    from rushes.store import clips as rows

    made, library = made_of(rushes, added.asset_id), rushes.library
    asset = rushes.db.read(lambda tx: assets.get(tx, added.asset_id))
    moment = demo_clip.MOMENT

    def at_once() -> list[str]:
        return ["nothing was made"] if made is None else demo_clip.wrong_instant(made)

    def exactly() -> list[str]:
        wish = clips.Wish(t_start=moment.start_ms, t_end=moment.end_ms, padding_ms=0)
        clip = clips.request(library, asset, wish).clip
        run_worker(rushes, until=lambda: read_job(rushes, clip.job_id).is_over)
        done = rushes.db.read(lambda tx: rows.get(tx, clip.id))
        return demo_clip.wrong_clip(library.storage.existing(clips.file_of(done)))

    span = f"{moment.start_ms / 1000:g} to {moment.end_ms / 1000:g} s"
    plays = _timed("instant", f"{span} plays from its segments", at_once, screen)
    clip = _timed("clip", f"{span} is {len(demo_clip.FRAMES)} frames", exactly, screen)
    return {
        "a moment plays at once, from the segments that are there": plays,
        "a clip of it begins and ends with the very frames": clip,
    }


def _timed(step: str, what: str, look: Callable[[], list[str]], screen: Screen) -> list[str]:
    """Return what a check finds; what stops it is a find, too. Tells how long it took."""
    began = time.monotonic()
    try:
        problems = look()
    except (RushesError, OSError, ValueError) as error:
        problems = [str(error)]
    took = int((time.monotonic() - began) * 1000)
    screen.say(_ended(step, took, (problems or [what])[0], well=not problems))
    return problems


def _make(film: Path, screen: Screen) -> str:
    from rushes.library import demo_film

    began = time.monotonic()
    demo_film.make(film, lambda percent: screen.bars({"film": percent}))
    length, size = f"{demo_film.DURATION_MS / 1000:g} s", amount(film.stat().st_size)
    what = f"{demo_film.HEIGHT}p, {length} long, with sound, {size}"
    return _ended("film", int((time.monotonic() - began) * 1000), what)


def _tools() -> dict[str, str]:
    """Return what the demo works with. Raises Permanent if something is not there."""
    from importlib.metadata import PackageNotFoundError, version

    from rushes.media import ffmpeg, sandbox

    try:
        version("onnxruntime")
        engine = f"rapidocr {version('rapidocr')}"
    except PackageNotFoundError as error:
        raise Permanent(
            f"the demo reads text, and {error.name} is not installed",
            error_code="OCR_UNAVAILABLE",
            hint="pip install 'rushes[ocr]'",
        ) from error
    found = ffmpeg.find()
    return {
        "ffmpeg": f"{found.version} ({found.source})",
        "OCR": engine,
        "sandbox": sandbox.level(),
    }


def follow(rushes: App, added: Added, screen: Screen) -> Callable[[], bool]:
    """Return the function that tells the news, and whether the job is over."""
    from rushes.cli.reading import read_job
    from rushes.domain.task import FINAL, State
    from rushes.store import assets

    told: set[str] = set()

    def look() -> bool:
        seen = read_job(rushes, added.job_id)
        asset = rushes.db.read(lambda tx: assets.get(tx, added.asset_id))
        steps: dict[str, list[Task]] = {task.step: [] for task in seen.tasks}
        for task in seen.tasks:
            steps[task.step].append(task)
        for step, tasks in steps.items():
            if step not in told and all(task.state in FINAL for task in tasks):
                told.add(step)
                screen.say(_stage_line(step, tasks))
        if asset.playable_at is not None and "playable" not in told:
            told.add("playable")
            after = lasted(asset.playable_at - asset.created_at)
            screen.say(f"▶ playable after {after}: watch it while the rest is made")
        screen.bars(
            {
                step: _percent(tasks)
                for step, tasks in steps.items()
                if any(task.state is State.RUNNING for task in tasks)
            }
        )
        return seen.is_over

    return look


def _percent(tasks: Sequence[Task]) -> float:
    from rushes.domain.task import State

    return sum(100 if task.state is State.DONE else task.progress for task in tasks) / len(tasks)


def _stage_line(step: str, tasks: Sequence[Task]) -> str:
    """Return how a step ended: how long it took from its first claim on, and what it found."""
    from rushes.cli.demo_story import why

    began = min((task.claimed_at for task in tasks if task.claimed_at), default=0)
    ended = max((task.finished_at for task in tasks if task.finished_at), default=began)
    if reasons := [reason for task in tasks if (reason := why(task))]:
        return _ended(step, ended - began, reasons[0], well=False)
    results = [json.loads(task.result) for task in tasks if task.result]
    what = DETAILS[step](results) if results and step in DETAILS else ""
    return _ended(step, ended - began, what)


def _ended(step: str, milliseconds: int, what: str, *, well: bool = True) -> str:
    mark = styled("✔", "green", err=True) if well else styled("✘", "red", err=True)
    return f"{mark} {step:<10} {lasted(milliseconds):>7}  {what}".rstrip()
