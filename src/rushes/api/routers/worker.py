"""`/api/worker/*`: what a worker on another machine needs, and nothing more.

Every call carries the key of the worker, and the task and lease epoch that it is about. Each may be
sent again after its answer was lost.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Hashable, Mapping
from functools import partial
from typing import Annotated, Any

from anyio import to_thread
from fastapi import APIRouter, Header, Request, Response

from rushes import __version__
from rushes.api.caller import AtWork, Caller, caller_of
from rushes.api.context import Context, From, Here, guarded
from rushes.domain.graph import MAX_SPEC_BYTES, check_json
from rushes.domain.outcome import Exchange, Outcome
from rushes.domain.person import Origin
from rushes.domain.room import ROOM, Room
from rushes.domain.worker import Mode, Usage
from rushes.engine import complete, presence
from rushes.engine.presence import MAX_JSON_BYTES
from rushes.errors import Conflict, Forbidden, LeaseLost, Unauthenticated
from rushes.library import deliveries, fleet
from rushes.library.deliveries import Held
from rushes.library.fleet import Applicant
from rushes.worker import protocol
from rushes.worker.protocol import (
    About,
    Accepted,
    Alive,
    Answer,
    Ask,
    Complete,
    Ended,
    Fail,
    Introduction,
    Leave,
    Orders,
    Progress,
    Record,
    Results,
    Welcome,
)

router = APIRouter(prefix="/worker", tags=["worker"])


class Replaced(Conflict):
    """Another process works under this worker's name, or it was deleted."""

    code = "WORKER_REPLACED"


class TooOld(Conflict):
    code = "WORKER_TOO_OLD"


@router.post("/register", status_code=201)
def register(
    here: Here,
    request: Request,
    origin: From,
    body: Introduction,
    x_admin_secret: Annotated[str | None, Header()] = None,
) -> Welcome:
    """Register a machine, with a token or the admin secret; or, with a worker's key, start it."""
    _check_protocol(body)
    given = request.headers.get("authorization", "").partition(" ")[2].strip()
    if x_admin_secret is not None or fleet.TOKEN.fullmatch(given):
        here.newcomers.check(origin.address)
        made = guarded(request, partial(_register, here, given, x_admin_secret, body, origin))
        here.newcomers.count(origin.address)
        return made
    return _start(caller_of(request), body)


@router.post("/claim")
async def claim(body: Ask, caller: AtWork) -> Answer:
    """Report what is finished and claim more; with `wait`, the answer comes when there is work."""
    here, engine = caller.here, caller.library.engine
    owner = await to_thread.run_sync(caller.owner, body.owner)
    wanted = {lane: n for lane, n in body.want.items() if n > 0}

    here.hall.dismiss(owner)  # a worker waits once

    def attempt(outcomes: list[Outcome]) -> tuple[Hashable, Exchange | None]:
        offers, is_active = _standing(here, owner)
        done = complete.exchange(engine, owner, outcomes, wanted)
        is_over = done.claims or outcomes or not wanted or not is_active
        return (frozenset(wanted), offers), done if is_over else None

    def begin() -> tuple[Hashable, Exchange | None]:
        if body.held is not None:
            complete.hand_back_strays(engine, owner, body.held)
        told = [one.value() for one in body.outcomes]
        return attempt([deliveries.checked(here.library, owner, one) for one in told])

    _, done = await to_thread.run_sync(begin)
    if done is None and body.wait > 0:
        done = await here.hall.wait(owner, partial(to_thread.run_sync, attempt, []), body.wait)
    if done is None:
        return Answer()
    tasks = [protocol.Given.of(claim) for claim in done.claims]
    return Answer(tasks=tasks, refused=sorted(done.refused))


@router.post("/heartbeat")
def heartbeat(body: Alive, caller: AtWork) -> Orders:
    """Say that a worker and its tasks are alive; hear which of them are gone."""
    owner, engine = caller.owner(body.owner), caller.library.engine
    gone = complete.extend(engine, owner, [sign.value() for sign in body.tasks])
    _note_room(caller.here, owner, body)
    return Orders(mode=_present(caller.here, owner, body.usage), gone=gone)


@router.post("/progress")
def progress(body: Progress, caller: AtWork) -> Orders:
    """Say how far one task is, and extend its lease. 409: it is somebody else's now."""
    owner, engine = caller.owner(body.owner), caller.library.engine
    gone = complete.extend(engine, owner, [body.value()])
    mode = _present(caller.here, owner)
    if gone:
        raise LeaseLost(f"task {body.task_id} is {gone[body.task_id]}", reason=gone[body.task_id])
    return Orders(mode=mode)


@router.post("/complete")
def complete_task(body: Complete, caller: AtWork) -> Accepted:
    """Say that a task is done. Repeated, it is answered as the first time; 409: it is not yours."""
    result = check_json(body.result, MAX_SPEC_BYTES, "the result")
    return _end(caller, body.owner, _ended(body, outcome="done", result=result))


@router.post("/fail")
def fail_task(body: Fail, caller: AtWork) -> Accepted:
    """Say that a task failed; whether it is tried again is decided here."""
    told = body.model_dump(include=set(protocol.Problem.model_fields))
    return _end(caller, body.owner, _ended(body, outcome="failed", failure=told))


@router.post("/results")
def results(body: About, caller: AtWork) -> Results:
    """Return what the tasks before a held one have made."""
    held = caller.held(body)

    def work(tx: Any) -> list[Mapping[str, Any]]:
        deliveries.task_of(tx, held)
        return list(tx.rows("parent_results", **_place(held)))

    rows = caller.library.db.read(work)
    items = [{**dict(row), "result": json.loads(row["result"] or "null")} for row in rows]
    return Results.model_validate({"items": items})


