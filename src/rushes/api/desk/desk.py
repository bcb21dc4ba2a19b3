"""One person at the desk: everything that they may read and do, as methods that return models.

The routers of the API call it for whoever sends the request, the command line for the person at
this machine. What belongs to somebody else is not there.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from rushes.api.desk.clips import Clips
from rushes.api.desk.jobs import Jobs
from rushes.api.desk.people import Keys, Users
from rushes.api.desk.queue import Queue
from rushes.api.desk.search import Search
from rushes.api.desk.subtitles import Subtitles
from rushes.api.desk.videos import Videos
from rushes.api.desk.workers import Workers
from rushes.domain.person import HERE, LOCAL, Origin, Principal
from rushes.library.library import Library


@dataclass(frozen=True)
class Desk:
    library: Library
    who: Principal = LOCAL
    origin: Origin = HERE

    @cached_property
    def jobs(self) -> Jobs:
        return Jobs(self.library, self.who, self.origin)

    @cached_property
    def videos(self) -> Videos:
        return Videos(self.library, self.who, self.origin)

    @cached_property
    def clips(self) -> Clips:
        return Clips(self.library, self.who, self.origin)

    @cached_property
    def workers(self) -> Workers:
        return Workers(self.library, self.who, self.origin)

    @cached_property
    def queue(self) -> Queue:
        return Queue(self.library, self.who, self.origin)

    @cached_property
    def search(self) -> Search:
        return Search(self.library, self.who)

    @cached_property
    def subtitles(self) -> Subtitles:
        return Subtitles(self.library, self.who)

    @cached_property
    def users(self) -> Users:
        return Users(self.library, self.who, self.origin)

    @cached_property
    def keys(self) -> Keys:
        return Keys(self.library, self.who, self.origin)
