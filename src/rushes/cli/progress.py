"""How far a job is, and the film that it makes, if it makes one: read, and in words."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rushes.cli.output import ICONS, lasted, plural, printable, shortened
from rushes.cli.text import short_id, title
from rushes.domain.asset import Asset, Quality, QualityStatus
from rushes.domain.job import FINISHED, Job, Status
from rushes.domain.task import State
from rushes.media.rendition import MASTER
from rushes.store import assets, jobs

if TYPE_CHECKING:
    from rushes.app import App
    from rushes.library.library import Library
    from rushes.store.database import Transaction

NAME = 40  # characters of a name that are shown
DAMAGE = {"truncated": "SOURCE_TRUNCATED"}
TEXT = "index"  # the step after which the text of a film is known


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """A job at one moment. `steps` counts its tasks by state; `playlist` is there to be played."""

    job: Job
    percent: int
    steps: dict[str, Counter[str]]
    asset: Asset | None = None
    qualities: tuple[Quality, ...] = ()
    texts: int = 0
    playlist: Path | None = None
    is_laid_out: bool = True
    waits_for: str | None = None

    @property
    def is_busy(self) -> bool:
        return any(states[State.RUNNING] for states in self.steps.values())

    @property
    def is_over(self) -> bool:
        return self.job.status in FINISHED

    @property
    def is_unhappy(self) -> bool:
        return self.job.status in (Status.FAILED, Status.KILLED)

    @property
    def name(self) -> str:
        return shortened(self.job.label, NAME) if self.job.label else title(self.job)

    @property
    def ladder(self) -> list[str]:
        """The qualities that are complete."""
        done = QualityStatus.COMPLETED
        return [quality.quality for quality in self.qualities if quality.status is done]

    @property
    def became_playable(self) -> bool:
        """Whether this job made the film one that can be watched."""
        at = self.asset.playable_at if self.asset else None
        return at is not None and at >= self.job.created_at and self.playlist is not None


def read(app: App, job_id: str) -> Sight:
    """Return a job as it is now. A queued one has not much to be read."""

    def work(tx: Transaction) -> Sight:
        job = jobs.get(tx, job_id)
        steps: dict[str, Counter[str]] = {step: Counter() for step in job.plan}
        if job.status is Status.QUEUED:
            return Sight(job=job, percent=0, steps=steps)
        for row in tx.rows("step_states", job_id=job_id):
            steps[row["step"]][row["state"]] = row["n"]
        return _with_film(tx, app.library, job, steps)

    return app.db.read(work)


def stage_line(sight: Sight) -> str:
    """Return what is done at this moment: the steps, and how far each quality is."""
    if sight.is_over:
        return sight.job.status
    running = [_step(step, states) for step, states in sight.steps.items() if states[State.RUNNING]]
    words = [", ".join(running) or f"waits: {sight.waits_for or 'for its turn'}"]
    if any(quality.status is not QualityStatus.COMPLETED for quality in sight.qualities):
        words += [
            f"{quality.quality} {quality.segments_completed}/{quality.segments_total}"
            for quality in sight.qualities
        ]
    return " · ".join(words)


def playlist_path(library: Library, asset_id: str) -> Path:
    """Return where the playlist of a film is, or will be."""
    return library.storage.root / "assets" / asset_id / MASTER


def damage(asset: Asset) -> list[str]:
    """Return what is wrong with the file of a film that was made nevertheless."""
    source = json.loads(asset.source) if asset.source else {"damage": []}
    return [f"{DAMAGE.get(found, 'SOURCE_CORRUPT')}: {found}" for found in source["damage"]]


def end_lines(sight: Sight) -> list[str]:
    """Return how a job ended: for a film, what was made of it and where it is."""
    job = sight.job
    match job.status:
        case Status.FAILED:
            told = _failure(job)
        case Status.KILLED:
            told = _kill(job)
        case _:
            told = [" · ".join(_made(sight))]
    if sight.is_unhappy and sight.asset is not None and sight.asset.version:
        told.append("the version that was there plays on")
    first, *rest = told
    return [f"{ICONS[job.status]} {sight.name}  {first}", *(f"   {line}" for line in rest)]


def _with_film(
    tx: Transaction, library: Library, job: Job, steps: dict[str, Counter[str]]
) -> Sight:
    percent = jobs.percent(tx, [job])[job.id]
    made = tx.rows("version_of_job", job_id=job.id)
    if not made:
        return Sight(job=job, percent=percent, steps=steps)
    asset = assets.get(tx, made[0]["asset_id"])
    playlist = playlist_path(library, asset.id)
    return Sight(
        job=job,
        percent=percent,
        steps=steps,
        asset=asset,
        qualities=tuple(assets.qualities(tx, asset.id, made[0]["n"])),
        texts=len(tx.rows("spans", asset_id=asset.id)) if job.status in FINISHED else 0,
        playlist=playlist if playlist.exists() else None,
        is_laid_out=all(
            version["laid_out"] >= version["changes"]
            for version in tx.rows("versions", asset_id=asset.id)
        ),
    )


def _step(step: str, states: Counter[str]) -> str:
    many = states.total() > 1
    return f"{step} {states[State.DONE]}/{states.total()}" if many else step


def _made(sight: Sight) -> Iterator[str]:
    job, asset = sight.job, sight.asset
    if asset is None:
        yield f"completed in {_after(job)}"
        yield from _warnings(sight)
        return
    yield f"ready in {_after(job, asset.ready_at)}"
    yield " ".join(sight.ladder)
    if TEXT in job.plan:
        yield f"{plural(sight.texts, 'text')} in {_after(job, asset.searchable_at)}"
    yield from (f"⚠ {words}" for words in damage(asset))
    yield from _warnings(sight)
    yield short_id(asset.id)
    if sight.playlist is not None:
        yield printable(str(sight.playlist))


def _warnings(sight: Sight) -> Iterator[str]:
    for quality in sight.qualities:
        if quality.status is QualityStatus.FAILED:
            yield f"⚠ {quality.quality} failed: {shortened(quality.error or '', 100)}"
    if sight.job.warnings:
        count = plural(sight.job.warnings, "warning")
        yield f"⚠ {count}, see rushes jobs show {short_id(sight.job.id)}"


def _after(job: Job, at: int | None = None) -> str:
    """Return how long a job took, or how long until it reached this milestone, if it did."""
    reached = at if at is not None and at >= job.created_at else job.finished_at
    return lasted((reached or job.updated_at) - job.created_at)


def _failure(job: Job) -> list[str]:
    record = json.loads(job.failure or "{}")
    lines = [f"{record.get('error_code')}: {shortened(record.get('error', ''), 300)}"]
    if record.get("hint"):
        lines.append(f"hint: {shortened(record['hint'], 300)}")
    if record.get("retryable"):
        lines.append(f"try again: rushes jobs retry {short_id(job.id)}")
    return lines


def _kill(job: Job) -> list[str]:
    who = f"{job.killed_by}:{job.killed_by_name}" if job.killed_by_name else job.killed_by
    return [
        f"killed by {printable(str(who))}: {shortened(job.killed_reason or '', 200)}",
        f"go on: rushes jobs retry {short_id(job.id)}",
    ]