@router.post("/record", status_code=204)
def record(body: Record, caller: AtWork) -> Response:
    """Keep what a stage ran and said."""
    held = caller.held(body)
    ids = {"task_id": held.task_id, "epoch": held.epoch}
    rows = [
        {
            **ids,
            **run.model_dump(exclude={"command"}),
            "command": json.dumps(run.command),
            "error": None if run.exit_code == 0 else f"exit code {run.exit_code}",
        }
        for run in body.executions
    ]
    lines = [{**ids, **line.model_dump()} for line in body.logs]

    def work(tx: Any) -> None:
        deliveries.task_of(tx, held)
        if rows:
            tx.run("add_executions", executions=rows)
        if lines:
            tx.run("add_logs", logs=lines)

    caller.library.db.transact(work)
    return Response(None, 204)


@router.post("/leave", status_code=204)
def leave(body: Leave, caller: AtWork) -> Response:
    """Say that a worker stops. What it still holds goes back into the queue."""
    owner, engine = caller.owner(body.owner), caller.library.engine
    complete.hand_back_strays(engine, owner, [])
    presence.leave(engine, owner)
    return Response(None, 204)


def _register(
    here: Context, token: str, secret: str | None, body: Introduction, origin: Origin
) -> Welcome:
    applicant = Applicant(
        name=body.worker_name or body.hostname or "worker",
        capabilities=tuple(body.capabilities),
        metadata=body.metadata,
        hostname=body.hostname,
        version=body.version,
    )
    if secret is None:
        made = fleet.join(here.library.db, token, applicant, origin=origin)
    else:
        _check_secret(here, secret)
        made = fleet.enlist(here.library.db, applicant, origin=origin)
    return Welcome(
        worker_id=made.worker_id,
        worker_name=made.name,
        api_key=made.text,
        kinds=sorted(made.kinds) if made.kinds else None,
        server_version=__version__,
    )


def _check_secret(here: Context, given: str) -> None:
    known = here.settings.worker_admin_secret
    if known is None:
        raise Forbidden(
            "registering with X-Admin-Secret is off", hint="set RUSHES_WORKER_ADMIN_SECRET"
        )
    if not hmac.compare_digest(known.get_secret_value().encode(), given.encode()):
        raise Unauthenticated("the admin secret is wrong")


def _start(caller: Caller, body: Introduction) -> Welcome:
    hand = caller.hand
    check_json(body.metadata, MAX_JSON_BYTES, "the metadata")
    owner = presence.register(
        caller.library.engine,
        presence.Introduction(
            name=hand.name,
            lanes=body.lanes,
            kinds=hand.allowed(body.kinds),
            capabilities=frozenset(body.capabilities),
            hostname=body.hostname or "unknown",
            version=body.version,
            type="remote",
            metadata=body.metadata,
        ),
    )
    [row] = caller.library.db.read(lambda tx: tx.rows("worker_named", name=hand.name))
    return Welcome(
        worker_id=row["id"],
        worker_name=hand.name,
        owner=owner,
        kinds=sorted(hand.kinds) if hand.kinds else None,
        server_version=__version__,
    )


def _check_protocol(body: Introduction) -> None:
    if not protocol.OLDEST <= body.protocol <= protocol.VERSION:
        raise TooOld(
            f"this server speaks version {protocol.VERSION} of the protocol of workers, "
            f"not {body.protocol}",
            hint=f"install Rushes {__version__} on the worker",
        )


def _place(held: Held) -> dict[str, object]:
    return {"id": held.task_id, "owner": held.owner, "epoch": held.epoch}


def _present(here: Context, owner: str, usage: Usage | None = None) -> Mode:
    try:
        return presence.present(here.library.engine, owner, usage)
    except Conflict as error:
        raise Replaced(error.message) from error


def _note_room(here: Context, owner: str, body: Alive) -> None:
    """Note whether there is room for what a worker makes: on its disk, and here, where it ends."""
    library = here.library
    ours = Room(library.storage.free_bytes(), library.reserve_bytes)
    if not ours.is_enough:
        presence.tell_room(library.engine, owner, ours)
    elif body.free_bytes is not None:
        presence.tell_room(library.engine, owner, Room(body.free_bytes, body.reserve_bytes))
    elif ROOM not in _standing(here, owner)[0]:  # of its own it would have told
        presence.tell_room(library.engine, owner, ours)


def _standing(here: Context, owner: str) -> tuple[frozenset[str], bool]:
    """Return what a worker offers and whether it may work. Raises Replaced if it is not there."""
    for row in here.library.db.read(lambda tx: tx.rows("worker_of", owner=owner)):
        offers = row["offers"] if isinstance(row["offers"], list) else json.loads(row["offers"])
        return frozenset(offers), row["mode"] == Mode.ACTIVE
    raise Replaced(f"another process works as {owner.partition('#')[0]} now")


def _ended(body: Any, **told: Any) -> Ended:
    return Ended(task_id=body.task_id, lease_epoch=body.lease_epoch, **told)


def _end(caller: Caller, given: str, ended: Ended) -> Accepted:
    owner = caller.owner(given)
    outcome = deliveries.checked(caller.library, owner, ended.value())
    if complete.report(caller.library.engine, owner, [outcome]):
        raise LeaseLost(
            f"task {ended.task_id} is not held with epoch {ended.lease_epoch} any more",
            hint="abandon this work; do not upload outputs",
        )
    return Accepted()
