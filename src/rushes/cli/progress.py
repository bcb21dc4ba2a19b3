"""How far a job is, and the film that it makes, if it makes one: in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import TYPE_CHECKING

from rushes.cli.output import ICONS, between, lasted, plural, printable, shortened
from rushes.cli.text import killer, short_id, title
from rushes.domain.asset import QualityStatus
from rushes.domain.job import Status
from rushes.domain.task import State

if TYPE_CHECKING:
    from rushes.api.sight import Sight

NAME = 40  # characters of a name that are shown
TEXT = "index"  # the step after which the text of a film is known


def name_of(sight: Sight) -> str:
    return shortened(sight.label, NAME) if sight.label else title(sight)


def is_busy(sight: Sight) -> bool:
    return any(states.get(State.RUNNING) for states in sight.steps.values())


def became_playable(sight: Sight) -> bool:
    """Whether this job made the film one that can be watched."""
    at = sight.playable_at
    return at is not None and at >= sight.created_at and sight.playlist is not None


def stage_line(sight: Sight) -> str:
    """Return what is done at this moment: the steps, and how far each quality is."""
    if sight.is_over:
        return sight.status
    steps = sight.steps.items()
    running = [_step(step, states) for step, states in steps if states.get(State.RUNNING)]
    words = [", ".join(running) or f"waits: {sight.waits_for or 'for its turn'}"]
    if any(quality.status is not QualityStatus.COMPLETED for quality in sight.qualities):
        words += [
            f"{quality.quality} {quality.segments_completed}/{quality.segments_total}"
            for quality in sight.qualities
        ]
    return " · ".join(words)


def end_lines(sight: Sight) -> list[str]:
    """Return how a job ended: for a film, what was made of it and where it is."""
    match sight.status:
        case Status.FAILED:
            told = _failure(sight)
        case Status.KILLED:
            told = _kill(sight)
        case _:
            told = [" · ".join(_made(sight))]
    if sight.status is not Status.COMPLETED and sight.version:
        told.append("the version that was there plays on")
    first, *rest = told
    return [f"{ICONS[sight.status]} {name_of(sight)}  {first}", *(f"   {line}" for line in rest)]


def _step(step: str, states: Mapping[str, int]) -> str:
    total = sum(states.values())
    return f"{step} {states.get(State.DONE, 0)}/{total}" if total > 1 else step


def _made(sight: Sight) -> Iterator[str]:
    if sight.asset_id is None:
        yield f"completed in {_after(sight)}"
        yield from _warnings(sight)
        return
    done = QualityStatus.COMPLETED
    yield f"ready in {_after(sight, sight.ready_at)}"
    yield " ".join(quality.quality for quality in sight.qualities if quality.status is done)
    if TEXT in sight.steps:
        yield f"{plural(sight.texts, 'text')} in {_after(sight, sight.searchable_at)}"
    yield from _warnings(sight)
    yield short_id(sight.asset_id)
    if sight.playlist is not None:
        yield printable(sight.playlist)


def _warnings(sight: Sight) -> Iterator[str]:
    for item in sight.reported:
        yield f"⚠ {item.code}: {shortened(item.message, 100)}"
    if failed := sight.warnings - len(sight.reported):
        yield f"⚠ {plural(failed, 'warning')}, see rushes jobs show {short_id(sight.job_id)}"


def _after(sight: Sight, at: datetime | None = None) -> str:
    """Return how long a job took, or how long until it reached this milestone, if it did."""
    reached = at if at is not None and at >= sight.created_at else sight.finished_at
    return lasted(between(sight.created_at, reached or sight.created_at))


def _failure(sight: Sight) -> list[str]:
    lines = [f"{sight.error_code}: {shortened(sight.error or '', 300)}"]
    if sight.hint:
        lines.append(f"hint: {shortened(sight.hint, 300)}")
    if sight.retryable:
        lines.append(f"try again: rushes jobs retry {short_id(sight.job_id)}")
    return lines


def _kill(sight: Sight) -> list[str]:
    return [
        f"killed by {killer(sight)}: {shortened(sight.killed_reason or '', 200)}",
        f"go on: rushes jobs retry {short_id(sight.job_id)}",
    ]
