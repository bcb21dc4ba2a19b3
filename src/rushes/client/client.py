"""`Client`: a server, or the library of this machine, through the same door."""

from __future__ import annotations

from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Self, Unpack

from rushes.api import models
from rushes.api.desk import clips as desk_clips
from rushes.api.desk import jobs as desk_jobs
from rushes.api.desk import people as desk_people
from rushes.api.desk import queue as desk_queue
from rushes.api.desk import search as desk_search
from rushes.api.desk import subtitles as desk_subtitles
from rushes.api.desk import videos as desk_videos
from rushes.api.desk import workers as desk_workers
from rushes.api.desk.wishes import Told, Wishes
from rushes.client.job import Job
from rushes.domain.person import LOCAL, Principal, Scope

if TYPE_CHECKING:
    from rushes.app import App
    from rushes.client.protocol import (
        Clips,
        Jobs,
        Keys,
        Queue,
        Search,
        Subtitles,
        Users,
        Videos,
        Workers,
    )
    from rushes.library.library import Library
    from rushes.wire.http import Http


class Me(models.Model):
    """Who asks, and what they may do."""

    name: str
    scopes: list[Scope]


class Client:
    """Everything that one may read and do.

    Without an address: the library of this machine, `data` or the default data folder. Films that
    are added there wait until somebody works: `rushes up`, or `rushes worker run`.
    """

    jobs: Jobs
    videos: Videos
    clips: Clips
    workers: Workers
    queue: Queue
    search: Search
    subtitles: Subtitles
    users: Users
    keys: Keys

    def __init__(
        self, server: str | None = None, *, key: str | None = None, data: Path | str | None = None
    ) -> None:
        self._open = ExitStack()
        if server is None:
            self._sit_down(self._open.enter_context(_opened(data)).library, LOCAL)
        else:
            self._call(server, key)

    @classmethod
    def at(cls, library: Library, who: Principal = LOCAL) -> Self:
        """Return the client of a library that somebody has open, and closes."""
        client = cls.__new__(cls)
        client._open = ExitStack()
        client._sit_down(library, who)
        return client

    def job(self, job_id: str) -> Job:
        """Return a job to wait for."""
        found = self.jobs.show(job_id)
        added = models.Added(asset_id=found.asset_id or "", job_id=found.job_id, created=False)
        return Job.of(added, self.jobs)

    def me(self) -> Me:
        """Return who this is to the other side."""
        if self._http is None:
            return Me(name=self._who.name, scopes=sorted(self._who.scopes))
        return self._http.get("/me", Me)

    def close(self) -> None:
        self._open.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _sit_down(self, library: Library, who: Principal) -> None:
        self._http: Http | None = None
        self._who = who
        self.jobs = desk_jobs.Jobs(library, who)
        self.videos = _Videos(library, who)
        self.clips = desk_clips.Clips(library, who)
        self.workers = desk_workers.Workers(library, who)
        self.queue = desk_queue.Queue(library, who)
        self.search = desk_search.Search(library, who)
        self.subtitles = desk_subtitles.Subtitles(library, who)
        self.users = desk_people.Users(library, who)
        self.keys = desk_people.Keys(library, who)

    def _call(self, server: str, key: str | None) -> None:
        from rushes.client import clips, far_search, people, remote
        from rushes.wire.http import Http

        self._http = http = Http(server, key)
        self._open.callback(http.close)
        self.jobs = remote.Jobs(http)
        self.videos = remote.Videos(http)
        self.clips = clips.Clips(http)
        self.workers = remote.Workers(http)
        self.queue = remote.Queue(http)
        self.search = far_search.Search(http)
        self.subtitles = far_search.Subtitles(http)
        self.users = people.Users(http)
        self.keys = people.Keys(http)


class _Videos(desk_videos.Videos):
    """The desk's, with a job to wait for."""

    def add(
        self, path: Path | str, *, progress: Told | None = None, **wishes: Unpack[Wishes]
    ) -> Job:
        added = super().add(path, progress=progress, **wishes)
        return Job.of(added, desk_jobs.Jobs(self.library, self.who))


def _opened(data: Path | str | None) -> AbstractContextManager[App]:
    """Open the library of this machine."""
    from rushes.app import open_app
    from rushes.settings import load

    return open_app(load() if data is None else load(data=Path(data)))
