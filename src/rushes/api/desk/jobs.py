"""Jobs: look at them, ask why they wait, try them again, move them in the queue, stop them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from rushes.api import models, views
from rushes.api.desk import feed
from rushes.api.desk.place import place
from rushes.api.desk.sight import look
from rushes.api.desk.work import eta_seconds, works_of
from rushes.api.models import Page
from rushes.api.sight import Sight
from rushes.domain.graph import check_text
from rushes.domain.job import Job, Status
from rushes.domain.person import HERE, Origin, Principal, Scope
from rushes.domain.task import FINAL, Task
from rushes.domain.waiting import Reason
from rushes.engine import operator
from rushes.engine.waiting import why_in
from rushes.errors import Invalid, NotFound
from rushes.library import audit
from rushes.library.library import Library
from rushes.store import assets, jobs, tasks
from rushes.store.database import Transaction
from rushes.store.jobs import Which

HOURS = 12  # how far back failures are counted by the hour


@dataclass(frozen=True, slots=True)
class Jobs:
    library: Library
    who: Principal
    origin: Origin = HERE

    def list(
        self,
        *,
        status: str | None = None,
        kind: str | None = None,
        cursor: str | None = None,
        limit: int = 50,
    ) -> Page[models.Job]:
        """Return jobs, newest first."""
        return self.find(Which(status, kind), cursor=cursor, limit=limit)

    def find(self, which: Which, *, cursor: str | None = None, limit: int = 50) -> Page[models.Job]:
        """Return the jobs that are asked for, newest first."""
        self.who.need(Scope.READ)
        status = which.status
        for name, word in which._asdict().items():
            check_text(word, f"the {name}")
        if status is not None and status not in list(Status):
            raise Invalid(f"{status!r} is not a status", hint=f"one of: {', '.join(Status)}")

        def work(tx: Transaction) -> Page[models.Job]:
            before = place(cursor, partial(jobs.find, tx, owner=self.who.sees))
            page = jobs.list_page(tx, which, before=before, owner=self.who.sees, limit=limit)
            percent = jobs.percent(tx, page)
            items = [views.job(job, percent=percent[job.id]) for job in page]
            return Page(items=items, next_cursor=page[-1].id if len(page) == limit else None)

        return self.library.db.read(work)

    def some(self, ids: Sequence[str]) -> Page[models.Job]:
        """Return these jobs, as far as they are there, with what is done for each now."""
        self.who.need(Scope.READ)

        def work(tx: Transaction) -> Page[models.Job]:
            found = jobs.some(tx, ids, owner=self.who.sees)
            percent, works = jobs.percent(tx, found), works_of(tx, self.library, found)
            items = [
                views.job(job, percent=percent[job.id], work=works.get(job.id)) for job in found
            ]
            return Page(items=items)

        return self.library.db.read(work)

    def counts(self) -> dict[Status, int]:
        """Return how many jobs there are of each status."""
        self.who.need(Scope.READ)
        return self.library.db.read(partial(jobs.counts, owner=self.who.sees))

    def show(self, job_id: str) -> models.JobDetail:
        """Return one job in full."""
        self.who.need(Scope.READ)
        return self.library.db.read(lambda tx: self._detail(tx, self._find(tx, job_id)))

    def get(self, job_id: str) -> models.Job:
        """Return one job with its progress, without its tasks."""
        self.who.need(Scope.READ)
        return self.library.db.read(lambda tx: self._view(tx, self._find(tx, job_id).id))

    def sight(self, job_id: str) -> Sight:
        """Return how far one job is. Its tasks are counted, not read: this is asked often."""
        self.who.need(Scope.READ)
        return self.library.db.read(lambda tx: look(tx, self.library, self._find(tx, job_id)))

    def why(self, job_id: str, *, task: int | None = None) -> Sequence[models.Waiting]:
        """Return why the open tasks of a job wait: one of each sort, and how many like it."""
        self.who.need(Scope.READ)

        def work(tx: Transaction) -> Sequence[models.Waiting]:
            job = self._find(tx, job_id)
            asked = [found for found in tasks.of_job(tx, job.id) if task in (None, found.id)]
            if not asked:
                raise NotFound(f"job {job.id} has no task {task}")
            return [*self._reasons(tx, asked)]

        return self.library.db.read(work)

    def events(self, job_id: str) -> Sequence[models.Event]:
        """Return what has happened to a job so far, in the order in which it did."""
        self.who.need(Scope.READ)

        return self.library.db.read(lambda tx: feed.history(tx, self._find(tx, job_id).id))

    def follow(self, job_id: str) -> Iterator[models.Event]:
        """Yield what happens to a job, from its beginning until it is over."""
        self.who.need(Scope.READ)
        return feed.follow(self.library.db, self.library.db.read(lambda tx: self._find(tx, job_id)))

    def logs(
        self, job_id: str, *, task: int | None = None, last: int = tasks.ALL
    ) -> Sequence[dict[str, Any]]:
        """Return what the stages wrote and the programs they ran, oldest first.

        Of a job, or of one task of it; of each sort only the `last` ones. Where the files of a
        machine are is for its own people only.
        """
        self.who.need(Scope.READ)

        def work(tx: Transaction) -> Sequence[dict[str, Any]]:
            found = self._find(tx, job_id).id
            written = tasks.logs(tx, found, task_id=task, last=last)
            ran = tasks.executions(tx, found, task_id=task, last=last)
            lines = [*map(views.log, written), *map(views.execution, ran)]
            told = lines if self.who.may(Scope.ADMIN) else map(views.without_places, lines)
            return sorted(told, key=lambda line: str(line.get("at") or line.get("started_at")))

        return self.library.db.read(work)

    def kill(self, job_id: str, *, reason: str | None = None) -> models.Job:
        """Stop a job at once. Its running tasks lose their leases; finished ones stay."""
        found = self._mine(job_id)
        note = audit.noting(self.who, "job.kill", self.origin)
        operator.kill(self.library.engine, found, name=self.who.name, reason=reason, note=note)
        return self.library.db.read(lambda tx: self._view(tx, found))

    def retry(self, job_id: str, *, kind: str | None = None, task: int | None = None) -> int:
        """Try a job again, or only its failed tasks of one kind, or one. Returns how many run."""
        found, engine = self._mine(job_id), self.library.engine
        note = audit.noting(self.who, "job.retry", self.origin)
        return operator.requeue(engine, found, kind=kind, task_id=task, by=self.who.name, note=note)

    def retry_quality(self, job_id: str, quality: str) -> models.Added:
        """Make one quality of the film of a job again."""
        from rushes.api.desk.videos import Videos

        found = self._mine(job_id)
        rows = self.library.db.read(lambda tx: tx.rows("version_of_job", job_id=found))
        if not rows:
            raise Invalid(f"job {found} makes no film, so it has no qualities")
        videos = Videos(self.library, self.who, self.origin)
        return videos.retranscode(rows[0]["asset_id"], qualities=(quality,))

    def set_priority(self, job_id: str, priority: int, *, version: int | None = None) -> models.Job:
        """Move a job within the queue. With `version`, only if nobody did meanwhile."""
        found = self._mine(job_id)
        operator.set_priority(self.library.engine, found, priority, version=version)
        return self.library.db.read(lambda tx: self._view(tx, found))

    def failed(self) -> Sequence[models.FailedGroup]:
        """Return the jobs that failed, grouped by error code and step, the largest first."""
        self.who.need(Scope.READ)
        owner = self.who.sees
        groups, counts = self.library.db.read(
            lambda tx: (
                tx.rows("failed_groups", owner=owner),
                tx.rows("failed_hours", owner=owner, hours=HOURS),
            )
        )
        hours: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0] * HOURS)
        for row in counts:
            hours[row["error_code"], row["step"]][HOURS - 1 - row["hours_ago"]] = row["jobs"]
        return [
            models.FailedGroup(**row, hours=hours[row["error_code"], row["step"]]) for row in groups
        ]

    def failed_with(self, error_code: str) -> Sequence[str]:
        """Return the jobs that have a task in error with this code."""
        self.who.need(Scope.READ)
        check_text(error_code, "the error code", 64)
        asked = {"code": error_code, "step": None, "owner": self.who.sees}
        rows = self.library.db.read(lambda tx: tx.rows("failed_with_code", **asked))
        return [str(row["job_id"]) for row in rows]

    def retry_failed(self, error_code: str, step: str | None = None) -> dict[str, int]:
        """Try every job again that failed with this code. Returns {job: tasks}."""
        self.who.need(Scope.WRITE)
        check_text(error_code, "the error code", 64)
        who, note = self.who, audit.noting(self.who, "job.retry", self.origin)
        return operator.requeue_failed(
            self.library.engine, error_code, step=step, owner=who.sees, by=who.name, note=note
        )

    def _mine(self, job_id: str) -> str:
        """Return the id of a job that is to be changed."""
        self.who.need(Scope.WRITE)
        return self.library.db.read(lambda tx: self._find(tx, job_id).id)

    def _find(self, tx: Transaction, text: str) -> Job:
        return jobs.get(tx, jobs.find(tx, text, owner=self.who.sees))

    def _view(self, tx: Transaction, job_id: str) -> models.Job:
        job = jobs.get(tx, job_id)
        percent = jobs.percent(tx, [job])[job_id]
        return views.job(job, percent=percent, tasks=tasks.of_job(tx, job_id))

    def _detail(self, tx: Transaction, job: Job) -> models.JobDetail:
        [clock] = tx.rows("clock")
        found, percent = tasks.of_job(tx, job.id), jobs.percent(tx, [job])[job.id]
        film = next(iter(tx.rows("version_of_job", job_id=job.id)), None)
        cut = next(iter(tx.rows("clip_of_job", job_id=job.id)), None)
        qualities = assets.qualities(tx, film["asset_id"], film["n"]) if film else []
        return models.JobDetail(
            **views.job_fields(job, percent=percent, tasks=found),
            asset_id=film["asset_id"] if film else None,
            clip_id=cut["id"] if cut else None,
            steps=views.steps(job, ((task.step, task.state, 1) for task in found)),
            plan=views.plan(job),
            eta_seconds=eta_seconds(job, percent, clock["now"]),
            waiting=self._headline(tx, found),
            tasks=[views.task(task, now=clock["now"]) for task in found],
            attempts=[views.attempt(row) for row in tasks.attempts(tx, job.id)],
            qualities=[views.quality(quality) for quality in qualities],
        )

    def _headline(self, tx: Transaction, found: Sequence[Task]) -> models.Waiting | None:
        """Return why nothing of a job runs: the first reason that is not another task of it."""
        answers = (one for one in self._reasons(tx, found) if one.reason is not None)
        return next((one for one in answers if one.reason != Reason.DEPENDENCY), None)

    def _reasons(self, tx: Transaction, found: Sequence[Task]) -> Iterator[models.Waiting]:
        """Yield why open tasks wait.

        Tasks of one step that differ in nothing but their number wait for the same reason, and
        asking for ten thousand of them would take longer than anybody waits for an answer.
        """
        [clock] = tx.rows("clock")
        sorts: dict[tuple[object, ...], list[Task]] = {}
        for task in found:
            if task.state not in FINAL:
                expired = (task.lease_expires_at or clock["now"]) < clock["now"]
                sort = (task.step, task.state, task.open_parents > 0, bool(task.failure), expired)
                sorts.setdefault(sort, []).append(task)
        for alike in sorts.values():
            reason = why_in(tx, self.library.engine, alike[0])
            yield views.waiting(alike[0], reason, count=len(alike))
