"""What the demo tells after the fact: for people, and as JSON."""

from __future__ import annotations

import json
import shlex
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rushes.cli.doctor import report_view
from rushes.cli.output import lasted, printable, shortened, styled, table
from rushes.cli.reading import Reading, read_job
from rushes.domain.artifact import name_of
from rushes.domain.asset import Asset
from rushes.domain.job import Status
from rushes.domain.room import amount
from rushes.domain.task import SkipReason, State, Task
from rushes.engine.doctor import Report, examine, wait_for_quiet
from rushes.library import demo_check, playback
from rushes.library.demo_check import Made
from rushes.library.playback import View
from rushes.library.projections import SOURCE
from rushes.media.ladder import rungs
from rushes.media.playlist import average_bps, peak_bps
from rushes.media.rendition import MASTER
from rushes.store import assets

if TYPE_CHECKING:
    from rushes.app import App
    from rushes.library.upload import Added
    from rushes.store.database import Transaction

QUIET = timedelta(seconds=10)
ENTITY = ("kind", "value", "normalized")
TEXT = ("start_ms", "end_ms", "text", "language", "confidence")


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """What happened. `checks` says of each claim what is not true about it."""

    tools: dict[str, str]
    asset: Asset
    ladder: list[dict[str, Any]]
    texts: list[dict[str, Any]]
    checks: dict[str, list[str]]
    report: Report
    took_ms: int

    @property
    def is_true(self) -> bool:
        return not any(self.checks.values())

    @property
    def after_ms(self) -> dict[str, int | None]:
        """How long after its arrival the film was so far."""
        asset = self.asset
        times = {
            "playable": asset.playable_at,
            "ready": asset.ready_at,
            "searchable": asset.searchable_at,
        }
        return {word: at and at - asset.created_at for word, at in times.items()}


def tell(
    rushes: App,
    added: Added,
    *,
    tools: dict[str, str],
    began: float,
    claims: Mapping[str, list[str]] | None = None,
) -> Story:
    """Look at everything that was made. `began` is when, by the clock of this process.

    `claims` are further ones, with what is not true about each.
    """
    quiet = wait_for_quiet(rushes.engine, QUIET)
    report = examine(rushes.engine, strict=True)
    job = read_job(rushes, added.job_id)
    asset = rushes.db.read(lambda tx: assets.get(tx, added.asset_id))
    texts = rushes.db.read(lambda tx: assets.texts(tx, asset.id))
    made = made_of(rushes, asset.id)
    checks = {
        "the job is completed, without a warning": _unhappy(job),
        **demo_check.judge(made, texts),
        **(claims or {}),
        "doctor --strict finds nothing": [
            *([] if quiet else ["work still goes on"]),
            *(f"{finding.text}: {', '.join(finding.ids)}" for finding in report.violations),
        ],
    }
    return Story(
        tools=tools,
        asset=asset,
        ladder=_ladder(made.seen) if made else [],
        texts=texts,
        checks=checks,
        report=report,
        took_ms=int((time.monotonic() - began) * 1000),
    )


def made_of(rushes: App, asset_id: str) -> Made | None:
    """Return the files of a film and what they ought to be; None before anything was planned."""

    def work(tx: Transaction) -> Made | None:
        asset = assets.get(tx, asset_id)
        seen = playback.view(tx, asset_id, asset.newest)
        if seen is None or asset.source is None:
            return None
        folder = rushes.library.storage.root / name_of(asset_id, asset.newest, "")
        return Made(folder=folder, seen=seen, rungs=rungs(SOURCE.validate_json(asset.source)))

    return rushes.db.read(work)


def why(task: Task) -> str | None:
    """Return why a task did not end well."""
    if task.state is State.ERROR:
        failure = json.loads(task.failure or "{}")
        return shortened(f"{failure.get('error_code')}: {failure.get('error')}", 200)
    failed = task.skip_reason == SkipReason.UPSTREAM_FAILED
    return "left out: what it needs is not there" if failed else None


def view(story: Story, folder: Path | None) -> dict[str, object]:
    """Return everything as one object; `folder` if it is kept."""
    return {
        "ok": story.is_true,
        "took_ms": story.took_ms,
        "after_ms": story.after_ms,
        "tools": story.tools,
        "asset_id": story.asset.id,
        "job_id": story.asset.job_id,
        "duration_ms": story.asset.duration_ms,
        "ladder": story.ladder,
        "texts": [
            {
                **{name: text[name] for name in TEXT},
                "entities": [{name: found[name] for name in ENTITY} for found in text["entities"]],
            }
            for text in story.texts
        ],
        "checks": [
            {"claim": claim, "ok": not problems, "problems": problems}
            for claim, problems in story.checks.items()
        ],
        "doctor": report_view(story.report),
        "folder": str(folder) if folder else None,
    }


def lines(story: Story, folder: Path | None) -> Iterator[str]:
    """Return the ladder, the texts, what is in them, and what is true."""
    yield from ("", *_ladder_lines(story))
    yield from ("", *_text_lines(story))
    yield from ("", *_entity_lines(story), "")
    for claim, problems in story.checks.items():
        yield f"{styled('✘', 'red') if problems else styled('✔', 'green')} {claim}"
        yield from (f"    {printable(problem)}" for problem in problems)
    if folder is not None:
        root, film = shlex.quote(str(folder)), f"{folder}/assets/{story.asset.id}"
        yield from ("", f"watch   {film}/{MASTER}", f"look    rushes --data {root} show @last")
    after = [f"{word} after {lasted(ms)}" for word, ms in story.after_ms.items() if ms is not None]
    yield from ("", " · ".join((*after, f"all checked after {lasted(story.took_ms)}")))
    if not story.is_true:
        yield styled("not all of it is true", "red")


def _ladder_lines(story: Story) -> list[str]:
    rows = [
        (
            made["name"],
            f"{made['width']}x{made['height']}" if made["height"] else None,
            f"{made['average_bps'] // 1000} kbit/s",
            made["segments"],
            amount(made["bytes"]),
        )
        for made in story.ladder
    ]
    return table(("quality", "size", "bit rate", "segments", "bytes"), rows, indent="  ")


def _text_lines(story: Story) -> list[str]:
    rows = [
        (
            f"{text['start_ms'] / 1000:.1f}",
            f"{text['end_ms'] / 1000:.1f} s",
            text["language"],
            shortened(text["text"], 60),
        )
        for text in story.texts
    ]
    return table(("from", "to", "language", "text"), rows, indent="  ")


def _entity_lines(story: Story) -> list[str]:
    found: dict[str, list[str]] = {}
    for text in story.texts:
        for entity in text["entities"]:
            found.setdefault(entity["kind"], []).append(printable(entity["normalized"]))
    rows = [(kind, "  ".join(values)) for kind, values in found.items()]
    return table(("kind", "found"), rows, indent="  ")


def _unhappy(job: Reading) -> list[str]:
    problems = [f"{task.step}: {reason}" for task in job.tasks if (reason := why(task))]
    if job.job.status is not Status.COMPLETED:
        problems.append(f"the job is {job.job.status}")
    return problems


def _ladder(seen: View) -> list[dict[str, Any]]:
    """Return the qualities with their sizes and measured bit rates; the sound has no size."""
    return [
        {
            "name": made.name,
            "width": made.width,
            "height": made.height,
            "average_bps": average_bps(made.segments),
            "peak_bps": peak_bps(made.segments, seen.grid.target_s),
            "segments": len(made.segments),
            "bytes": sum(segment.size_bytes for segment in made.segments),
        }
        for made in seen.renditions
    ]
