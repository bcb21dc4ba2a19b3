"""`/api/queues`: how much waits of each kind of task; pause and resume kinds."""

from __future__ import annotations

from fastapi import APIRouter

from rushes.api import models
from rushes.api.context import AtDesk
from rushes.api.routers.jobs import Body, Reason

router = APIRouter(tags=["queues"])


class Change(Body):
    paused: bool
    reason: Reason = None


@router.get("/queues/", include_in_schema=False)
@router.get("/queues")
def list_kinds(desk: AtDesk) -> models.Page[models.Kind]:
    """List the kinds of tasks with their open work."""
    return desk.queue.list()


@router.patch("/queues/{kind}")
def change_kind(desk: AtDesk, kind: str, body: Change) -> models.Kind:
    """Claim no more tasks of a kind, or claim them again."""
    if body.paused:
        return desk.queue.pause(kind, reason=body.reason)
    return desk.queue.resume(kind)
