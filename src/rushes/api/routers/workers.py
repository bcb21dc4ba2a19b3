"""`/api/workers`: who is there; drain, disable and resume them."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter
from pydantic import Field

from rushes.api import models, tokens
from rushes.api.context import AtDesk
from rushes.api.idempotency import Once
from rushes.api.routers.jobs import Body

router = APIRouter(tags=["workers"])


class Kinds(Body):
    """What a worker may do; none given: everything."""

    kinds: Annotated[list[Annotated[str, Field(max_length=100)]], Field(max_length=100)] = Field(
        default=[], max_length=100
    )


class Invitation(Kinds):
    expires_in: Annotated[int, Field(ge=60, le=604_800)] = 900


class Change(Body):
    state: Literal["drain", "disable", "resume"]


@router.get("/workers/", include_in_schema=False)
@router.get("/workers")
def list_workers(desk: AtDesk) -> models.Page[models.Worker]:
    """List workers by name."""
    return desk.workers.list()


@router.post("/workers/tokens", status_code=201)
def invite(desk: AtDesk, once: Once, body: Invitation | None = None) -> tokens.JoinToken:
    """Make a token with which one machine may join: rushes worker join URL --token TOKEN."""
    wanted = body or Invitation()

    def work() -> tokens.JoinToken:
        return desk.workers.invite(kinds=wanted.kinds, expires_in=wanted.expires_in)

    return once(work, secret=frozenset({"token"}))


@router.get("/workers/{worker_id}/keys")
def list_keys(desk: AtDesk, worker_id: str) -> models.Page[tokens.WorkerKey]:
    """List the keys of a worker that are good."""
    return desk.workers.keys(worker_id)


@router.post("/workers/{worker_id}/keys", status_code=201)
def add_key(
    desk: AtDesk, worker_id: str, once: Once, body: Kinds | None = None
) -> tokens.NewWorkerKey:
    """Give a worker another key. It is shown this once."""
    wanted = body or Kinds()
    return once(
        lambda: desk.workers.add_key(worker_id, kinds=wanted.kinds), secret=frozenset({"api_key"})
    )


@router.delete("/workers/{worker_id}/keys")
def revoke_keys(desk: AtDesk, worker_id: str) -> tokens.Revoked:
    """End all keys of a worker at once."""
    return desk.workers.revoke_key(worker_id)


@router.delete("/workers/{worker_id}/keys/{key_id}")
def revoke_key(desk: AtDesk, worker_id: str, key_id: str) -> tokens.Revoked:
    """End one key of a worker at once."""
    return desk.workers.revoke_key(worker_id, key_id)


@router.get("/workers/{worker_id}")
def show_worker(desk: AtDesk, worker_id: str) -> models.Worker:
    return desk.workers.show(worker_id)


@router.patch("/workers/{worker_id}")
def change_worker(desk: AtDesk, worker_id: str, body: Change) -> models.Worker:
    """Let a worker finish and take nothing new, keep it from working, or let it work again."""
    match body.state:
        case "drain":
            return desk.workers.drain(worker_id)
        case "disable":
            return desk.workers.disable(worker_id)
        case "resume":
            return desk.workers.resume(worker_id)
