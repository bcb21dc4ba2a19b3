"""Work without films: jobs made of the demo's stages, and workers whose hands are the test's.

The demo has a lane of its own, so the workers of the server leave these tasks alone.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from rushes import __version__
from rushes.app import App
from rushes.domain.failure import failure
from rushes.domain.graph import JobRequest, Step, Steps
from rushes.domain.outcome import Beat, Done, Failed
from rushes.domain.task import Claim
from rushes.domain.worker import Usage
from rushes.engine.claim import claim
from rushes.engine.complete import extend, report
from rushes.engine.presence import Introduction, present, register
from rushes.engine.submit import submit, submit_many
from rushes.store import workers
from tests.e2e.place import Place

LANE, KIND = "demo", "demo.shard"
USAGE = Usage(38, 41)


def step(after: tuple[str, ...] = (), *, parts: int = 1, weight: int = 1) -> Step:
    """One step that nobody needs a film for."""
    items = [{"number": number} for number in range(parts)]
    return Step(kind=KIND, after=after, items=items, weight=weight)


def film(chunks: int) -> Steps:
    """Steps in the form of a film."""
    return {
        "probe": step(),
        "transcode": step(("probe",), parts=chunks, weight=60),
        "playlist": step(("probe", "audio", "transcode")),
        "finalize": step(("playlist", "thumbnail")),
        "thumbnail": step(("probe",)),
        "audio": step(("probe",), parts=2, weight=5),
        "sample": step(("probe",), parts=3, weight=10),
        "ocr": step(("sample",), parts=13, weight=30),
        "index": step(("ocr",)),
    }


@dataclass
class Crew:
    app: App
    held: dict[int, tuple[str, Claim]] = field(default_factory=dict)
    owners: list[str] = field(default_factory=list)

    def job(self, label: str, steps: Steps | None = None, *, priority: int = 5) -> str:
        wanted = JobRequest(
            kind="demo", label=label, steps=steps or {"work": step()}, priority=priority
        )
        return submit(self.app.engine, wanted).job_id

    def jobs(self, labels: Sequence[str]) -> list[str]:
        wanted = [JobRequest(kind="demo", label=one, steps={"work": step()}) for one in labels]
        return [one.job_id for one in submit_many(self.app.engine, wanted)]

    def worker(
        self,
        name: str,
        slots: int = 4,
        *,
        has: Sequence[str] = (),
        version: str = __version__,
        also: Mapping[str, int] | None = None,
    ) -> str:
        """Let a worker come; `also` are slots in the lanes of films. Returns its owner string."""
        told = Introduction(
            name=name,
            lanes={LANE: slots, **(also or {})},
            kinds=frozenset(self.app.stages) if also else frozenset({KIND}),
            capabilities=frozenset(has),
            version=version,
        )
        self.owners.append(register(self.app.engine, told))
        return self.owners[-1]

    def beat(self) -> None:
        """Let every worker say that it is there."""
        for owner in self.owners:
            present(self.app.engine, owner, USAGE)

    def id_of(self, name: str) -> str:
        return self.app.db.read(lambda tx: workers.find(tx, name)).id

    def take(self, owner: str, n: int = 1, lane: str = LANE) -> list[Claim]:
        """Let a worker claim up to `n` tasks."""
        taken = claim(self.app.engine, owner, {lane: n})
        self.held |= {one.id: (owner, one) for one in taken}
        return taken

    def move(self, task: Claim, progress: int, message: str | None = None) -> None:
        owner, held = self.held[task.id]
        beat = Beat(id=held.id, epoch=held.epoch, moved=True, progress=progress, message=message)
        assert not extend(self.app.engine, owner, [beat])

    def finish(self, tasks: Sequence[Claim], **found: object) -> None:
        """Let tasks be done; `found` is what later steps are made of."""
        for task in tasks:
            owner, held = self.held.pop(task.id)
            result = json.dumps({"number": 0, "digest": "", **found})
            assert not report(self.app.engine, owner, [Done(held.id, held.epoch, result)])

    def fail(self, task: Claim, code: str, message: str, *, retryable: bool = False) -> None:
        owner, held = self.held.pop(task.id)
        record = failure(code, message, error_type="Damage", retryable=retryable)
        report(self.app.engine, owner, [Failed(held.id, held.epoch, record)])


@contextmanager
def crew_at(place: Place) -> Iterator[Crew]:
    """Workers that are never late: a slow machine must not take their tasks away."""
    patient = Place(place.root, {**place.settings, "RUSHES_LEASE": "3600"})
    with patient.app() as app:
        yield Crew(app)
