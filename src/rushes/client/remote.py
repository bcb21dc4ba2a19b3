"""The desk of a server: the same questions as at this machine's own, asked over HTTP."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, Unpack

from pydantic import BaseModel, RootModel

from rushes.api import models, tokens
from rushes.api.desk.wishes import Told, Wishes
from rushes.api.models import Page
from rushes.api.sight import Sight, sight
from rushes.client import stream, tus
from rushes.client.job import Job
from rushes.domain.graph import NORMAL
from rushes.domain.job import FINISHED, Status
from rushes.errors import NotFound
from rushes.store.jobs import HEX, SHORTEST
from rushes.wire.http import Http, segment

LARGEST_PAGE = 200

T = TypeVar("T", bound=models.Model)


class Retried(models.Model):
    job_id: str
    tasks: int


class Texts(models.Model):
    items: list[dict[str, Any]]


class Anything(BaseModel):
    """An answer that need not be read."""


@dataclass(frozen=True, slots=True)
class Jobs:
    http: Http

    def list(
        self,
        *,
        status: str | None = None,
        kind: str | None = None,
        cursor: str | None = None,
        limit: int = 50,
    ) -> Page[models.Job]:
        asked = {"status": status, "kind": kind}
        return pages(self.http, "/jobs", models.Job, cursor, limit, asked)

    def counts(self) -> Mapping[Status, int]:
        return self.http.get("/jobs/counts", RootModel[dict[Status, int]]).root

    def show(self, job_id: str) -> models.JobDetail:
        return self.http.get(_job(job_id), models.JobDetail)

    def get(self, job_id: str) -> models.Job:
        return self.http.get(_job(job_id), models.Job)

    def sight(self, job_id: str) -> Sight:
        job = self.show(job_id)
        if job.status is Status.QUEUED:
            return sight(job, {step: {} for step in job.steps})
        if job.asset_id is None:
            return sight(job, job.steps)
        video = self.http.get(video_path(job.asset_id), models.VideoDetail)
        playlist = f"{self.http.server}/api/videos/{video.asset_id}/master.m3u8"
        return sight(
            job,
            job.steps,
            video,
            playlist=playlist if video.playable_at else None,
            qualities=job.qualities,
            texts=video.texts if job.status in FINISHED else 0,
        )

    def why(self, job_id: str, *, task: int | None = None) -> Sequence[models.Waiting]:
        found = self.http.get(_job(job_id, "/why"), Page[models.Waiting]).items
        return found if task is None else self._why_one(job_id, task, found)

    def events(self, job_id: str) -> Sequence[models.Event]:
        return self.http.get(_job(job_id, "/events"), Page[models.Event]).items

    def follow(self, job_id: str) -> Iterator[models.Event]:
        return stream.follow(self.http, self, self.get(job_id).job_id)

    def logs(self, job_id: str) -> Sequence[dict[str, Any]]:
        return self.http.get(_job(job_id, "/logs"), Page[dict[str, Any]]).items

    def kill(self, job_id: str, *, reason: str | None = None) -> models.Job:
        found = self.get(job_id).job_id
        self.http.post(_job(found, "/kill"), {"reason": reason}, Anything)
        return self.get(found)

    def retry(self, job_id: str, *, kind: str | None = None, task: int | None = None) -> int:
        body = {"step": kind, "task_id": task}
        return self.http.post(_job(job_id, "/retry"), body, Retried).tasks

    def retry_quality(self, job_id: str, quality: str) -> models.Added:
        made = self.http.post(_job(job_id, "/retry"), {"quality": quality}, Retried)
        asset_id = self.show(made.job_id).asset_id
        return models.Added(asset_id=asset_id or "", job_id=made.job_id)

    def set_priority(self, job_id: str, priority: int, *, version: int | None = None) -> models.Job:
        found = self.get(job_id).job_id
        options = {"json": {"priority": priority}, "headers": _if_match(version)}
        self.http.change("PATCH", _job(found), Anything, **options)
        return self.get(found)

    def failed(self) -> Sequence[models.FailedGroup]:
        return self.http.get("/failed/groups", Page[models.FailedGroup]).items

    def failed_with(self, error_code: str) -> Sequence[str]:
        """Return the jobs that failed with this code, oldest first."""
        found: list[str] = []
        cursor: str | None = None
        while True:
            page = self.list(status=Status.FAILED, cursor=cursor, limit=LARGEST_PAGE)
            found += [job.job_id for job in page.items if job.error_code == error_code]
            cursor = page.next_cursor
            if cursor is None:
                return found[::-1]

    def retry_failed(self, error_code: str, step: str | None = None) -> Mapping[str, int]:
        body = {"error_code": error_code, "step": step}
        tried = self.http.post("/failed/groups/retry", body, Page[Retried]).items
        return {one.job_id: one.tasks for one in tried}

    def _why_one(
        self, job_id: str, task: int, found: Sequence[models.Waiting]
    ) -> Sequence[models.Waiting]:
        """Return the reason of one task: that of those which are like it."""
        job = self.show(job_id)
        asked = next((one for one in job.tasks if one.task_id == task), None)
        if asked is None:
            raise NotFound(f"job {job.job_id} has no task {task}")
        own = {"task_id": task, "item": asked.item, "count": 1}
        alike = (one for one in found if (one.step, one.state) == (asked.step, asked.state))
        return [one.model_copy(update=own) for one in alike][:1]


@dataclass(frozen=True, slots=True)
class Videos:
    http: Http

    def list(
        self,
        *,
        status: str | None = None,
        tag: str | None = None,
        deleted: bool = False,
        cursor: str | None = None,
        limit: int = 50,
    ) -> Page[models.Video]:
        asked = {"status": status, "tag": tag, "deleted": deleted}
        return pages(self.http, "/videos", models.Video, cursor, limit, asked)

    def show(self, video_id: str) -> models.VideoDetail:
        return self.http.get(video_path(video_id), models.VideoDetail)

    def get(self, video_id: str) -> models.Video:
        return self.http.get(video_path(video_id), models.Video)

    def add(
        self, path: Path | str, *, progress: Told | None = None, **wishes: Unpack[Wishes]
    ) -> Job:
        """Send a film; after a cut it goes on where it was."""
        return Job.of(tus.send(self.http, Path(path), wishes, progress), Jobs(self.http))

    def edit(
        self,
        video_id: str,
        *,
        title: str | None = None,
        tags: Sequence[str] | None = None,
        revision: int | None = None,
    ) -> models.Video:
        body = {"title": title, "tags": None if tags is None else [*tags]}
        options = {"json": body, "headers": _if_match(revision)}
        return self.http.change("PATCH", video_path(video_id), models.Video, **options)

    def delete(self, video_id: str) -> models.Deleted:
        return self.http.change("DELETE", video_path(video_id), models.Deleted)

    def restore(self, video_id: str) -> models.Video:
        return self.http.post(video_path(video_id, "/restore"), None, models.Video)

    def retranscode(
        self,
        video_id: str,
        *,
        qualities: tuple[str, ...] | None = None,
        missing_only: bool = False,
        text: bool = False,
        priority: int = NORMAL,
    ) -> models.Added:
        body = {
            "qualities": qualities,
            "missing_only": missing_only,
            "delete_transcription": text,
            "priority": priority,
        }
        return self.http.post(video_path(video_id, "/retranscode"), body, models.Added)

    def text(self, video_id: str) -> Sequence[dict[str, Any]]:
        found = self.http.get(video_path(video_id, "/text"), Texts).items
        return [{**one, **one.get("box", {})} for one in found]

    def files(self, video_id: str) -> Sequence[models.File]:
        return self.http.get(video_path(video_id, "/files"), Page[models.File]).items


@dataclass(frozen=True, slots=True)
class Workers:
    http: Http

    def list(self) -> Page[models.Worker]:
        return self.http.get("/workers", Page[models.Worker])

    def show(self, text: str) -> models.Worker:
        return self.http.get(f"/workers/{segment(text, 'worker')}", models.Worker)

    def drain(self, text: str) -> models.Worker:
        return self._change(text, "drain")

    def disable(self, text: str) -> models.Worker:
        return self._change(text, "disable")

    def resume(self, text: str) -> models.Worker:
        return self._change(text, "resume")

    def invite(self, *, kinds: Sequence[str] = (), expires_in: int = 900) -> tokens.JoinToken:
        body = {"kinds": list(kinds), "expires_in": expires_in}
        return self.http.post("/workers/tokens", body, tokens.JoinToken)

    def keys(self, text: str) -> Page[tokens.WorkerKey]:
        return self.http.get(f"{self._path(text)}/keys", Page[tokens.WorkerKey])

    def add_key(self, text: str, *, kinds: Sequence[str] = ()) -> tokens.NewWorkerKey:
        body = {"kinds": list(kinds)}
        return self.http.post(f"{self._path(text)}/keys", body, tokens.NewWorkerKey)

    def revoke_key(self, text: str, key_id: str | None = None) -> tokens.Revoked:
        one = "" if key_id is None else f"/{segment(key_id, 'key')}"
        return self.http.change("DELETE", f"{self._path(text)}/keys{one}", tokens.Revoked)

    def _path(self, text: str) -> str:
        return f"/workers/{segment(text, 'worker')}"

    def _change(self, text: str, state: str) -> models.Worker:
        path = f"/workers/{segment(text, 'worker')}"
        return self.http.change("PATCH", path, models.Worker, json={"state": state})


@dataclass(frozen=True, slots=True)
class Queue:
    http: Http

    def list(self) -> Page[models.Kind]:
        return self.http.get("/queues", Page[models.Kind])

    def pause(self, kind: str, *, reason: str | None = None) -> models.Kind:
        return self._change(kind, {"paused": True, "reason": reason})

    def resume(self, kind: str) -> models.Kind:
        return self._change(kind, {"paused": False})

    def _change(self, kind: str, body: dict[str, object]) -> models.Kind:
        path = f"/queues/{segment(kind, 'kind')}"
        return self.http.change("PATCH", path, models.Kind, json=body)


def pages(
    http: Http,
    path: str,
    model: type[T],
    cursor: str | None,
    limit: int,
    asked: Mapping[str, object],
) -> Page[T]:
    """Return as many as were asked for: a server gives less at a time."""
    items: list[T] = []
    while True:
        n = min(LARGEST_PAGE, limit - len(items))
        page = http.get(path, Page[model], cursor=cursor, limit=n, **asked)  # type: ignore[valid-type]
        items += page.items
        cursor = page.next_cursor
        if cursor is None or len(items) >= limit:
            return Page(items=items, next_cursor=cursor)


def _job(text: str, below: str = "") -> str:
    return f"/jobs/{checked_id(text, 'job', 'jobs list')}{below}"


def video_path(text: str, below: str = "") -> str:
    return f"/videos/{checked_id(text, 'video', 'list')}{below}"


def checked_id(text: str, what: str, command: str) -> str:
    """Return an id as part of a path: what is none could be another address there."""
    if text != "@last" and (len(text) < SHORTEST or not set(text) <= HEX):
        raise NotFound(f"{text!r} is not the id of a {what}", hint=f"rushes {command} shows them")
    return text


def _if_match(version: int | None) -> dict[str, str]:
    return {} if version is None else {"If-Match": f'"{version}"'}
